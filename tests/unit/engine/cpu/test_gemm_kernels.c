// SPDX-License-Identifier: Apache-2.0
// Matrix products: the reference against the plain formula, faster rows against the reference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checked.h"
#include "node_case.h"

static void check_gemm(bool ta, bool tb, bool constant, int c_kind)
{
	int64_t m = random_range(1, 20), n = random_range(1, 40), k = random_range(1, 50);
	struct node_case c;
	node_case_begin(&c);
	float *a = node_case_operand(&c, PK_F32, ta ? SHAPE(k, m) : SHAPE(m, k), false);
	float *b = node_case_operand(&c, PK_F32, tb ? SHAPE(n, k) : SHAPE(k, n), constant);
	const struct pk_shape c_shapes[] = {{0}, SHAPE(n), SHAPE(m, 1), SHAPE(m, n), {.rank = 0}};
	float *bias = c_kind ? node_case_operand(&c, PK_F32, c_shapes[c_kind], true) : NULL;
	struct pk_node *node = node_case_node(&c, PK_OP_GEMM);
	pk_node_set_int(node, PK_ATTR_TRANS_A, ta);
	pk_node_set_int(node, PK_ATTR_TRANS_B, tb);
	pk_node_set_float(node, PK_ATTR_ALPHA, 0.5);
	pk_node_set_float(node, PK_ATTR_BETA, 2);
	node_case_finish(&c, NULL);
	float *got = node_case_reference(&c);
	for (int64_t i = 0; i < m * n; i++) {
		int64_t row = i / n, column = i % n;
		double sum = 0;
		for (int64_t j = 0; j < k; j++)
			sum += (double)a[ta ? j * m + row : row * k + j] *
			       (double)b[tb ? column * k + j : j * n + column];
		sum *= 0.5;
		int64_t at[] = {0, column, row, i, 0};
		if (bias)
			sum += 2 * (double)bias[at[c_kind]];
		assert_true(fabs((double)got[i] - sum) < 1e-5);
	}
	free(got);
	assert_true(node_case_check_rows(&c, 1e-5) >= 1);
	node_case_end(&c);
}

static void gemm_is_the_formula(void **state)
{
	(void)state;
	random_seed(5);
	for (int i = 0; i < 200; i++)
		check_gemm(i & 1, i & 2, i & 4, i % 5);
}

struct batch_case {
	struct pk_shape a, b;
};

// Size of the n-th axis from the end, 1 beyond the front.
static int64_t dim(const struct pk_shape *shape, int n)
{
	return shape->rank >= n ? shape->dims[shape->rank - n] : 1;
}

// Element j of the product; the batch axes of these cases are at most two.
static double product(struct node_case *c, const struct batch_case *v, int64_t j)
{
	const float *a = c->data[0], *b = c->data[1];
	int64_t n = v->b.rank > 1 ? dim(&v->b, 1) : 1, k = dim(&v->a, 1);
	int64_t m = dim(&v->a, 2), matrix = j / (m * n), row = j / n % m, column = j % n;
	int64_t outer = matrix / PK_MAX(dim(&v->a, 3), dim(&v->b, 3));
	int64_t inner = matrix % PK_MAX(dim(&v->a, 3), dim(&v->b, 3));
	int64_t in_a = outer % dim(&v->a, 4) * dim(&v->a, 3) + inner % dim(&v->a, 3);
	int64_t in_b = outer % dim(&v->b, 4) * dim(&v->b, 3) + inner % dim(&v->b, 3);
	double sum = 0;
	for (int64_t x = 0; x < k; x++)
		sum += (double)a[(in_a * m + row) * k + x] * (double)b[(in_b * k + x) * n + column];
	return sum;
}

static void check_matmul(const struct batch_case *v, bool constant)
{
	struct node_case c;
	node_case_begin(&c);
	node_case_operand(&c, PK_F32, v->a, false);
	node_case_operand(&c, PK_F32, v->b, constant);
	node_case_node(&c, PK_OP_MATMUL);
	node_case_finish(&c, NULL);
	float *got = node_case_reference(&c);
	int64_t n = pk_shape_elements(&c.node->outputs[0]->shape);
	for (int64_t j = 0; j < n; j++)
		assert_true(fabs((double)got[j] - product(&c, v, j)) < 1e-5);
	free(got);
	assert_true(node_case_check_rows(&c, 1e-5) >= 1);
	node_case_end(&c);
}

static void matmul_broadcasts(void **state)
{
	(void)state;
	const struct batch_case cases[] = {
		{SHAPE(4, 5), SHAPE(5, 6)},
		{SHAPE(2, 3, 7, 5), SHAPE(5, 19)},
		{SHAPE(2, 1, 7, 5), SHAPE(3, 5, 4)},
		{SHAPE(3, 4, 5), SHAPE(2, 1, 5, 2)},
		{SHAPE(5), SHAPE(5, 3)},
		{SHAPE(3, 5), SHAPE(5)},
		{SHAPE(5), SHAPE(5)},
		{SHAPE(5), SHAPE(2, 5, 3)},
		{SHAPE(2, 4, 5), SHAPE(5)},
		{SHAPE(1, 8, 33, 16), SHAPE(1, 8, 16, 33)},
	};
	random_seed(6);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_matmul(&cases[i], false);
		check_matmul(&cases[i], true);
	}
}

static void integers_are_exact(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	int64_t *a = node_case_operand(&c, PK_I64, SHAPE(1, 2), false);
	int64_t *b = node_case_operand(&c, PK_I64, SHAPE(2, 1), false);
	a[0] = INT64_C(1) << 60;
	a[1] = 3;
	b[0] = 1;
	b[1] = 7;
	node_case_node(&c, PK_OP_MATMUL);
	node_case_finish(&c, NULL);
	int64_t *got = node_case_reference(&c);
	assert_true(got[0] == (INT64_C(1) << 60) + 21);
	free(got);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gemm_is_the_formula),
		cmocka_unit_test(matmul_broadcasts),
		cmocka_unit_test(integers_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
