// SPDX-License-Identifier: Apache-2.0
// chain.cu against the reference: every function, type and broadcast.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda/kernels/params.h"
#include "tests/gpu/fixed_program.h"
#include "tests/gpu/gpu_case.h"
#include "tests/gpu/host_kernels.h"

// Of the largest magnitude: f32 kernels calculate in float, the reference in double.
#define TOLERANCE_F32 2e-6
#define TOLERANCE_F16 6e-4 // half an f16 step is 4.9e-4 of the value

static const struct {
	enum pk_dtype float_type;
	double tolerance;
} precisions[] = {{PK_F32, TOLERANCE_F32}, {PK_F16, TOLERANCE_F16}};

static struct pk_shape random_shape(int rank)
{
	struct pk_shape s = {.rank = rank};
	for (int i = 0; i < rank; i++)
		s.dims[i] = random_range(1, 9);
	return s;
}

// shape with some axes 1 and maybe fewer of them.
static struct pk_shape narrowed(struct pk_shape shape)
{
	struct pk_shape s = {.rank = (int)random_range(0, shape.rank)};
	for (int i = 0; i < s.rank; i++)
		s.dims[i] = random_range(0, 2) ? shape.dims[shape.rank - s.rank + i] : 1;
	return s;
}

static bool is_positive_only(enum pk_fn fn)
{
	return fn == PK_FN_LOG || fn == PK_FN_SQRT || fn == PK_FN_RECIPROCAL;
}

static void unary_floats(void **state)
{
	(void)state;
	random_seed(11);
	for (int fn = 0; fn < PK_N_FNS; fn++) {
		for (int round = 0; round < 6; round++) {
			struct pk_shape shape = random_shape(round < 4 ? 4 : 2);
			struct node_case c;
			if (fn == PK_FN_NONE || pk_fn_class((enum pk_fn)fn) != PK_FN_CLASS_U)
				continue;
			node_case_begin(&c);
			float *x = node_case_operand(&c, PK_F32, shape, false);
			for (int64_t i = 0; i < pk_shape_elements(&shape); i++)
				x[i] = is_positive_only((enum pk_fn)fn) ? 0.1F + fabsf(x[i])
									: 6 * x[i];
			struct pk_node *node = node_case_node(&c, PK_OP_UNARY);
			pk_node_set_int(node, PK_ATTR_FN, fn);
			pk_node_set_float(node, PK_ATTR_ALPHA, -0.25);
			pk_node_set_float(node, PK_ATTR_BETA, 0.75);
			node_case_finish(&c, NULL);
			gpu_case_check(&c, "unary_chain", precisions[round % 2].float_type,
				precisions[round % 2].tolerance);
			node_case_end(&c);
		}
	}
}

// Positive divisors and bases: what a result is there is tested on the cpu.
static void binary_floats(void **state)
{
	(void)state;
	random_seed(12);
	for (int fn = 0; fn < PK_N_FNS; fn++) {
		enum pk_fn_class class = pk_fn_class((enum pk_fn)fn);
		if (class != PK_FN_CLASS_B && class != PK_FN_CLASS_C)
			continue;
		for (int round = 0; round < 12; round++) {
			struct pk_shape shape = random_shape(round % 3 ? 4 : 3);
			struct node_case c;
			node_case_begin(&c);
			struct pk_shape other = narrowed(shape);
			for (int i = 0; i < 2; i++) {
				struct pk_shape s = (round & 1) == i ? other : shape;
				float *x = node_case_operand(&c, PK_F32, s, false);
				for (int64_t k = 0; k < pk_shape_elements(&s); k++)
					x[k] = fn == PK_FN_POW || i == 1 ? 0.5F + fabsf(x[k])
									 : x[k];
			}
			pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, fn);
			node_case_finish(&c, NULL);
			// A remainder jumps where the quotient is whole: f16 results may not round
			// to it.
			bool jumps = fn == PK_FN_MOD || fn == PK_FN_FMOD;
			int at = jumps ? 0 : round / 2 % 2;
			gpu_case_check(&c, "binary_chain", precisions[at].float_type,
				precisions[at].tolerance);
			node_case_end(&c);
		}
	}
}

