// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters by element and by coordinates, running sums.
#include <errno.h>
#include <string.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/scalar.h"
#include "engine/cpu/kernels/walk.h"

static bool is_index(const struct pk_value *value)
{
	return value->dtype == PK_I32 || value->dtype == PK_I64;
}

// Indices are data: one that is out of range takes the nearest cell instead of foreign memory.
static int64_t index_at(enum pk_dtype dtype, const void *indices, int64_t i, int64_t n)
{
	int64_t idx =
		dtype == PK_I32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
	if (idx < 0 && idx >= -n)
		idx += n;
	return idx < 0 ? 0 : idx >= n ? n - 1 : idx;
}

// How scatters join the old element with the new one. Runs of n elements.
struct joiner {
	enum pk_dtype dtype;
	size_t bytes; // of one element
	enum pk_fn fn;
};

static struct joiner joiner_of(const struct pk_node *node)
{
	enum pk_dtype dtype = node->inputs[0]->dtype;
	return (struct joiner){dtype, pk_dtype_bytes(dtype), pk_node_fn(node, PK_ATTR_FN)};
}

static bool joiner_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	enum pk_dtype dtype = node->inputs[0]->dtype;
	bool joins = fn == PK_FN_ADD || fn == PK_FN_MUL || fn == PK_FN_MIN || fn == PK_FN_MAX;
	return pk_check_same_dtype(node) && node->inputs[2]->dtype == dtype &&
	       (fn == PK_FN_NONE ||
		       (joins && (pk_number_is_float(dtype) || pk_number_is_int(dtype))));
}

static void join(
	const struct joiner *j, void *y, int64_t to, const void *updates, int64_t from, int64_t n)
{
	if (j->fn == PK_FN_NONE) {
		memcpy((char *)y + (size_t)to * j->bytes,
			(const char *)updates + (size_t)from * j->bytes, (size_t)n * j->bytes);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		if (pk_number_is_float(j->dtype))
			pk_number_set_f(j->dtype, y, to + i,
				pk_scalar_binary_fn(j->fn)(pk_number_f(j->dtype, y, to + i),
					pk_number_f(j->dtype, updates, from + i)));
		else
			pk_number_set_i(j->dtype, y, to + i,
				pk_scalar_binary_int_fn(j->fn)(pk_number_i(j->dtype, y, to + i),
					pk_number_i(j->dtype, updates, from + i)));
	}
}

// One index per element: the element's own coordinates, but for the axis.
struct elements {
	struct pk_shape at; // of indices
	int axis;
	int64_t strides[PK_MAX_RANK]; // of x
	int64_t n;                    // of the axis
	int64_t n_x, n_indices;
	enum pk_dtype index_dtype;
	struct joiner joiner;
};

static bool elements_fit(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *at = pk_check_in_shape(node, 1);
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	if (!pk_check_same_dtype(node) || !is_index(node->inputs[1]) || at->rank != x->rank ||
		axis < 0 || axis >= x->rank)
		return false;
	for (int i = 0; i < x->rank; i++)
		if (i != axis && at->dims[i] > x->dims[i])
			return false;
	return x->dims[axis] > 0 || pk_shape_elements(at) == 0;
}

static struct elements *new_elements(const struct pk_node *node, struct pk_arena *arena)
{
	struct elements *s = pk_arena_new(arena, struct elements);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	if (!s)
		return NULL;
	s->at = *pk_check_in_shape(node, 1);
	s->axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	pk_walk_dense_strides(x, s->strides);
	s->n = x->dims[s->axis];
	s->n_x = pk_shape_elements(x);
	s->n_indices = pk_shape_elements(&s->at);
	s->index_dtype = node->inputs[1]->dtype;
	s->joiner.bytes = pk_dtype_bytes(node->inputs[0]->dtype);
	return s;
}

// Element of x that index i means; coordinates of i are kept in pos and step on.
static int64_t element_of(const struct elements *s, const void *indices, int64_t i, int64_t *pos)
{
	int64_t off = index_at(s->index_dtype, indices, i, s->n) * s->strides[s->axis];
	for (int axis = 0; axis < s->at.rank; axis++)
		off += axis == s->axis ? 0 : pos[axis] * s->strides[axis];
	for (int axis = s->at.rank - 1; axis >= 0; axis--) {
		if (++pos[axis] < s->at.dims[axis])
			break;
		pos[axis] = 0;
	}
	return off;
}

static bool gather_elements_supports(const struct pk_node *node)
{
	return elements_fit(node) &&
	       pk_shape_equal(pk_check_in_shape(node, 1), pk_check_out_shape(node));
}

static int gather_elements_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	*state = new_elements(node, arena);
	return *state ? 0 : -ENOMEM;
}

