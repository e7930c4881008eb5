// SPDX-License-Identifier: Apache-2.0
// Timing-cache keys from nodes.
#include "engine/compile/op_key.h"

static void put_type(const struct pk_value *value, struct pk_buf *out)
{
	char shape[PK_SHAPE_TEXT_MAX];
	if (!value) {
		pk_buf_str(out, "_");
		return;
	}
	pk_shape_format(&value->shape, shape);
	pk_buf_printf(out, "%s%s%s", value->data ? "=" : "", pk_dtype_name(value->dtype), shape);
	if (value->block)
		pk_buf_printf(out, "/c%d", value->block);
}

static void put_attr(enum pk_attr_id id, const struct pk_attr_value *value, struct pk_buf *out)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	bool is_float = kind == PK_ATTR_KIND_FLOAT || kind == PK_ATTR_KIND_FLOATS;
	pk_buf_printf(out, "%s=", pk_attr_name(id));
	for (int i = 0; i < value->n; i++) {
		if (i)
			pk_buf_str(out, ",");
		if (is_float)
			pk_buf_printf(out, "%.9g", value->f[i]);
		else
			pk_buf_printf(out, "%lld", (long long)value->i[i]);
	}
	pk_buf_str(out, " ");
}

int pk_op_key(const struct pk_node *node, struct pk_buf *out)
{
	const struct pk_op_info *info = pk_op_info(node->op);
	pk_buf_printf(out, "%s(", info->name);
	for (int i = 0; i < node->n_inputs; i++) {
		if (i)
			pk_buf_str(out, ",");
		put_type(node->inputs[i], out);
	}
	pk_buf_str(out, ")->");
	for (int i = 0; i < node->n_outputs; i++) {
		if (i)
			pk_buf_str(out, ",");
		put_type(node->outputs[i], out);
	}
	pk_buf_str(out, "{");
	for (int i = 0; i < info->n_attrs; i++)
		put_attr(info->attrs[i], &node->attrs[i], out);
	pk_buf_str(out, "}");
	return pk_buf_error(out);
}