static void binary_integers(void **state)
{
	static const enum pk_dtype dtypes[] = {PK_I64, PK_I32, PK_I8, PK_U8, PK_BOOL};
	int n = 0;
	(void)state;
	random_seed(13);
	for (int fn = 0; fn < PK_N_FNS; fn++) {
		for (size_t t = 0; t < 5; t++) {
			struct pk_shape shape = random_shape(t % 2 ? 4 : 5);
			struct pk_err err = {0};
			struct node_case c;
			if (pk_fn_class((enum pk_fn)fn) == PK_FN_CLASS_U || fn == PK_FN_NOT)
				continue;
			node_case_begin(&c);
			node_case_operand(&c, dtypes[t], shape, false);
			node_case_operand(&c, dtypes[t], narrowed(shape), false);
			pk_node_set_int(node_case_node(&c, PK_OP_BINARY), PK_ATTR_FN, fn);
			int r = pk_graph_finish_node(c.graph, c.node, NULL, 1, NULL, &err);
			if (r == 0 && pk_cpu_kernel_reference(c.node)) {
				gpu_case_check(&c, "binary_chain", PK_F16, 0);
				n++;
			}
			node_case_end(&c);
		}
	}
	assert_true(n > 50);
}

static void selects(void **state)
{
	static const enum pk_dtype dtypes[] = {PK_F32, PK_I64, PK_U8};
	(void)state;
	random_seed(14);
	for (int round = 0; round < 30; round++) {
		struct pk_shape shape = random_shape(round % 2 ? 4 : 3);
		struct node_case c;
		node_case_begin(&c);
		node_case_operand(&c, PK_BOOL, narrowed(shape), false);
		node_case_operand(&c, dtypes[round % 3], shape, false);
		node_case_operand(&c, dtypes[round % 3], narrowed(shape), false);
		node_case_node(&c, PK_OP_WHERE);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "where_chain", precisions[round / 6 % 2].float_type,
			round % 3 ? 0 : precisions[round / 6 % 2].tolerance);
		node_case_end(&c);
		node_case_begin(&c);
		node_case_operand(&c, PK_F32, shape, false);
		node_case_operand(&c, PK_F32, narrowed(shape), false);
		node_case_node(&c, PK_OP_PRELU);
		node_case_finish(&c, NULL);
		gpu_case_check(&c, "prelu_chain", precisions[round / 6 % 2].float_type,
			precisions[round / 6 % 2].tolerance);
		node_case_end(&c);
	}
}

static void casts(void **state)
{
	static const enum pk_dtype dtypes[] = {
		PK_F32, PK_F16, PK_I8, PK_U8, PK_BOOL, PK_I16, PK_U16, PK_I32, PK_U32, PK_I64};
	(void)state;
	random_seed(15);
	for (int from = 0; from < 10; from++) {
		for (int to = 0; to < 10; to++) {
			struct pk_shape shape = random_shape(to % 2 ? 4 : 2);
			struct node_case c;
			node_case_begin(&c);
			void *x = node_case_operand(&c, dtypes[from], shape, false);
			for (int64_t i = 0; from == 0 && i < pk_shape_elements(&shape); i++)
				((float *)x)[i] *= i % 7 ? 300 : 3e10F; // saturates the others
			pk_node_set_int(node_case_node(&c, PK_OP_CAST), PK_ATTR_TO, dtypes[to]);
			node_case_finish(&c, NULL);
			gpu_case_check(&c, "cast_chain", PK_F32, 0);
			node_case_end(&c);
		}
	}
}

// Several steps over shared operands: interpreted, and as the constant program that NVRTC gets.
static void programs(void **state)
{
	static const char *const entries[] = {"chain_float", "fixed_chain_float"};
	struct pk_cu_chain p = FIXED_PROGRAM;
	float a[60], b[60], c[10];
	(void)state;
	random_seed(16);
	for (int i = 0; i < 60; i++) {
		a[i] = 3 * random_float();
		b[i] = random_float();
		c[i % 10] = random_float();
	}
	for (int e = 0; e < 2; e++) {
		const struct pk_host_kernel *kernel = pk_host_kernel_by_name(entries[e]);
		const unsigned grid[3] = {1, 1, 1}, block[3] = {64, 1, 1};
		float y[61] = {[60] = 7};
		uint8_t less[61] = {[60] = 7};
		const void *in[] = {a, b, c, a, a, a};
		void *out[] = {y, less};
		void *args[] = {
			&in[0], &in[1], &in[2], &in[3], &in[4], &in[5], &out[0], &out[1], &p};
		assert_non_null(kernel);
		pk_host_set_order(PK_HOST_RANDOM, 3);
		kernel->run(grid, block, 0, args);
		for (int i = 0; i < 60; i++) {
			double v = (double)a[i] * (double)b[i] + (double)c[i % 10];
			assert_true(fabs((double)y[i] - v / (1 + exp(-v))) < 1e-6);
			assert_int_equal(less[i], a[i] * b[i] < c[i % 10]);
		}
		assert_true(y[60] == 7 && less[60] == 7);
		memset(&p, 0xff, sizeof(p)); // the constant program looks at no parameter
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unary_floats),
		cmocka_unit_test(binary_floats),
		cmocka_unit_test(binary_integers),
		cmocka_unit_test(selects),
		cmocka_unit_test(casts),
		cmocka_unit_test(programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
