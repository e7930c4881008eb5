// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, normalisations, arg-reductions and top-k against the plain formulas.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "node_case.h"

static void build_reduce(
	struct node_case *c, enum pk_fn fn, struct pk_shape shape, const int64_t *axes, int n_axes)
{
	node_case_begin(c);
	node_case_operand(c, PK_F32, shape, false);
	struct pk_node *node = node_case_node(c, PK_OP_REDUCE);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	pk_node_set_ints(node, PK_ATTR_AXES, axes, n_axes);
	pk_node_set_int(node, PK_ATTR_KEEPDIMS, 1);
	node_case_finish(c, NULL);
}

// One number over all elements of x[0..n) by the definition.
static double reduced(enum pk_fn fn, const float *x, int64_t n)
{
	double sum = 0, most = -INFINITY, least = INFINITY, product = 1, l1 = 0, squares = 0;
	for (int64_t i = 0; i < n; i++) {
		double v = (double)x[i];
		sum += v;
		most = fmax(most, v);
		least = fmin(least, v);
		product *= v;
		l1 += fabs(v);
		squares += v * v;
	}
	switch (fn) {
	case PK_FN_REDUCE_SUM:
		return sum;
	case PK_FN_REDUCE_MEAN:
		return sum / (double)n;
	case PK_FN_REDUCE_MAX:
		return most;
	case PK_FN_REDUCE_MIN:
		return least;
	case PK_FN_REDUCE_PROD:
		return product;
	case PK_FN_REDUCE_L1:
		return l1;
	default:
		return sqrt(squares);
	}
}

static const enum pk_fn reductions[] = {PK_FN_REDUCE_SUM, PK_FN_REDUCE_MEAN, PK_FN_REDUCE_MAX,
	PK_FN_REDUCE_MIN, PK_FN_REDUCE_PROD, PK_FN_REDUCE_L1, PK_FN_REDUCE_L2};

static void reductions_follow_the_definition(void **state)
{
	(void)state;
	random_seed(51);
	for (size_t f = 0; f < sizeof(reductions) / sizeof(reductions[0]); f++) {
		for (int64_t inner = 1; inner < 70; inner += 7) {
			struct node_case c;
			build_reduce(
				&c, reductions[f], SHAPE(2, 3, inner, 2), (int64_t[]){2, 3}, 2);
			float *got = node_case_reference(&c);
			for (int64_t i = 0; i < 6; i++) {
				double expected = reduced(reductions[f],
					(float *)c.data[0] + i * inner * 2, inner * 2);
				assert_true(fabs((double)got[i] - expected) < 1e-5);
			}
			free(got);
			node_case_check_rows(&c, 1e-6);
			node_case_end(&c);
		}
	}
}

static void reduces_over_the_middle(void **state)
{
	(void)state;
	struct node_case c;
	build_reduce(&c, PK_FN_REDUCE_SUM, SHAPE(2, 3, 4, 5), (int64_t[]){0, 2}, 2);
	const float *x = c.data[0];
	float *got = node_case_reference(&c);
	for (int i = 0; i < 15; i++) {
		double sum = 0;
		for (int a = 0; a < 2; a++) {
			for (int b = 0; b < 4; b++)
				sum += (double)x[((a * 3 + i / 5) * 4 + b) * 5 + i % 5];
		}
		assert_true(fabs((double)got[i] - sum) < 1e-6);
	}
	free(got);
	node_case_end(&c);
}

static void softmax_sums_to_one(void **state)
{
	(void)state;
	static const struct {
		int64_t dims[3];
		int axis;
	} cases[] = {{{2, 16, 75}, 1}, {{2, 3, 5}, 2}, {{1, 1, 1000}, 2}, {{7, 2, 3}, 0},
		{{1, 80, 64}, 1}};
	random_seed(52);
	for (int round = 0; round < 10; round++) {
		const int64_t *d = cases[round / 2].dims;
		int axis = cases[round / 2].axis;
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(d[0], d[1], d[2]), false);
		for (int64_t i = 0; i < d[0] * d[1] * d[2]; i++)
			x[i] = x[i] * 50 + 60; // exp(110) alone would overflow
		struct pk_node *node = node_case_node(&c, PK_OP_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_FN, round & 1 ? PK_FN_LOG_SOFTMAX : PK_FN_SOFTMAX);
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
		node_case_finish(&c, NULL);
		float *got = node_case_reference(&c);
		int64_t inner = axis == 0 ? d[1] * d[2] : axis == 1 ? d[2] : 1;
		int64_t n = d[axis];
		for (int64_t row = 0; row < d[0] * d[1] * d[2] / n; row++) {
			int64_t base = row / inner * n * inner + row % inner;
			double sum = 0;
			for (int64_t i = 0; i < n; i++) {
				double y = (double)got[base + i * inner];
				double ratio = (double)x[base + i * inner] - (double)x[base];
				double step = round & 1 ? y - (double)got[base] : ratio;
				assert_true(fabs(step - ratio) < 1e-4);
				sum += round & 1 ? exp(y) : y;
			}
			assert_true(fabs(sum - 1) < 1e-5);
		}
		free(got);
		assert_int_equal(node_case_check_rows(&c, 1e-6) >= 1, !(round & 1));
		node_case_end(&c);
	}
}

