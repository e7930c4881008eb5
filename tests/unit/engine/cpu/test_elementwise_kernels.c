// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: known values, integer rules, broadcasts, accuracy of the vector functions.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node_case.h"

#define N_GRID 4001

static double ulps(float got, double exact)
{
	if (isnan(exact) || isinf((float)exact))
		return (isnan(exact) && isnan(got)) || got == (float)exact ? 0 : INFINITY;
	float near = (float)exact;
	double ulp = (double)fabsf(nextafterf(near, INFINITY) - near);
	return fabs((double)got - exact) / fmax(ulp, 0x1p-149);
}

// Every row of one function on a grid of ordinary numbers, against long double where it matters.
static void check_function(
	enum pk_fn fn, double low, double high, double (*exact)(double), double max_ulps)
{
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, SHAPE(N_GRID), false);
	for (int i = 0; i < N_GRID; i++)
		x[i] = (float)(low + (high - low) * i / (N_GRID - 1));
	struct pk_node *node = node_case_node(&c, PK_OP_UNARY);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	node_case_finish(&c, NULL);
	int n = 0;
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		void *out[2] = {NULL};
		if ((*k)->op != PK_OP_UNARY || !(*k)->supports(c.node))
			continue;
		node_case_run(&c, *k, out);
		for (int i = 0; i < N_GRID; i++) {
			double off = ulps(((float *)out[0])[i], exact((double)x[i]));
			if (!(off <= max_ulps))
				fail_msg("%s: %s(%.9g) = %.9g, %g ulp off", (*k)->name,
					pk_fn_name(fn), (double)x[i], (double)((float *)out[0])[i],
					off);
		}
		free(out[0]);
		n++;
	}
	assert_true(n >= 2);
	node_case_end(&c);
}

static double exact_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}
static double exact_silu(double x)
{
	return x / (1 + exp(-x));
}

static void vector_functions_are_accurate(void **state)
{
	(void)state;
	check_function(PK_FN_EXP, -20, 20, exp, 1.5);
	check_function(PK_FN_EXP, -110, 95, exp, 1.5); // subnormal and infinite ends
	check_function(PK_FN_SIGMOID, -30, 30, exact_sigmoid, 3);
	check_function(PK_FN_SILU, -30, 30, exact_silu, 4);
	check_function(PK_FN_TANH, -10, 10, tanh, 4);
	check_function(PK_FN_TANH, -0.5, 0.5, tanh, 4);
}

struct value_case {
	enum pk_fn fn;
	float x, alpha, beta, y;
};

static void functions_have_known_values(void **state)
{
	(void)state;
	static const struct value_case cases[] = {
		{PK_FN_RELU, -2, 0, 0, 0},
		{PK_FN_LEAKY_RELU, -2, 0.25F, 0, -0.5F},
		{PK_FN_CLIP, 9, -1, 6, 6},
		{PK_FN_CLIP, 0, 5, 2, 2}, // low above high: high
		{PK_FN_HARD_SIGMOID, 1, 0.2F, 0.5F, 0.7F},
		{PK_FN_HARD_SWISH, 1, 0, 0, 0.6666667F},
		{PK_FN_ELU, -1, 2, 0, -1.2642411F},
		{PK_FN_SELU, -1, 2, 3, -3.7927234F},
		{PK_FN_GELU, 1, 0, 0, 0.8413447F},
		{PK_FN_GELU_TANH, 1, 0, 0, 0.841192F},
		{PK_FN_MISH, 1, 0, 0, 0.8650984F},
		{PK_FN_SOFTPLUS, 1, 0, 0, 1.3132617F},
		{PK_FN_SOFTSIGN, -3, 0, 0, -0.75F},
		{PK_FN_ROUND, 2.5F, 0, 0, 2},
		{PK_FN_ROUND, -1.5F, 0, 0, -2},
		{PK_FN_SIGN, -7, 0, 0, -1},
		{PK_FN_FLOOR, -0.5F, 0, 0, -1},
		{PK_FN_CEIL, -0.5F, 0, 0, 0},
		{PK_FN_RECIPROCAL, 4, 0, 0, 0.25F},
		{PK_FN_SQRT, 9, 0, 0, 3},
		{PK_FN_ERF, 0.5F, 0, 0, 0.5204999F},
		{PK_FN_LOG, 1, 0, 0, 0},
		{PK_FN_NEG, 3, 0, 0, -3},
		{PK_FN_ABS, -3, 0, 0, 3},
		{PK_FN_SIN, 1, 0, 0, 0.841471F},
		{PK_FN_COS, 1, 0, 0, 0.5403023F},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node_case c;
		node_case_begin(&c);
		*(float *)node_case_operand(&c, PK_F32, SHAPE(1), false) = cases[i].x;
		struct pk_node *node = node_case_node(&c, PK_OP_UNARY);
		pk_node_set_int(node, PK_ATTR_FN, cases[i].fn);
		pk_node_set_float(node, PK_ATTR_ALPHA, (double)cases[i].alpha);
		pk_node_set_float(node, PK_ATTR_BETA, (double)cases[i].beta);
		node_case_finish(&c, NULL);
		float *got = node_case_reference(&c);
		assert_close(got, &cases[i].y, 1, 1e-6, pk_fn_name(cases[i].fn));
		free(got);
		node_case_check_rows(&c, 1e-6);
		node_case_end(&c);
	}
}

