// SPDX-License-Identifier: Apache-2.0
// Tables of operators, attributes, functions and enum words, and look-ups by name.
#include "engine/ir/op.h"

#include <assert.h>
#include <string.h>

#include "base/attr.h"
#include "engine/tensor.h"

#define PK_LIST(...)              __VA_ARGS__
#define PK_LIST_FIRST(first, ...) first
#define PK_LIST_FIRST_OF(...)     PK_LIST_FIRST(__VA_ARGS__, 0)
#define PK_ATTR_LIST_LEN(attrs)                                                                    \
	((int)(sizeof((const enum pk_attr_id[]){PK_LIST attrs}) / sizeof(enum pk_attr_id)) -       \
		((PK_LIST_FIRST_OF attrs) == PK_ATTR_NONE))

static const struct pk_op_info pk_ops[PK_N_OPS] = {
	[PK_OP_NONE] = {"?", 0, 0, 0, 0, 0, {PK_ATTR_NONE}, 0},
#define X(id, name, imin, imax, omin, omax, flags, attrs)                                          \
	[PK_OP_##id] = {                                                                           \
		name, imin, imax, omin, omax, flags, {PK_LIST attrs}, PK_ATTR_LIST_LEN(attrs)},
	PK_OP_LIST(X)
#undef X
};

struct pk_attr_row {
	const char *name;
	enum pk_attr_kind kind;
};
static const struct pk_attr_row pk_attrs[PK_N_ATTRS] = {[PK_ATTR_NONE] = {"?", PK_ATTR_KIND_INT},
#define X(id, name, kind) [PK_ATTR_##id] = {name, PK_ATTR_KIND_##kind},
	PK_ATTR_LIST(X)
#undef X
};

struct pk_fn_row {
	const char *name;
	enum pk_fn_class class;
};
static const struct pk_fn_row pk_fns[PK_N_FNS] = {
#define X(id, name, class) [PK_FN_##id] = {name, PK_FN_CLASS_##class},
	PK_FN_LIST(X)
#undef X
};

struct pk_enum_row {
	enum pk_attr_id attr;
	int64_t value;
	const char *text;
};
static const struct pk_enum_row pk_enums[] = {
#define X(attr, value, text) {PK_ATTR_##attr, value, text},
	PK_ENUM_LIST(X)
#undef X
};

const struct pk_op_info *pk_op_info(enum pk_op op)
{
	assert((int)op >= 0 && op < PK_N_OPS);
	return &pk_ops[op];
}

enum pk_op pk_op_from_name(const char *name)
{
	for (int i = PK_OP_NONE + 1; i < PK_N_OPS; i++)
		if (strcmp(pk_ops[i].name, name) == 0)
			return (enum pk_op)i;
	return PK_OP_NONE;
}

const char *pk_attr_name(enum pk_attr_id id)
{
	return (int)id >= 0 && id < PK_N_ATTRS ? pk_attrs[id].name : "?";
}

enum pk_attr_kind pk_attr_kind(enum pk_attr_id id)
{
	assert((int)id > 0 && id < PK_N_ATTRS);
	return pk_attrs[id].kind;
}

enum pk_attr_id pk_attr_from_name(const char *name)
{
	for (int i = PK_ATTR_NONE + 1; i < PK_N_ATTRS; i++)
		if (strcmp(pk_attrs[i].name, name) == 0)
			return (enum pk_attr_id)i;
	return PK_ATTR_NONE;
}

int pk_op_attr_index(enum pk_op op, enum pk_attr_id id)
{
	const struct pk_op_info *info = pk_op_info(op);
	for (int i = 0; i < info->n_attrs; i++)
		if (info->attrs[i] == id)
			return i;
	return -1;
}

const char *pk_fn_name(enum pk_fn fn)
{
	return (int)fn >= 0 && fn < PK_N_FNS ? pk_fns[fn].name : "?";
}

enum pk_fn pk_fn_from_name(const char *name)
{
	for (int i = 0; i < PK_N_FNS; i++)
		if (strcmp(pk_fns[i].name, name) == 0)
			return (enum pk_fn)i;
	return PK_N_FNS;
}

enum pk_fn_class pk_fn_class(enum pk_fn fn)
{
	assert((int)fn >= 0 && fn < PK_N_FNS);
	return pk_fns[fn].class;
}

const char *pk_enum_text(enum pk_attr_id attr, int64_t value)
{
	if (attr == PK_ATTR_TO)
		return value > PK_DTYPE_NONE && value < PK_N_DTYPES
			       ? pk_dtype_name((enum pk_dtype)value)
			       : NULL;
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_enums); i++)
		if (pk_enums[i].attr == attr && pk_enums[i].value == value)
			return pk_enums[i].text;
	return NULL;
}

int64_t pk_enum_value(enum pk_attr_id attr, const char *text)
{
	if (attr == PK_ATTR_TO) {
		enum pk_dtype dtype = pk_dtype_from_name(text);
		return dtype == PK_DTYPE_NONE ? -1 : (int64_t)dtype;
	}
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_enums); i++)
		if (pk_enums[i].attr == attr && strcmp(pk_enums[i].text, text) == 0)
			return pk_enums[i].value;
	return -1;
}
