// SPDX-License-Identifier: Apache-2.0
// Layouts of values: sizes, and which nodes need not know of them.
#include "engine/ir/layout.h"

#include "base/checked.h"

static int64_t blocks_of(int64_t channels, int64_t block)
{
	return (channels + block - 1) / block;
}

bool pk_layout_block_fits(enum pk_dtype dtype, const struct pk_shape *shape, int64_t block)
{
	if (dtype != PK_F32 || shape->rank != 4 || (block != 4 && block != 8 && block != 16) ||
		pk_shape_elements(shape) < 0)
		return false;
	struct pk_shape padded = *shape;
	padded.dims[1] = blocks_of(shape->dims[1], block) * block;
	return pk_shape_elements(&padded) >= 0;
}

size_t pk_layout_bytes(const struct pk_value *value)
{
	struct pk_shape padded = value->shape;
	if (value->block)
		padded.dims[1] = blocks_of(padded.dims[1], value->block) * value->block;
	return pk_tensor_bytes(value->dtype, &padded);
}

static bool all_plain(const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		if (node->inputs[i] && node->inputs[i]->block)
			return false;
	}
	for (int i = 0; i < node->n_outputs; i++) {
		if (node->outputs[i]->block)
			return false;
	}
	return true;
}

static bool whole_blocks(const struct pk_value *value, int block)
{
	return value && value->block == block && value->shape.dims[1] % block == 0;
}

static bool is_slice_of_blocks(const struct pk_node *node, int block)
{
	const struct pk_shape *x = &node->inputs[0]->shape, *y = &node->outputs[0]->shape;
	const struct pk_attr_value *starts = pk_node_attr(node, PK_ATTR_STARTS);
	const struct pk_attr_value *steps = pk_node_attr(node, PK_ATTR_STEPS);
	if (starts->n != 4 || steps->n != 4 || starts->i[1] % block)
		return false;
	for (int i = 0; i < 4; i++) {
		if (steps->i[i] != 1 || (i != 1 && x->dims[i] != y->dims[i]))
			return false;
	}
	return true;
}

static bool same_shapes(const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		if (!pk_shape_equal(&node->inputs[i]->shape, &node->outputs[0]->shape))
			return false;
	}
	return true;
}

bool pk_layout_is_transparent(const struct pk_node *node)
{
	if (all_plain(node))
		return true;
	int block = node->n_outputs == 1 ? node->outputs[0]->block : 0;
	if (!block || !whole_blocks(node->outputs[0], block))
		return false;
	for (int i = 0; i < node->n_inputs; i++) {
		if (!whole_blocks(node->inputs[i], block))
			return false;
	}
	if (node->op == PK_OP_CONCAT)
		return pk_node_int(node, PK_ATTR_AXIS) == 1;
	if (node->op == PK_OP_SLICE)
		return is_slice_of_blocks(node, block);
	return node->op == PK_OP_IDENTITY ||
	       ((pk_op_info(node->op)->flags & PK_OP_ELEMENTWISE) && same_shapes(node));
}
