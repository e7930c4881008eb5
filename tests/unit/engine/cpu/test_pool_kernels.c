// SPDX-License-Identifier: Apache-2.0
// Pooling: window by window against the plain formula, ceil mode, padding counts, both rows.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node_case.h"

struct pool_case {
	int n_axes;
	int64_t in[3], kernel[3], stride[3], dilation[3], pad[6];
	bool average, count_pad;
};

static void build(struct node_case *c, const struct pool_case *v)
{
	struct pk_shape x = {.rank = v->n_axes + 2, .dims = {2, 3}};
	for (int i = 0; i < v->n_axes; i++)
		x.dims[2 + i] = v->in[i];
	node_case_begin(c);
	node_case_operand(c, PK_F32, x, false);
	struct pk_node *node = node_case_node(c, PK_OP_POOL);
	pk_node_set_int(node, PK_ATTR_FN, v->average ? PK_FN_POOL_AVG : PK_FN_POOL_MAX);
	pk_node_set_ints(node, PK_ATTR_KERNEL, v->kernel, v->n_axes);
	pk_node_set_ints(node, PK_ATTR_STRIDES, v->stride, v->n_axes);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, v->dilation, v->n_axes);
	pk_node_set_ints(node, PK_ATTR_PADS, v->pad, 2 * v->n_axes);
	pk_node_set_int(node, PK_ATTR_COUNT_PAD, v->count_pad);
	node_case_finish(c, NULL);
}

static double formula(const float *x, const struct pool_case *v, int64_t plane, const int64_t *out)
{
	int64_t cells = 1, n = 0, counted = 0, size = 1;
	double sum = 0, most = -INFINITY;
	for (int i = 0; i < v->n_axes; i++) {
		cells *= v->kernel[i];
		size *= v->in[i];
	}
	for (int64_t k = 0; k < cells; k++) {
		int64_t rest = k, at = 0, tap[3];
		bool inside = true, padded = true;
		for (int i = v->n_axes - 1; i >= 0; i--) {
			tap[i] = rest % v->kernel[i];
			rest /= v->kernel[i];
		}
		for (int i = 0; i < v->n_axes; i++) {
			int64_t p = out[i] * v->stride[i] + tap[i] * v->dilation[i] - v->pad[i];
			inside = inside && p >= 0 && p < v->in[i];
			padded = padded && p < v->in[i] + v->pad[v->n_axes + i];
			at = at * v->in[i] + p;
		}
		counted += padded;
		if (!inside)
			continue;
		n++;
		sum += (double)x[plane * size + at];
		most = fmax(most, (double)x[plane * size + at]);
	}
	if (!v->average)
		return most;
	n = v->count_pad ? counted : n;
	return n ? sum / (double)n : 0;
}

static void check(const struct pool_case *v)
{
	struct node_case c;
	build(&c, v);
	float *got = node_case_reference(&c);
	const struct pk_shape *y = &c.node->outputs[0]->shape;
	int64_t n = pk_shape_elements(y), cells = n / 6;
	for (int64_t i = 0; i < n; i++) {
		int64_t out[3] = {0}, rest = i % cells;
		for (int axis = v->n_axes - 1; axis >= 0; axis--) {
			out[axis] = rest % y->dims[2 + axis];
			rest /= y->dims[2 + axis];
		}
		double expected = formula(c.data[0], v, i / cells, out);
		assert_true((double)got[i] == expected || fabs((double)got[i] - expected) < 1e-6);
	}
	free(got);
	assert_int_equal(node_case_check_rows(&c, 1e-6), v->n_axes < 3);
	node_case_end(&c);
}

static void windows_follow_the_formula(void **state)
{
	(void)state;
	random_seed(21);
	for (int round = 0; round < 300; round++) {
		struct pool_case v = {
			.n_axes = 1 + round % 3, .average = round & 4, .count_pad = round & 8};
		for (int i = 0; i < v.n_axes; i++) {
			v.kernel[i] = random_range(1, 5);
			v.stride[i] = random_range(1, 3);
			v.dilation[i] = random_range(1, 2);
			v.pad[i] = random_range(0, v.kernel[i] - 1);
			v.pad[v.n_axes + i] = random_range(0, v.kernel[i] - 1);
			v.in[i] = random_range((v.kernel[i] - 1) * v.dilation[i] + 1, 14);
		}
		check(&v);
	}
}

// 5x5 stride 1 as in SPPF, and a global average.
static void common_pools(void **state)
{
	(void)state;
	const struct pool_case sppf = {
		2, {20, 20}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, false, false};
	const struct pool_case global = {2, {13, 9}, {13, 9}, {1, 1}, {1, 1}, {0}, true, false};
	check(&sppf);
	check(&global);
}

static void max_of_integers(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	int8_t *x = node_case_operand(&c, PK_I8, SHAPE(1, 1, 4), false);
	x[0] = -5, x[1] = -7, x[2] = 3, x[3] = 100;
	struct pk_node *node = node_case_node(&c, PK_OP_POOL);
	pk_node_set_int(node, PK_ATTR_FN, PK_FN_POOL_MAX);
	pk_node_set_ints(node, PK_ATTR_KERNEL, (int64_t[]){2}, 1);
	pk_node_set_ints(node, PK_ATTR_STRIDES, (int64_t[]){2}, 1);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, (int64_t[]){1}, 1);
	pk_node_set_ints(node, PK_ATTR_PADS, (int64_t[]){0, 0}, 2);
	node_case_finish(&c, NULL);
	int8_t *got = node_case_reference(&c);
	assert_int_equal(got[0], -5);
	assert_int_equal(got[1], 100);
	free(got);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_follow_the_formula),
		cmocka_unit_test(common_pools),
		cmocka_unit_test(max_of_integers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
