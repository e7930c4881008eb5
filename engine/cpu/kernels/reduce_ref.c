// SPDX-License-Identifier: Apache-2.0
// Reference reductions, arg-reductions and top-k.
#include <errno.h>
#include <math.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/walk.h"

struct reducer {
	double start_f;
	double (*step_f)(double sum, double x);
	int64_t start_i;
	int64_t (*step_i)(int64_t sum, int64_t x);
};

static double sum_f(double sum, double x)
{
	return sum + x;
}
static double max_f(double sum, double x)
{
	return isnan(sum) || sum > x ? sum : x;
}
static double min_f(double sum, double x)
{
	return isnan(sum) || sum < x ? sum : x;
}
static double prod_f(double sum, double x)
{
	return sum * x;
}
static double l1_f(double sum, double x)
{
	return sum + fabs(x);
}
static double l2_f(double sum, double x)
{
	return sum + x * x;
}
static int64_t sum_i(int64_t sum, int64_t x)
{
	return (int64_t)((uint64_t)sum + (uint64_t)x);
}
static int64_t max_i(int64_t sum, int64_t x)
{
	return sum > x ? sum : x;
}
static int64_t min_i(int64_t sum, int64_t x)
{
	return sum < x ? sum : x;
}
static int64_t prod_i(int64_t sum, int64_t x)
{
	return (int64_t)((uint64_t)sum * (uint64_t)x);
}
static int64_t l1_i(int64_t sum, int64_t x)
{
	return sum_i(sum, x < 0 ? (int64_t)(0 - (uint64_t)x) : x);
}
static int64_t l2_i(int64_t sum, int64_t x)
{
	return sum_i(sum, prod_i(x, x));
}

static const struct reducer *reducer_of(enum pk_fn fn)
{
	static const struct reducer table[PK_N_FNS] = {
		[PK_FN_REDUCE_SUM] = {0, sum_f, 0, sum_i},
		[PK_FN_REDUCE_MEAN] = {0, sum_f, 0, sum_i},
		[PK_FN_REDUCE_MAX] = {-INFINITY, max_f, INT64_MIN, max_i},
		[PK_FN_REDUCE_MIN] = {INFINITY, min_f, INT64_MAX, min_i},
		[PK_FN_REDUCE_PROD] = {1, prod_f, 1, prod_i},
		[PK_FN_REDUCE_L1] = {0, l1_f, 0, l1_i},
		[PK_FN_REDUCE_L2] = {0, l2_f, 0, l2_i},
	};
	return (unsigned)fn < PK_N_FNS && table[fn].step_f ? &table[fn] : NULL;
}

struct reduce {
	enum pk_dtype dtype;
	enum pk_fn fn;
	const struct reducer *reducer;
	struct pk_walk kept, reduced; // one operand: the input
};

static bool axis_in(const struct pk_attr_value *axes, int axis)
{
	for (int i = 0; i < axes->n; i++) {
		if (axes->i[i] == axis)
			return true;
	}
	return false;
}

static int reduce_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct reduce *s = pk_arena_new(arena, struct reduce);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	struct pk_shape kept = {0}, reduced = {0};
	int64_t strides[PK_MAX_RANK] = {0}, kept_strides[PK_MAX_RANK] = {0},
		reduced_strides[PK_MAX_RANK] = {0};
	if (!s)
		return -ENOMEM;
	pk_walk_dense_strides(x, strides);
	for (int axis = 0; axis < x->rank; axis++) {
		bool gone = axis_in(pk_node_attr(node, PK_ATTR_AXES), axis);
		struct pk_shape *to = gone ? &reduced : &kept;
		(gone ? reduced_strides : kept_strides)[to->rank] = strides[axis];
		to->dims[to->rank++] = x->dims[axis];
	}
	pk_walk_init(&s->kept, &kept);
	pk_walk_add(&s->kept, kept_strides);
	pk_walk_fold(&s->kept);
	pk_walk_init(&s->reduced, &reduced);
	pk_walk_add(&s->reduced, reduced_strides);
	pk_walk_fold(&s->reduced);
	s->dtype = node->inputs[0]->dtype;
	s->fn = pk_node_fn(node, PK_ATTR_FN);
	s->reducer = reducer_of(s->fn);
	*state = s;
	return 0;
}

static bool reduce_supports(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	const struct pk_attr_value *axes = pk_node_attr(node, PK_ATTR_AXES);
	enum pk_dtype dtype = node->inputs[0]->dtype;
	int64_t kept = 1;
	if (!pk_check_same_dtype(node) || !reducer_of(pk_node_fn(node, PK_ATTR_FN)) ||
		!(pk_number_is_float(dtype) || pk_number_is_int(dtype)))
		return false;
	for (int i = 0; i < axes->n; i++) {
		if (axes->i[i] < 0 || axes->i[i] >= x->rank)
			return false;
	}
	for (int axis = 0; axis < x->rank; axis++)
		kept *= axis_in(axes, axis) ? 1 : x->dims[axis];
	return kept == pk_shape_elements(pk_check_out_shape(node));
}

