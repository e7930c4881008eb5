// SPDX-License-Identifier: Apache-2.0
// What operators, functions and attributes there are, and their names.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/ir/op_list.h"

enum pk_attr_id {
	PK_ATTR_NONE = 0,
#define X(id, name, kind) PK_ATTR_##id,
	PK_ATTR_LIST(X)
#undef X
		PK_N_ATTRS,
};

enum pk_attr_kind {
	PK_ATTR_KIND_INT,
	PK_ATTR_KIND_INTS,
	PK_ATTR_KIND_FLOAT,
	PK_ATTR_KIND_FLOATS,
	PK_ATTR_KIND_ENUM, // words of PK_ENUM_LIST; TO holds a pk_dtype
	PK_ATTR_KIND_FN,   // enum pk_fn
};

enum pk_op {
	PK_OP_NONE = 0,
#define X(id, name, imin, imax, omin, omax, flags, attrs) PK_OP_##id,
	PK_OP_LIST(X)
#undef X
		PK_N_OPS,
};

enum pk_op_flags {
	PK_OP_ELEMENTWISE =
		1,      // output element i depends on element i (broadcast) of the inputs only
	PK_OP_VIEW = 2, // the output may share the input's bytes
};

enum pk_fn {
#define X(id, name, class) PK_FN_##id,
	PK_FN_LIST(X)
#undef X
		PK_N_FNS,
};

enum pk_fn_class {
	PK_FN_CLASS_U,
	PK_FN_CLASS_B,
	PK_FN_CLASS_C,
	PK_FN_CLASS_L,
	PK_FN_CLASS_R,
	PK_FN_CLASS_P,
};

enum pk_enum_word {
#define X(attr, value, text) value,
	PK_ENUM_LIST(X)
#undef X
};

#define PK_OP_MAX_ATTRS 10

struct pk_op_info {
	const char *name;
	int n_inputs_min, n_inputs_max; // max -1: any number
	int n_outputs_min, n_outputs_max;
	unsigned flags;
	enum pk_attr_id attrs[PK_OP_MAX_ATTRS];
	int n_attrs;
};

const struct pk_op_info *pk_op_info(enum pk_op op); // never NULL for a valid op
enum pk_op pk_op_from_name(const char *name);       // PK_OP_NONE when unknown
const char *pk_attr_name(enum pk_attr_id id);
enum pk_attr_kind pk_attr_kind(enum pk_attr_id id);
enum pk_attr_id pk_attr_from_name(const char *name);     // PK_ATTR_NONE when unknown
int pk_op_attr_index(enum pk_op op, enum pk_attr_id id); // position in info->attrs, or -1
const char *pk_fn_name(enum pk_fn fn);
enum pk_fn pk_fn_from_name(const char *name); // PK_N_FNS when unknown
enum pk_fn_class pk_fn_class(enum pk_fn fn);
// Word of an ENUM attribute (for TO: the dtype's name); NULL when the value does not belong to it.
const char *pk_enum_text(enum pk_attr_id attr, int64_t value);
// Value of a word, or -1.
int64_t pk_enum_value(enum pk_attr_id attr, const char *text);
