// SPDX-License-Identifier: Apache-2.0
// Resizing in every mode: nearest by index tables, linear and cubic by tables of taps per axis.
#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/index_map.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/resize.h"
#include "engine/cpu/kernels/walk.h"

struct resize {
	enum pk_dtype dtype;
	struct pk_shape in, out;
	struct pk_index_map *nearest; // or NULL
	struct pk_resize_axis axes[PK_MAX_RANK];
	int64_t src_strides[PK_MAX_RANK];
	double outside;
	int64_t n;
};

static bool supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *y = pk_check_out_shape(node);
	if (!pk_check_same_dtype(node) || x->rank != y->rank)
		return false;
	for (int axis = 0; axis < x->rank; axis++) {
		if (!pk_resize_axis_ok(node, axis))
			return false;
	}
	return pk_node_int(node, PK_ATTR_MODE) == PK_MODE_NEAREST ||
	       pk_number_is_float(node->outputs[0]->dtype);
}

static int nearest_setup(const struct pk_node *node, struct pk_arena *arena, struct resize *s)
{
	s->nearest = pk_index_map_create(node, arena, s->outside);
	if (!s->nearest)
		return -ENOMEM;
	for (int axis = 0; axis < s->out.rank; axis++) {
		for (int64_t i = 0; i < s->out.dims[axis]; i++)
			s->nearest->maps[axis][i] = pk_resize_nearest(node, axis, i);
	}
	return 0;
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct resize *s = pk_arena_new(arena, struct resize);
	if (!s)
		return -ENOMEM;
	s->dtype = node->outputs[0]->dtype;
	s->in = *pk_check_in_shape(node, 0);
	s->out = *pk_check_out_shape(node);
	s->n = pk_shape_elements(&s->out);
	s->outside = pk_node_float(node, PK_ATTR_VALUE);
	pk_walk_dense_strides(&s->in, s->src_strides);
	*state = s;
	if (pk_node_int(node, PK_ATTR_MODE) == PK_MODE_NEAREST)
		return nearest_setup(node, arena, s);
	for (int axis = 0; axis < s->out.rank; axis++) {
		int r = pk_resize_axis_init(&s->axes[axis], node, axis, arena);
		if (r < 0)
			return r;
	}
	return 0;
}

// Sum over the taps of this axis and all after it.
static double sample(
	const struct resize *s, const void *x, int axis, int64_t offset, const int64_t *at)
{
	if (axis == s->out.rank)
		return pk_number_f(s->dtype, x, offset);
	const struct pk_resize_axis *a = &s->axes[axis];
	const int64_t first = at[axis] * a->n_taps;
	double sum = 0;
	for (int64_t t = first; t < first + a->n_taps; t++) {
		if (a->weights[t] != 0)
			sum += a->weights[t] * sample(s, x, axis + 1,
						       offset + a->idx[t] * s->src_strides[axis],
						       at);
	}
	return sum;
}

static bool is_outside(const struct resize *s, const int64_t *at)
{
	for (int axis = 0; axis < s->out.rank; axis++) {
		if (s->axes[axis].outside[at[axis]])
			return true;
	}
	return false;
}

static void run(const struct pk_cpu_call *call)
{
	const struct resize *s = call->state;
	int64_t at[PK_MAX_RANK] = {0};
	if (s->nearest) {
		pk_index_map_run(s->nearest, call->inputs[0], call->outputs[0]);
		return;
	}
	for (int64_t i = 0; i < s->n; i++) {
		double v = is_outside(s, at) ? s->outside : sample(s, call->inputs[0], 0, 0, at);
		pk_number_set_f(s->dtype, call->outputs[0], i, v);
		for (int axis = s->out.rank - 1; axis >= 0; axis--) {
			if (++at[axis] < s->out.dims[axis])
				break;
			at[axis] = 0;
		}
	}
}

const struct pk_cpu_kernel pk_kernel_resize_ref = {
	.op = PK_OP_RESIZE,
	.name = "resize_ref",
	.supports = supports,
	.setup = setup,
	.run = run,
};