static double reduce_f(const struct reduce *s, const void *x, int64_t base)
{
	const struct pk_walk *w = &s->reduced;
	struct pk_walk_pos pos = {0};
	double sum = s->reducer->start_f;
	if (w->n) {
		do {
			for (int64_t i = 0; i < pk_walk_inner(w); i++)
				sum = s->reducer->step_f(
					sum, pk_number_f(s->dtype, x,
						     base + pos.off[0] + i * pk_walk_stride(w, 0)));
		} while (pk_walk_next(w, &pos));
	}
	if (s->fn == PK_FN_REDUCE_MEAN)
		return sum / (double)w->n;
	return s->fn == PK_FN_REDUCE_L2 ? sqrt(sum) : sum;
}

static int64_t reduce_i(const struct reduce *s, const void *x, int64_t base)
{
	const struct pk_walk *w = &s->reduced;
	struct pk_walk_pos pos = {0};
	int64_t sum = s->reducer->start_i;
	if (w->n) {
		do {
			for (int64_t i = 0; i < pk_walk_inner(w); i++)
				sum = s->reducer->step_i(
					sum, pk_number_i(s->dtype, x,
						     base + pos.off[0] + i * pk_walk_stride(w, 0)));
		} while (pk_walk_next(w, &pos));
	}
	if (s->fn == PK_FN_REDUCE_MEAN)
		return w->n ? sum / w->n : 0;
	if (s->fn == PK_FN_REDUCE_L2) // the squares may have wrapped
		return sum > 0 ? (int64_t)sqrt((double)sum) : 0;
	return sum;
}

static void reduce_run(const struct pk_cpu_call *call)
{
	const struct reduce *s = call->state;
	const struct pk_walk *w = &s->kept;
	struct pk_walk_pos pos = {0};
	int64_t out = 0;
	if (!w->n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(w); i++, out++) {
			int64_t base = pos.off[0] + i * pk_walk_stride(w, 0);
			if (pk_number_is_float(s->dtype))
				pk_number_set_f(s->dtype, call->outputs[0], out,
					reduce_f(s, call->inputs[0], base));
			else
				pk_number_set_i(s->dtype, call->outputs[0], out,
					reduce_i(s, call->inputs[0], base));
		}
	} while (pk_walk_next(w, &pos));
}

const struct pk_cpu_kernel pk_kernel_reduce_ref = {
	.op = PK_OP_REDUCE,
	.name = "reduce_ref",
	.supports = reduce_supports,
	.setup = reduce_setup,
	.run = reduce_run,
};

// x as [outer, n, inner], one answer (or k of them) per outer and inner.
struct ranking {
	enum pk_dtype dtype;
	int64_t outer, n, inner, k;
	bool largest, last;
};

static bool axis_ok(const struct pk_node *node)
{
	enum pk_dtype dtype = node->inputs[0]->dtype;
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS);
	return (pk_number_is_float(dtype) || pk_number_is_int(dtype)) && axis >= 0 &&
	       axis < pk_check_in_shape(node, 0)->rank;
}

static struct ranking *new_ranking(const struct pk_node *node, struct pk_arena *arena)
{
	struct ranking *s = pk_arena_new(arena, struct ranking);
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int axis = (int)pk_node_int(node, PK_ATTR_AXIS);
	if (!s)
		return NULL;
	s->dtype = node->inputs[0]->dtype;
	s->outer = s->inner = 1;
	s->n = x->dims[axis];
	for (int i = 0; i < axis; i++)
		s->outer *= x->dims[i];
	for (int i = axis + 1; i < x->rank; i++)
		s->inner *= x->dims[i];
	return s;
}

// Element a (of the axis) ranks before b: by value, then by index.
static int compare(const struct ranking *s, const void *x, int64_t base, int64_t a, int64_t b)
{
	a = base + a * s->inner;
	b = base + b * s->inner;
	if (!pk_number_is_float(s->dtype)) {
		int64_t va = pk_number_i(s->dtype, x, a), vb = pk_number_i(s->dtype, x, b);
		return (va > vb) - (va < vb);
	}
	double va = pk_number_f(s->dtype, x, a), vb = pk_number_f(s->dtype, x, b);
	if (isnan(va) || isnan(vb)) // NaN counts as the largest, so that the order stays total
		return (isnan(va) != 0) - (isnan(vb) != 0);
	return (va > vb) - (va < vb);
}

