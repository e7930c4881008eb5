// SPDX-License-Identifier: Apache-2.0
// Decodes protobuf messages into plain structs by field tables.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/onnx/wire.h"

enum pk_record_kind {
	PK_RECORD_STR,     // struct pk_onnx_str
	PK_RECORD_INT,     // int64_t; sets the bool at aux when there is one
	PK_RECORD_IS_ONE,  // bool: the number is 1
	PK_RECORD_FLOAT,   // float
	PK_RECORD_MESSAGE, // pointer to sub; occurrences are merged
	PK_RECORD_INLINE,  // sub's fields lie in this very struct; sets the bool at aux when there
			   // is one
	PK_RECORD_COUNT,   // size_t: number of occurrences
	// Repeated ones: a pointer, and its size_t count at aux. Fields with one offset share an
	// array.
	PK_RECORD_STRS,
	PK_RECORD_INTS, // varints; packed or not
	PK_RECORD_FLOATS,
	PK_RECORD_DOUBLES,
	PK_RECORD_MESSAGES,
};

#define PK_RECORD_NO_AUX SIZE_MAX

struct pk_record_field {
	uint32_t number;
	enum pk_record_kind kind;
	size_t offset;
	size_t aux;
	const struct pk_record *sub;
};

#define PK_RECORD_MAX_FIELDS 16
#define PK_RECORD_MAX_DEPTH  64

struct pk_record {
	const char *name; // as in onnx.proto, for messages
	size_t size;
	const struct pk_record_field *fields;
	size_t n_fields;  // <= PK_RECORD_MAX_FIELDS
	size_t max_total; // occurrences in one file; 0: bounded by memory alone
};

// Decodes the message that wire spans into out (zeroed by the caller, record->size bytes). Arrays
// and sub-messages go into the arena; strings point into wire's bytes. Unknown fields are skipped,
// the last of repeated scalars wins. -EINVAL (malformed), -ENOMEM (memory, or the arena's bound).
int pk_record_decode(const struct pk_record *record, struct pk_wire wire, struct pk_arena *arena,
	void *out, struct pk_err *err) pk_must_check;