static void gather_elements_run(const struct pk_cpu_call *call)
{
	const struct elements *s = call->state;
	int64_t pos[PK_MAX_RANK] = {0};
	size_t bytes = s->joiner.bytes;
	for (int64_t i = 0; i < s->n_indices; i++) {
		int64_t from = element_of(s, call->inputs[1], i, pos);
		memcpy((char *)call->outputs[0] + (size_t)i * bytes,
			(const char *)call->inputs[0] + (size_t)from * bytes, bytes);
	}
}

const struct pk_cpu_kernel pk_kernel_gather_elements_ref = {
	.op = PK_OP_GATHER_ELEMENTS,
	.name = "gather_elements_ref",
	.supports = gather_elements_supports,
	.setup = gather_elements_setup,
	.run = gather_elements_run,
};

static bool scatter_elements_supports(const struct pk_node *node)
{
	return joiner_supports(node) && elements_fit(node) &&
	       pk_shape_equal(pk_check_in_shape(node, 1), pk_check_in_shape(node, 2)) &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int scatter_elements_setup(
	const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct elements *s = new_elements(node, arena);
	if (!s)
		return -ENOMEM;
	s->joiner = joiner_of(node);
	*state = s;
	return 0;
}

static void scatter_elements_run(const struct pk_cpu_call *call)
{
	const struct elements *s = call->state;
	int64_t pos[PK_MAX_RANK] = {0};
	if (s->n_x)
		memcpy(call->outputs[0], call->inputs[0], (size_t)s->n_x * s->joiner.bytes);
	for (int64_t i = 0; i < s->n_indices; i++)
		join(&s->joiner, call->outputs[0], element_of(s, call->inputs[1], i, pos),
			call->inputs[2], i, 1);
}

const struct pk_cpu_kernel pk_kernel_scatter_elements_ref = {
	.op = PK_OP_SCATTER_ELEMENTS,
	.name = "scatter_elements_ref",
	.supports = scatter_elements_supports,
	.setup = scatter_elements_setup,
	.run = scatter_elements_run,
};

// k coordinates per point, a run of elements for each.
struct points {
	int64_t n_points, points_per_batch, batch_stride;
	int k;
	int64_t dims[PK_MAX_RANK], strides[PK_MAX_RANK]; // of the axes with coordinates
	int64_t run;                                     // elements of one point
	int64_t n_x;
	enum pk_dtype index_dtype;
	struct joiner joiner;
};

static int batch_dims_of(const struct pk_node *node)
{
	int64_t batch = node->op == PK_OP_GATHER_ND ? pk_node_int(node, PK_ATTR_BATCH_DIMS) : 0;
	return batch < 0 || batch > PK_MAX_RANK ? PK_MAX_RANK : (int)batch;
}

// points: leading dims of indices, then the axes of x that coordinates leave.
static bool point_dims_ok(const struct pk_shape *x, const struct pk_shape *at,
	const struct pk_shape *points, int batch, int k)
{
	for (int i = 0; i < at->rank - 1; i++)
		if (points->dims[i] != at->dims[i] || (i < batch && x->dims[i] != at->dims[i]))
			return false;
	for (int i = batch + k; i < x->rank; i++)
		if (points->dims[at->rank - 1 + i - batch - k] != x->dims[i])
			return false;
	for (int i = batch; i < batch + k; i++)
		if (!x->dims[i] && pk_shape_elements(at))
			return false;
	return true;
}

// points: operand or output that has one run per point.
static bool points_fit(const struct pk_node *node, const struct pk_shape *points)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *at = pk_check_in_shape(node, 1);
	int batch = batch_dims_of(node);
	if (!pk_check_same_dtype(node) || !is_index(node->inputs[1]) || at->rank < 1 ||
		batch >= at->rank || batch >= x->rank)
		return false;
	int64_t k = at->dims[at->rank - 1];
	if (k < 1 || k > x->rank - batch || points->rank != at->rank - 1 + x->rank - batch - (int)k)
		return false;
	return point_dims_ok(x, at, points, batch, (int)k);
}

static struct points *new_points(const struct pk_node *node, struct pk_arena *arena)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0), *at = pk_check_in_shape(node, 1);
	struct points *s = pk_arena_new(arena, struct points);
	int batch = batch_dims_of(node);
	int64_t strides[PK_MAX_RANK] = {0};
	if (!s)
		return NULL;
	pk_walk_dense_strides(x, strides);
	s->k = (int)at->dims[at->rank - 1];
	s->n_points = s->points_per_batch = s->run = 1;
	for (int i = 0; i < at->rank - 1; i++) {
		s->n_points *= at->dims[i];
		s->points_per_batch *= i < batch ? 1 : at->dims[i];
	}
	s->batch_stride = batch ? strides[batch - 1] : 0;
	for (int i = 0; i < s->k; i++) {
		s->dims[i] = x->dims[batch + i];
		s->strides[i] = strides[batch + i];
	}
	for (int i = batch + s->k; i < x->rank; i++)
		s->run *= x->dims[i];
	s->n_x = pk_shape_elements(x);
	s->index_dtype = node->inputs[1]->dtype;
	s->joiner.bytes = pk_dtype_bytes(node->inputs[0]->dtype);
	return s;
}