static bool arg_supports(const struct pk_node *node)
{
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	if (!axis_ok(node) || node->outputs[0]->dtype != PK_I64 ||
		(fn != PK_FN_REDUCE_MAX && fn != PK_FN_REDUCE_MIN))
		return false;
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	int64_t n = x->dims[pk_node_int(node, PK_ATTR_AXIS)];
	return n > 0 && pk_shape_elements(pk_check_out_shape(node)) == pk_shape_elements(x) / n;
}

static int arg_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct ranking *s = new_ranking(node, arena);
	if (!s)
		return -ENOMEM;
	s->largest = pk_node_fn(node, PK_ATTR_FN) == PK_FN_REDUCE_MAX;
	s->last = pk_node_int(node, PK_ATTR_SELECT_LAST) != 0;
	*state = s;
	return 0;
}

static void arg_run(const struct pk_cpu_call *call)
{
	const struct ranking *s = call->state;
	int64_t *y = call->outputs[0];
	for (int64_t row = 0; row < s->outer * s->inner; row++) {
		int64_t base = row / s->inner * s->n * s->inner + row % s->inner, best = 0;
		for (int64_t i = 1; i < s->n; i++) {
			int order = compare(s, call->inputs[0], base, i, best);
			order = s->largest ? order : -order;
			if (order > 0 || (order == 0 && s->last))
				best = i;
		}
		y[row] = best;
	}
}

const struct pk_cpu_kernel pk_kernel_arg_reduce_ref = {
	.op = PK_OP_ARG_REDUCE,
	.name = "arg_reduce_ref",
	.supports = arg_supports,
	.setup = arg_setup,
	.run = arg_run,
};

static bool top_k_supports(const struct pk_node *node)
{
	if (!axis_ok(node) || !pk_check_same_dtype(node) || node->n_outputs != 2 ||
		node->outputs[1]->dtype != PK_I64)
		return false;
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	struct pk_shape expected = *x;
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS), k = pk_node_int(node, PK_ATTR_K);
	expected.dims[axis] = k;
	return k >= 0 && k <= x->dims[axis] &&
	       pk_shape_equal(&expected, pk_check_out_shape(node)) &&
	       pk_shape_equal(&expected, &node->outputs[1]->shape);
}

static size_t top_k_workspace(const struct pk_node *node)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	return (size_t)x->dims[pk_node_int(node, PK_ATTR_AXIS)] * sizeof(int64_t);
}

static int top_k_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct ranking *s = new_ranking(node, arena);
	if (!s)
		return -ENOMEM;
	s->k = pk_node_int(node, PK_ATTR_K);
	s->largest = pk_node_int(node, PK_ATTR_LARGEST) != 0;
	*state = s;
	return 0;
}

struct heap {
	const struct ranking *s;
	const void *x;
	int64_t base;
	int64_t *idx; // root: the one that leaves first
};

// a ranks before b in the answer.
static bool before(const struct heap *h, int64_t a, int64_t b)
{
	int order = compare(h->s, h->x, h->base, a, b);
	order = h->s->largest ? order : -order;
	return order ? order > 0 : a < b;
}

static void sift_down(const struct heap *h, int64_t root, int64_t n)
{
	for (int64_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && before(h, h->idx[child + 1], h->idx[child]))
			child++;
		if (!before(h, h->idx[child], h->idx[root]))
			return;
		int64_t t = h->idx[root];
		h->idx[root] = h->idx[child];
		h->idx[child] = t;
	}
}

static void top_k_run(const struct pk_cpu_call *call)
{
	const struct ranking *s = call->state;
	for (int64_t row = 0; row < s->outer * s->inner; row++) {
		int64_t outer = row / s->inner, inner = row % s->inner, n = s->n;
		struct heap h = {
			s, call->inputs[0], outer * s->n * s->inner + inner, call->workspace};
		for (int64_t i = 0; i < n; i++)
			h.idx[i] = i;
		for (int64_t i = n / 2 - 1; i >= 0; i--)
			sift_down(&h, i, n);
		for (int64_t i = 0; i < s->k; i++) {
			int64_t to = (outer * s->k + i) * s->inner + inner, best = h.idx[0];
			size_t bytes = pk_dtype_bytes(s->dtype);
			pk_walk_copy_run((char *)call->outputs[0] + to * (int64_t)bytes, 1,
				(const char *)h.x + (h.base + best * s->inner) * (int64_t)bytes, 1,
				1, bytes);
			((int64_t *)call->outputs[1])[to] = best;
			h.idx[0] = h.idx[--n];
			sift_down(&h, 0, n);
		}
	}
}

const struct pk_cpu_kernel pk_kernel_top_k_ref = {
	.op = PK_OP_TOP_K,
	.name = "top_k_ref",
	.supports = top_k_supports,
	.workspace = top_k_workspace,
	.setup = top_k_setup,
	.run = top_k_run,
};