static void nan_stays_nan(void **state)
{
	(void)state;
	static const enum pk_fn fns[] = {PK_FN_RELU, PK_FN_CLIP, PK_FN_SIGMOID, PK_FN_SILU,
		PK_FN_TANH, PK_FN_EXP, PK_FN_HARD_SWISH, PK_FN_LEAKY_RELU};
	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
		struct node_case c;
		node_case_begin(&c);
		float *x = node_case_operand(&c, PK_F32, SHAPE(9), false);
		for (int j = 0; j < 9; j++)
			x[j] = NAN;
		pk_node_set_int(node_case_node(&c, PK_OP_UNARY), PK_ATTR_FN, fns[i]);
		node_case_finish(&c, NULL);
		float *got = node_case_reference(&c);
		assert_true(isnan(got[0]));
		free(got);
		assert_true(node_case_check_rows(&c, 0) >= 1);
		node_case_end(&c);
	}
}

static void binary_broadcasts(void **state)
{
	(void)state;
	static const enum pk_fn fns[] = {
		PK_FN_ADD, PK_FN_SUB, PK_FN_MUL, PK_FN_DIV, PK_FN_MIN, PK_FN_MAX};
	const struct pk_shape shapes[][2] = {
		{SHAPE(2, 3, 4, 5), SHAPE(2, 3, 4, 5)},
		{SHAPE(2, 3, 4, 5), SHAPE(3, 1, 1)},
		{SHAPE(1), SHAPE(17)},
		{SHAPE(7, 1), SHAPE(1, 9)},
		{SHAPE(2, 3, 1, 1), SHAPE(2, 3, 6, 7)},
		{SHAPE(2, 1, 3, 1, 5), SHAPE(4, 1, 6, 1)},
		{{.rank = 0}, {.rank = 0}},
		{SHAPE(2, 0, 3), SHAPE(1, 1, 3)},
	};
	random_seed(8);
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		for (size_t f = 0; f < sizeof(fns) / sizeof(fns[0]); f++) {
			struct node_case c;
			node_case_begin(&c);
			node_case_operand(&c, PK_F32, shapes[s][0], false);
			node_case_operand(&c, PK_F32, shapes[s][1], false);
			pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, fns[f]);
			node_case_finish(&c, NULL);
			assert_true(node_case_check_rows(&c, 1e-7) >= 1);
			node_case_end(&c);
		}
	}
}

static void broadcast_picks_the_right_element(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	float *a = node_case_operand(&c, PK_F32, SHAPE(2, 1, 3), false);
	float *b = node_case_operand(&c, PK_F32, SHAPE(4, 1), false);
	pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, PK_FN_SUB);
	node_case_finish(&c, NULL);
	float *got = node_case_reference(&c);
	for (int i = 0; i < 24; i++)
		assert_true(got[i] == a[i / 12 * 3 + i % 3] - b[i / 3 % 4]);
	free(got);
	node_case_end(&c);
}

struct int_case {
	enum pk_fn fn;
	int64_t a, b, y;
};

static void integers_follow_the_rules(void **state)
{
	(void)state;
	static const struct int_case cases[] = {
		{PK_FN_DIV, -7, 2, -3},
		{PK_FN_DIV, 5, 0, 0},
		{PK_FN_DIV, INT64_MIN, -1, INT64_MIN},
		{PK_FN_MOD, -7, 3, 2},
		{PK_FN_MOD, 7, -3, -2},
		{PK_FN_FMOD, -7, 3, -1},
		{PK_FN_MOD, 7, 0, 0},
		{PK_FN_POW, 3, 4, 81},
		{PK_FN_ADD, INT64_MAX, 1, INT64_MIN},
		{PK_FN_MUL, INT64_C(1) << 62, 2, INT64_MIN},
		{PK_FN_MIN, INT64_C(9007199254740993), INT64_C(9007199254740992),
			INT64_C(9007199254740992)},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node_case c;
		node_case_begin(&c);
		*(int64_t *)node_case_operand(&c, PK_I64, SHAPE(1), false) = cases[i].a;
		*(int64_t *)node_case_operand(&c, PK_I64, SHAPE(1), false) = cases[i].b;
		pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, cases[i].fn);
		node_case_finish(&c, NULL);
		int64_t *got = node_case_reference(&c);
		assert_true(got[0] == cases[i].y);
		free(got);
		node_case_end(&c);
	}
}