static int64_t point_of(const struct points *s, const void *indices, int64_t i)
{
	int64_t off = i / s->points_per_batch * s->batch_stride;
	for (int c = 0; c < s->k; c++)
		off += index_at(s->index_dtype, indices, i * s->k + c, s->dims[c]) * s->strides[c];
	return off;
}

static bool gather_nd_supports(const struct pk_node *node)
{
	return points_fit(node, pk_check_out_shape(node));
}

static int gather_nd_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	*state = new_points(node, arena);
	return *state ? 0 : -ENOMEM;
}

static void gather_nd_run(const struct pk_cpu_call *call)
{
	const struct points *s = call->state;
	size_t bytes = (size_t)s->run * s->joiner.bytes;
	for (int64_t i = 0; bytes && i < s->n_points; i++)
		memcpy((char *)call->outputs[0] + (size_t)i * bytes,
			(const char *)call->inputs[0] +
				(size_t)point_of(s, call->inputs[1], i) * s->joiner.bytes,
			bytes);
}

const struct pk_cpu_kernel pk_kernel_gather_nd_ref = {
	.op = PK_OP_GATHER_ND,
	.name = "gather_nd_ref",
	.supports = gather_nd_supports,
	.setup = gather_nd_setup,
	.run = gather_nd_run,
};

static bool scatter_nd_supports(const struct pk_node *node)
{
	return joiner_supports(node) && points_fit(node, pk_check_in_shape(node, 2)) &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int scatter_nd_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct points *s = new_points(node, arena);
	if (!s)
		return -ENOMEM;
	s->joiner = joiner_of(node);
	*state = s;
	return 0;
}

static void scatter_nd_run(const struct pk_cpu_call *call)
{
	const struct points *s = call->state;
	if (!s->n_x)
		return;
	memcpy(call->outputs[0], call->inputs[0], (size_t)s->n_x * s->joiner.bytes);
	for (int64_t i = 0; i < s->n_points; i++)
		join(&s->joiner, call->outputs[0], point_of(s, call->inputs[1], i), call->inputs[2],
			i * s->run, s->run);
}

const struct pk_cpu_kernel pk_kernel_scatter_nd_ref = {
	.op = PK_OP_SCATTER_ND,
	.name = "scatter_nd_ref",
	.supports = scatter_nd_supports,
	.setup = scatter_nd_setup,
	.run = scatter_nd_run,
};

// x as [outer, n, inner].
struct running {
	enum pk_dtype dtype;
	int64_t outer, n, inner;
	bool exclusive, reverse;
};

static bool cum_sum_supports(const struct pk_node *node)
{
	enum pk_dtype dtype = node->inputs[0]->dtype;
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	return pk_check_same_dtype(node) &&
	       (pk_number_is_float(dtype) || pk_number_is_int(dtype)) && axis >= 0 &&
	       axis < pk_check_in_shape(node, 0)->rank &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int cum_sum_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct running *s = pk_arena_new(arena, struct running);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	if (!s)
		return -ENOMEM;
	s->dtype = node->inputs[0]->dtype;
	s->outer = s->inner = 1;
	s->n = x->dims[axis];
	for (int i = 0; i < axis; i++)
		s->outer *= x->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		s->inner *= x->dims[i];
	s->exclusive = pk_node_int(node, PK_ATTR_EXCLUSIVE) != 0;
	s->reverse = pk_node_int(node, PK_ATTR_REVERSE) != 0;
	*state = s;
	return 0;
}

static void cum_sum_line(const struct running *s, const void *x, void *y, int64_t base)
{
	double sum = 0;
	uint64_t total = 0; // wraps around as the integers do
	for (int64_t i = 0; i < s->n; i++) {
		int64_t at = base + (s->reverse ? s->n - 1 - i : i) * s->inner;
		bool is_float = pk_number_is_float(s->dtype);
		double before = sum;
		uint64_t total_before = total;
		if (is_float)
			sum += pk_number_f(s->dtype, x, at);
		else
			total += (uint64_t)pk_number_i(s->dtype, x, at);
		if (is_float)
			pk_number_set_f(s->dtype, y, at, s->exclusive ? before : sum);
		else
			pk_number_set_i(
				s->dtype, y, at, (int64_t)(s->exclusive ? total_before : total));
	}
}

static void cum_sum_run(const struct pk_cpu_call *call)
{
	const struct running *s = call->state;
	for (int64_t outer = 0; outer < s->outer; outer++)
		for (int64_t inner = 0; inner < s->inner; inner++)
			cum_sum_line(s, call->inputs[0], call->outputs[0],
				outer * s->n * s->inner + inner);
}

const struct pk_cpu_kernel pk_kernel_cum_sum_ref = {
	.op = PK_OP_CUM_SUM,
	.name = "cum_sum_ref",
	.supports = cum_sum_supports,
	.setup = cum_sum_setup,
	.run = cum_sum_run,
};