static void batch_norm_scales_channels(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, SHAPE(2, 3, 4), false);
	float *p[4];
	for (int i = 0; i < 4; i++)
		p[i] = node_case_operand(&c, PK_F32, SHAPE(3), true);
	for (int i = 0; i < 3; i++)
		p[3][i] = fabsf(p[3][i]);
	pk_node_set_float(node_case_node(&c, PK_OP_BATCH_NORM), PK_ATTR_EPSILON, 1e-3);
	node_case_finish(&c, NULL);
	float *got = node_case_reference(&c);
	for (int i = 0; i < 24; i++) {
		int ch = i / 4 % 3;
		double expected = (double)(x[i] - p[2][ch]) / sqrt((double)p[3][ch] + 1e-3) *
					  (double)p[0][ch] +
				  (double)p[1][ch];
		assert_true(fabs((double)got[i] - expected) < 1e-4);
	}
	free(got);
	node_case_end(&c);
}

// Rows of a normalised tensor have mean 0 and variance 1 before scale and bias.
static void norms_whiten(void **state)
{
	(void)state;
	for (int layer = 0; layer < 2; layer++) {
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, SHAPE(2, 3, 50), false);
		float *scale = node_case_operand(&c, PK_F32, layer ? SHAPE(50) : SHAPE(3), true);
		float *bias = node_case_operand(&c, PK_F32, layer ? SHAPE(50) : SHAPE(3), true);
		for (int i = 0; i < (layer ? 50 : 3); i++)
			scale[i] = 2, bias[i] = 1;
		struct pk_node *node =
			node_case_node(&c, layer ? PK_OP_LAYER_NORM : PK_OP_INSTANCE_NORM);
		pk_node_set_float(node, PK_ATTR_EPSILON, 1e-9);
		if (layer)
			pk_node_set_int(node, PK_ATTR_AXIS, 2);
		node_case_finish(&c, NULL);
		float *got = node_case_reference(&c);
		for (int row = 0; row < 6; row++) {
			double sum = 0, squares = 0;
			for (int i = 0; i < 50; i++) {
				double v = ((double)got[row * 50 + i] - 1) / 2;
				sum += v;
				squares += v * v;
			}
			assert_true(fabs(sum) < 1e-4 && fabs(squares / 50 - 1) < 1e-4);
		}
		free(got);
		node_case_end(&c);
	}
}

static void arg_max_breaks_ties(void **state)
{
	(void)state;
	for (int last = 0; last < 2; last++) {
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(5, 1), false);
		x[0] = 1, x[1] = 3, x[2] = 2, x[3] = 3, x[4] = 0;
		struct pk_node *node = node_case_node(&c, PK_OP_ARG_REDUCE);
		pk_node_set_int(node, PK_ATTR_FN, PK_FN_REDUCE_MAX);
		pk_node_set_int(node, PK_ATTR_AXIS, 0);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, 1);
		pk_node_set_int(node, PK_ATTR_SELECT_LAST, last);
		node_case_finish(&c, NULL);
		int64_t *got = node_case_reference(&c);
		assert_int_equal(got[0], last ? 3 : 1);
		free(got);
		node_case_end(&c);
	}
}

static void top_k_is_sorted(void **state)
{
	(void)state;
	random_seed(53);
	for (int round = 0; round < 60; round++) {
		int64_t n = random_range(1, 30), k = random_range(0, n);
		bool largest = round & 1;
		struct node_case c;
		void *out[2];
		node_case_begin(&c);
		int32_t *x = node_case_operand(&c, PK_I32, SHAPE(2, n, 3), false);
		for (int64_t i = 0; i < 6 * n; i++)
			x[i] %= 5; // many equal values
		struct pk_node *node = node_case_node(&c, PK_OP_TOP_K);
		pk_node_set_int(node, PK_ATTR_AXIS, 1);
		pk_node_set_int(node, PK_ATTR_K, k);
		pk_node_set_int(node, PK_ATTR_LARGEST, largest);
		node_case_finish(&c, NULL);
		node_case_run(&c, pk_cpu_kernel_reference(c.node), out);
		const int32_t *values = out[0];
		const int64_t *idx = out[1];
		for (int64_t row = 0; row < 6; row++) {
			const int32_t *base = x + row / 3 * n * 3 + row % 3;
			for (int64_t i = 0; i < k; i++) {
				int64_t at = (row / 3 * k + i) * 3 + row % 3, better = 0;
				assert_int_equal(values[at], base[idx[at] * 3]);
				for (int64_t j = 0; j < n; j++) {
					int32_t v = base[j * 3];
					bool wins = largest ? v > values[at] : v < values[at];
					better += wins || (v == values[at] && j < idx[at]);
				}
				assert_int_equal(better, i); // exactly i elements rank before
			}
		}
		free(out[0]);
		free(out[1]);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reductions_follow_the_definition),
		cmocka_unit_test(reduces_over_the_middle),
		cmocka_unit_test(softmax_sums_to_one),
		cmocka_unit_test(batch_norm_scales_channels),
		cmocka_unit_test(norms_whiten),
		cmocka_unit_test(arg_max_breaks_ties),
		cmocka_unit_test(top_k_is_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