static void comparisons_give_bool(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	float *a = node_case_operand(&c, PK_F32, SHAPE(3), false);
	float *b = node_case_operand(&c, PK_F32, SHAPE(1), false);
	a[0] = 1, a[1] = 2, a[2] = NAN, b[0] = 2;
	pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, PK_FN_GREATER_EQUAL);
	node_case_finish(&c, NULL);
	uint8_t *got = node_case_reference(&c);
	assert_int_equal(got[0], 0);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 0);
	free(got);
	node_case_end(&c);
}

static void prelu_slopes_broadcast(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	float *x = node_case_operand(&c, PK_F32, SHAPE(1, 3, 5, 7), false);
	float *slope = node_case_operand(&c, PK_F32, SHAPE(3, 1, 1), true);
	node_case_node(&c, PK_OP_PRELU);
	node_case_finish(&c, NULL);
	float *got = node_case_reference(&c);
	for (int i = 0; i < 105; i++)
		assert_true(got[i] == (x[i] < 0 ? x[i] * slope[i / 35] : x[i]));
	free(got);
	assert_int_equal(node_case_check_rows(&c, 1e-7), 1);
	node_case_end(&c);
}

static void where_picks(void **state)
{
	(void)state;
	struct node_case c;
	node_case_begin(&c);
	uint8_t *condition = node_case_operand(&c, PK_BOOL, SHAPE(2, 1), false);
	int64_t *yes = node_case_operand(&c, PK_I64, SHAPE(1, 3), false);
	int64_t *no = node_case_operand(&c, PK_I64, (struct pk_shape){0}, false);
	condition[0] = 1;
	condition[1] = 0;
	node_case_node(&c, PK_OP_WHERE);
	node_case_finish(&c, NULL);
	int64_t *got = node_case_reference(&c);
	for (int i = 0; i < 6; i++)
		assert_true(got[i] == (i < 3 ? yes[i] : no[0]));
	free(got);
	node_case_end(&c);
}

static void cast_to(enum pk_dtype from, const void *in, enum pk_dtype to, const void *expected)
{
	struct node_case c;
	node_case_begin(&c);
	memcpy(node_case_operand(&c, from, SHAPE(1), false), in, pk_dtype_bytes(from));
	pk_node_set_int(node_case_node(&c, PK_OP_CAST), PK_ATTR_TO, to);
	node_case_finish(&c, NULL);
	void *got = node_case_reference(&c);
	assert_memory_equal(got, expected, pk_dtype_bytes(to));
	free(got);
	node_case_end(&c);
}

static void casts_truncate_and_saturate(void **state)
{
	(void)state;
	cast_to(PK_F32, &(float){-2.9F}, PK_I32, &(int32_t){-2});
	cast_to(PK_F32, &(float){3e10F}, PK_I32, &(int32_t){INT32_MAX});
	cast_to(PK_F32, &(float){NAN}, PK_I64, &(int64_t){0});
	cast_to(PK_F32, &(float){-1}, PK_U8, &(uint8_t){0});
	cast_to(PK_F32, &(float){0.5F}, PK_BOOL, &(uint8_t){1});
	cast_to(PK_I64, &(int64_t){INT64_C(9007199254740993)}, PK_I64,
		&(int64_t){INT64_C(9007199254740993)});
	cast_to(PK_I64, &(int64_t){300}, PK_U8, &(uint8_t){44});
	cast_to(PK_I64, &(int64_t){-3}, PK_F32, &(float){-3});
	cast_to(PK_BOOL, &(uint8_t){1}, PK_F32, &(float){1});
	cast_to(PK_U64, &(uint64_t){UINT64_MAX}, PK_F64, &(double){18446744073709551616.0});
	cast_to(PK_F32, &(float){1.5F}, PK_F16, &(uint16_t){0x3e00});
	cast_to(PK_F16, &(uint16_t){0xc000}, PK_I8, &(int8_t){-2});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_functions_are_accurate),
		cmocka_unit_test(functions_have_known_values),
		cmocka_unit_test(nan_stays_nan),
		cmocka_unit_test(binary_broadcasts),
		cmocka_unit_test(broadcast_picks_the_right_element),
		cmocka_unit_test(integers_follow_the_rules),
		cmocka_unit_test(comparisons_give_bool),
		cmocka_unit_test(prelu_slopes_broadcast),
		cmocka_unit_test(where_picks),
		cmocka_unit_test(casts_truncate_and_saturate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
