// SPDX-License-Identifier: Apache-2.0
// Bounded reader of the protobuf wire format over memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum pk_wire_type {
	PK_WIRE_VARINT = 0,
	PK_WIRE_FIXED64 = 1,
	PK_WIRE_BYTES = 2,
	PK_WIRE_FIXED32 = 5,
};

// Zero-copy view; the bytes must outlive it.
struct pk_wire {
	const uint8_t *data;
	size_t n;
	size_t pos;
	size_t origin; // offset of data[0] in the file, for messages only
};

struct pk_wire_field {
	uint32_t number; // 1..2^29-1
	enum pk_wire_type type;
	uint64_t value;       // VARINT, FIXED32, FIXED64
	struct pk_wire bytes; // BYTES: the payload
	size_t offset;        // of the tag in the file
};

struct pk_wire pk_wire_over(const void *data, size_t n);
// 1: a field was read; 0: the end; -EINVAL with "offset N: what". Groups are refused: ONNX has
// none, and they are the one construct that needs recursion to skip.
int pk_wire_next(struct pk_wire *wire, struct pk_wire_field *field, struct pk_err *err)
	pk_must_check;
// One varint of at most 10 bytes that fits 64 bits.
int pk_wire_varint(struct pk_wire *wire, uint64_t *value, struct pk_err *err) pk_must_check;
int pk_wire_fixed32(struct pk_wire *wire, uint32_t *value, struct pk_err *err) pk_must_check;
int pk_wire_fixed64(struct pk_wire *wire, uint64_t *value, struct pk_err *err) pk_must_check;
