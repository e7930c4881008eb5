// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements in whole rows: concat, gather, reshape, identity.
#include <errno.h>
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"

struct copy {
	size_t bytes;
};

static bool view_supports(const struct pk_node *node)
{
	return pk_check_same_dtype(node) && pk_shape_elements(pk_check_in_shape(node, 0)) ==
						    pk_shape_elements(pk_check_out_shape(node));
}

static int view_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct copy *s = pk_arena_new(arena, struct copy);
	if (!s)
		return -ENOMEM;
	s->bytes = pk_tensor_bytes(node->outputs[0]->dtype, pk_check_out_shape(node));
	*state = s;
	return 0;
}

// The planner may have given input and output the same bytes.
static void view_run(const struct pk_cpu_call *call)
{
	const struct copy *s = call->state;
	if (call->outputs[0] != call->inputs[0])
		memcpy(call->outputs[0], call->inputs[0], s->bytes);
}

const struct pk_cpu_kernel pk_kernel_reshape_ref = {
	.op = PK_OP_RESHAPE,
	.name = "reshape_ref",
	.supports = view_supports,
	.setup = view_setup,
	.run = view_run,
};

const struct pk_cpu_kernel pk_kernel_identity_ref = {
	.op = PK_OP_IDENTITY,
	.name = "identity_ref",
	.supports = view_supports,
	.setup = view_setup,
	.run = view_run,
};

struct concat {
	int n_inputs;
	int64_t outer;
	size_t *row_bytes; // of each input
	size_t out_row_bytes;
};

static bool concat_supports(const struct pk_node *node)
{
	const struct pk_shape *y = pk_check_out_shape(node);
	enum pk_dtype dtype = node->outputs[0]->dtype;
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS), sum = 0;
	if (!pk_dtype_bytes(dtype) || axis < 0 || axis >= y->rank)
		return false;
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *v = node->inputs[i];
		if (!v || v->dtype != dtype || v->shape.rank != y->rank)
			return false;
		struct pk_shape like = v->shape;
		sum += like.dims[axis];
		like.dims[axis] = y->dims[axis];
		if (!pk_shape_equal(&like, y))
			return false;
	}
	return sum == y->dims[axis];
}

static int concat_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct concat *s = pk_arena_new(arena, struct concat);
	const struct pk_shape *y = pk_check_out_shape(node);
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	size_t inner = pk_dtype_bytes(node->outputs[0]->dtype);
	if (!s)
		return -ENOMEM;
	s->row_bytes = pk_arena_array(arena, (size_t)node->n_inputs, sizeof(*s->row_bytes));
	if (!s->row_bytes)
		return -ENOMEM;
	s->outer = 1;
	for (int i = 0; i < axis; i++)
		s->outer *= y->dims[i];
	for (int i = axis + 1; i < y->rank; i++)
		inner *= (size_t)y->dims[i];
	s->n_inputs = node->n_inputs;
	for (int i = 0; i < node->n_inputs; i++)
		s->row_bytes[i] = inner * (size_t)pk_check_in_shape(node, i)->dims[axis];
	s->out_row_bytes = inner * (size_t)y->dims[axis];
	*state = s;
	return 0;
}

static void concat_run(const struct pk_cpu_call *call)
{
	const struct concat *s = call->state;
	char *base = call->outputs[0];
	for (int i = 0; i < s->n_inputs; i++) {
		const char *src = call->inputs[i];
		char *dst = base;
		for (int64_t row = 0; row < s->outer && s->row_bytes[i]; row++) {
			if (dst != src) // the planner may have put the operand in place
				memcpy(dst, src, s->row_bytes[i]);
			dst += s->out_row_bytes;
			src += s->row_bytes[i];
		}
		base += s->row_bytes[i];
	}
}

const struct pk_cpu_kernel pk_kernel_concat_ref = {
	.op = PK_OP_CONCAT,
	.name = "concat_ref",
	.in_place = true,
	.supports = concat_supports,
	.setup = concat_setup,
	.run = concat_run,
};

// data as [outer, n, row], indices flat: y[o][i] = data[o][indices[i]].
struct gather {
	int64_t outer, n, n_indices;
	size_t row_bytes;
	enum pk_dtype index_dtype;
};

static bool gather_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *idx = pk_check_in_shape(node, 1);
	enum pk_dtype dtype = node->inputs[1]->dtype;
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	if (!pk_check_same_dtype(node) || (dtype != PK_I32 && dtype != PK_I64) || axis < 0 ||
		axis >= x->rank || x->rank - 1 + idx->rank > PK_MAX_RANK)
		return false;
	struct pk_shape y = {.rank = x->rank - 1 + idx->rank};
	for (int i = 0; i < axis; i++)
		y.dims[i] = x->dims[i];
	for (int i = 0; i < idx->rank; i++)
		y.dims[axis + i] = idx->dims[i];
	for (int i = (int)axis + 1; i < x->rank; i++)
		y.dims[i - 1 + idx->rank] = x->dims[i];
	return pk_shape_equal(&y, pk_check_out_shape(node)) &&
	       (x->dims[axis] > 0 || pk_shape_elements(&y) == 0);
}

static int gather_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct gather *s = pk_arena_new(arena, struct gather);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	if (!s)
		return -ENOMEM;
	s->outer = 1;
	s->row_bytes = pk_dtype_bytes(node->outputs[0]->dtype);
	for (int i = 0; i < axis; i++)
		s->outer *= x->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		s->row_bytes *= (size_t)x->dims[i];
	s->n = x->dims[axis];
	s->n_indices = pk_shape_elements(pk_check_in_shape(node, 1));
	s->index_dtype = node->inputs[1]->dtype;
	*state = s;
	return 0;
}

// Indices are data: one that is out of range takes the nearest row instead of foreign memory.
static int64_t row_of(const struct gather *s, const void *indices, int64_t i)
{
	int64_t idx = s->index_dtype == PK_I32 ? ((const int32_t *)indices)[i]
					       : ((const int64_t *)indices)[i];
	if (idx < 0 && idx >= -s->n)
		idx += s->n;
	return idx < 0 ? 0 : idx >= s->n ? s->n - 1 : idx;
}

static void gather_run(const struct pk_cpu_call *call)
{
	const struct gather *s = call->state;
	char *dst = call->outputs[0];
	if (!s->row_bytes || !s->n)
		return;
	for (int64_t outer = 0; outer < s->outer; outer++) {
		const char *src =
			(const char *)call->inputs[0] + outer * s->n * (int64_t)s->row_bytes;
		for (int64_t i = 0; i < s->n_indices; i++) {
			memcpy(dst, src + row_of(s, call->inputs[1], i) * (int64_t)s->row_bytes,
				s->row_bytes);
			dst += s->row_bytes;
		}
	}
}

const struct pk_cpu_kernel pk_kernel_gather_ref = {
	.op = PK_OP_GATHER,
	.name = "gather_ref",
	.supports = gather_supports,
	.setup = gather_setup,
	.run = gather_run,
};
