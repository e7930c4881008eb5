// SPDX-License-Identifier: Apache-2.0
// Padding and cropping in all modes, any type.
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/index_map.h"
#include "engine/cpu/kernels/kernel_list.h"

static const struct pk_attr_value *pads_of(const struct pk_node *node)
{
	return pk_node_attr(node, PK_ATTR_PADS);
}

// Kept part of the input along axis: negative pads crop. First and one past the last.
static void kept_range(const struct pk_node *node, int axis, int64_t *low, int64_t *high)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t before = pads_of(node)->i[axis], after = pads_of(node)->i[x->rank + axis];
	*low = before < 0 ? -before : 0;
	*high = x->dims[axis] + (after < 0 ? after : 0);
}

static bool in_range(int64_t pad)
{
	return pad <= PK_MAX_ELEMENTS && pad >= -PK_MAX_ELEMENTS;
}

static bool axis_ok(const struct pk_node *node, int axis)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t before = pads_of(node)->i[axis], after = pads_of(node)->i[x->rank + axis], low,
		high;
	if (!in_range(before) || !in_range(after) ||
		y->dims[axis] != x->dims[axis] + before + after)
		return false;
	kept_range(node, axis, &low, &high);
	// Modes other than constant repeat what is kept: there must be something.
	return pk_node_int(node, PK_ATTR_MODE) == PK_MODE_CONSTANT || low < high || !y->dims[axis];
}

static bool supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	int64_t mode = pk_node_int(node, PK_ATTR_MODE);
	if (mode != PK_MODE_CONSTANT && mode != PK_MODE_REFLECT && mode != PK_MODE_EDGE &&
		mode != PK_MODE_WRAP)
		return false;
	if (!pk_check_same_dtype(node) || x->rank != y->rank || pads_of(node)->n < 2 * x->rank)
		return false;
	for (int axis = 0; axis < x->rank; axis++) {
		if (!axis_ok(node, axis))
			return false;
	}
	return true;
}

int64_t pk_pad_source(int64_t mode, int64_t i, int64_t low, int64_t high)
{
	int64_t n = high - low;
	if (i >= low && i < high)
		return i;
	if (mode == PK_MODE_EDGE)
		return i < low ? low : high - 1;
	if (mode == PK_MODE_CONSTANT)
		return -1;
	int64_t period = mode == PK_MODE_WRAP ? n : n > 1 ? 2 * (n - 1) : 1;
	int64_t r = (i - low) % period;
	r = r < 0 ? r + period : r;
	return low + (r < n ? r : period - r);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_index_map *map =
		pk_index_map_create(node, arena, pk_node_float(node, PK_ATTR_VALUE));
	int64_t mode = pk_node_int(node, PK_ATTR_MODE), low, high;
	if (!map)
		return -ENOMEM;
	for (int axis = 0; axis < map->out.rank; axis++) {
		kept_range(node, axis, &low, &high);
		for (int64_t i = 0; i < map->out.dims[axis]; i++)
			map->maps[axis][i] =
				pk_pad_source(mode, i - pads_of(node)->i[axis], low, high);
	}
	*state = map;
	return 0;
}

static void run(const struct pk_cpu_call *call)
{
	pk_index_map_run(call->state, call->inputs[0], call->outputs[0]);
}

const struct pk_cpu_kernel pk_kernel_pad_ref = {
	.op = PK_OP_PAD,
	.name = "pad_ref",
	.supports = supports,
	.setup = setup,
	.run = run,
};
