// SPDX-License-Identifier: Apache-2.0
// Vector functions against the scalar ones, in units in the last place.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/cpu/kernels/scalar.h"
#include "node_case.h"

#define N_POINTS 20003

struct function {
	enum pk_fn fn;
	float low, high;
	double ulps;  // of the exact result, or
	double error; // absolute, where small results are sums that cancel
};

static const struct function functions[] = {
	{PK_FN_EXP, -87, 88, 4, 0},
	{PK_FN_SIGMOID, -30, 30, 5, 0},
	{PK_FN_TANH, -10, 10, 6, 0},
	{PK_FN_SILU, -30, 30, 6, 0},
	{PK_FN_ERF, -6, 6, 4, 0},
	{PK_FN_GELU, -8, 8, 5, 5e-7},
	{PK_FN_GELU_TANH, -8, 8, 5, 1e-6},
	{PK_FN_MISH, -30, 30, 7, 0},
	{PK_FN_SOFTPLUS, -30, 30, 6, 0},
	{PK_FN_ELU, -12, 3, 3, 0},
	{PK_FN_SELU, -12, 3, 4, 0},
	{PK_FN_SOFTSIGN, -9, 9, 3, 0},
	{PK_FN_LOG, 0x1p-140F, 4, 4, 0},
	{PK_FN_LOG, 4, 0x1p100F, 2, 0},
	{PK_FN_SQRT, 0, 90, 0.5, 0},
	{PK_FN_FLOOR, -9, 9, 0, 0},
	{PK_FN_CEIL, -0x1p24F, 0x1p24F, 0, 0},
	{PK_FN_ROUND, -9, 9, 0, 0},
};

static double ulp_of(double v)
{
	return ldexp(1, v == 0 ? -149 : (int)fmax(ilogb(v) - 23, -149));
}

static void check(const struct function *f, const char *row, const float *x, const float *y)
{
	for (int i = 0; i < N_POINTS; i++) {
		double want = pk_scalar_unary_fn(f->fn)((double)x[i], 1.5, 1.25);
		double off = fabs((double)y[i] - want);
		if (!(off <= f->ulps * ulp_of(want) || off <= f->error))
			fail_msg("%s: %s(%.9g) is %.9g, not %.17g", row, pk_fn_name(f->fn),
				(double)x[i], (double)y[i], want);
	}
}

static void test_functions(void **state)
{
	for (size_t k = 0; k < sizeof(functions) / sizeof(*functions); k++) {
		const struct function *f = &functions[k];
		struct node_case c;
		int n_rows = 0;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(N_POINTS), false);
		for (int i = 0; i < N_POINTS; i++)
			x[i] = f->low + (f->high - f->low) * (float)i / (N_POINTS - 1);
		struct pk_node *node = node_case_node(&c, PK_OP_UNARY);
		pk_node_set_int(node, PK_ATTR_FN, f->fn);
		pk_node_set_float(node, PK_ATTR_ALPHA, 1.5);
		pk_node_set_float(node, PK_ATTR_BETA, 1.25);
		node_case_finish(&c, NULL);
		for (const struct pk_cpu_kernel *const *row = pk_cpu_kernels; *row; row++) {
			void *y[2] = {NULL};
			if ((*row)->op != PK_OP_UNARY || (*row)->rank == 0 || (*row)->blocked ||
				!(*row)->supports(node))
				continue;
			node_case_run(&c, *row, y);
			check(f, (*row)->name, x, y[0]);
			free(y[0]);
			n_rows++;
		}
		assert_true(n_rows > 0);
		node_case_end(&c);
	}
}

// NaN stays, infinities and zeros give what they should.
static void test_special_numbers(void **state)
{
	static const struct {
		enum pk_fn fn;
		float x, y;
	} rows[] = {
		{PK_FN_LOG, 0, -INFINITY},
		{PK_FN_LOG, INFINITY, INFINITY},
		{PK_FN_LOG, -1, NAN},
		{PK_FN_LOG, NAN, NAN},
		{PK_FN_ERF, INFINITY, 1},
		{PK_FN_ERF, -INFINITY, -1},
		{PK_FN_ERF, NAN, NAN},
		{PK_FN_GELU, INFINITY, INFINITY},
		{PK_FN_SOFTPLUS, -INFINITY, 0},
		{PK_FN_SOFTPLUS, INFINITY, INFINITY},
		{PK_FN_MISH, INFINITY, INFINITY},
		{PK_FN_ROUND, 2.5F, 2},
		{PK_FN_ROUND, -INFINITY, -INFINITY},
		{PK_FN_FLOOR, -0.5F, -1},
		{PK_FN_CEIL, 0x1p30F, 0x1p30F},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(3), false);
		x[0] = x[1] = x[2] = rows[i].x;
		pk_node_set_int(node_case_node(&c, PK_OP_UNARY), PK_ATTR_FN, rows[i].fn);
		node_case_finish(&c, NULL);
		void *y[2] = {NULL};
		node_case_run(&c, pk_cpu_kernel_default(c.node), y);
		const float *got = y[0];
		if (isnan(rows[i].y) ? !isnan(got[2]) : got[2] != rows[i].y)
			fail_msg("%s(%g) is %g", pk_fn_name(rows[i].fn), (double)rows[i].x,
				(double)got[2]);
		free(y[0]);
		node_case_end(&c);
	}
}

static void norm_case(enum pk_op op, struct pk_shape shape, int64_t n, int axis, bool bias)
{
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, shape, false);
	for (int64_t i = 0; i < pk_shape_elements(&shape); i++)
		x[i] = x[i] * 3 + 100; // a mean that dwarfs the deviations
	node_case_operand(&c, PK_F32, SHAPE(n), true);
	if (bias)
		node_case_operand(&c, PK_F32, SHAPE(n), true);
	struct pk_node *node = node_case_node(&c, op);
	pk_node_set_float(node, PK_ATTR_EPSILON, 1e-5);
	if (op == PK_OP_LAYER_NORM)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	node_case_finish(&c, NULL);
	assert_true(node_case_check_rows(&c, 2e-5) > 0);
	node_case_end(&c);
}

static void test_norms(void **state)
{
	for (int64_t n = 1; n < 12000; n = n * 2 + 5) {
		norm_case(PK_OP_INSTANCE_NORM, SHAPE(2, 3, n), 3, 0, true);
		norm_case(PK_OP_LAYER_NORM, SHAPE(5, n), n, 1, true);
		norm_case(PK_OP_LAYER_NORM, SHAPE(2, 2, n), n, 2, false);
	}
}

static void test_pow(void **state)
{
	static const float exponents[] = {2, 0.75F, -1, 3};
	for (size_t i = 0; i < sizeof(exponents) / sizeof(*exponents); i++) {
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(3, 37), false);
		for (int k = 0; k < 111; k++)
			x[k] = fabsf(x[k]) + 0.01F;
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), true) = exponents[i];
		pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, PK_FN_POW);
		node_case_finish(&c, NULL);
		assert_true(node_case_check_rows(&c, 1e-6) > 0);
		node_case_end(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_special_numbers),
		cmocka_unit_test(test_norms),
		cmocka_unit_test(test_pow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
