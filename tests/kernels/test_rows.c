// SPDX-License-Identifier: Apache-2.0
// Every kernel row against the reference row on random shapes, alone and on three threads, and that
// no row of this processor is left out. PICKET_CPU_ISA runs it for a lower instruction set,
// KERNEL_SEED for other shapes, KERNEL_TIMES for more of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/isa.h"
#include "tests/kernels/shapes.h"

const struct kernel_family kernel_families[] = {
	{"conv", make_conv, 60, 1e-4},
	{"pointwise", make_pointwise, 30, 1e-4},
	{"3x3", make_3x3, 40, 1e-4},
	{"depthwise", make_depthwise, 40, 1e-4},
	{"stem", make_stem, 15, 1e-4},
	{"conv_transpose", make_conv_transpose, 40, 1e-4},
	{"pool", make_pool, 40, 1e-5},
	{"resize", make_resize, 60, 1e-5},
	{"qconv", make_qconv, 60, 1e-6},
	{"gemm", make_gemm, 40, 1e-5},
	{"matmul", make_matmul, 40, 1e-5},
	{"unary", make_unary, 80, 1e-5},
	{"binary", make_binary, 60, 1e-6},
	{"prelu", make_prelu, 30, 1e-6},
	{"softmax", make_softmax, 30, 1e-5},
	{"reduce", make_reduce, 60, 1e-5},
	{"quantize", make_quantize, 30, 0},
	{"dequantize", make_dequantize, 30, 1e-6},
	{"qmatmul", make_qmatmul, 40, 1e-6},
	{"qconv, weights as trained", make_small_qconv, 60, 1e-6},
	{"pool of bytes", make_byte_pool, 40, 0},
	{"qbinary", make_qbinary, 40, 0},
	{"lookup", make_lookup, 30, 0},
	{"norm", make_norm, 40, 2e-5},
	{"reorder", make_reorder, 30, 0},
	{NULL},
};

static int n_runs[KERNEL_MAX_ROWS]; // by place in pk_cpu_kernels

static long from_environment(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : otherwise;
}

static void count_rows(const struct pk_node *node)
{
	for (int i = 0; pk_cpu_kernels[i]; i++) {
		const struct pk_cpu_kernel *kernel = pk_cpu_kernels[i];
		n_runs[i] += kernel->op == node->op && !kernel->blocked && kernel->supports(node);
	}
}

static void check_family(void **state)
{
	const struct kernel_family *family = *state;
	long times = from_environment("KERNEL_TIMES", 1);
	uint32_t seed = (uint32_t)from_environment("KERNEL_SEED", 1);
	for (long i = 0; i < times * family->n_cases; i++) {
		struct node_case c;
		random_seed(seed * 2654435761u + (uint32_t)i);
		node_case_begin(&c);
		family->make(&c);
		count_rows(c.node);
		node_case_check_rows(&c, family->tolerance);
		check_blocked(&c, family, n_runs);
		node_case_end(&c);
	}
}

// The instruction set that a row's name ends in.
static enum pk_isa isa_of(const char *name)
{
	for (int isa = PK_ISA_AVX512; isa > PK_ISA_PLAIN; isa--) {
		const char *end = strstr(name, pk_isa_name((enum pk_isa)isa));
		if (end && end[strlen(pk_isa_name((enum pk_isa)isa))] == '\0')
			return (enum pk_isa)isa;
	}
	return PK_ISA_PLAIN;
}

// A row that no family reaches is a row that nothing here tests: it needs a shape above.
static void no_row_is_left_out(void **state)
{
	int n_left_out = 0;
	(void)state;
	for (int i = 0; pk_cpu_kernels[i]; i++) {
		const struct pk_cpu_kernel *kernel = pk_cpu_kernels[i];
		assert_true(i < KERNEL_MAX_ROWS);
		if (kernel->rank == 0)
			continue; // the reference
		if (isa_of(kernel->name) > pk_isa()) {
			printf("figure: %s: not on this processor\n", kernel->name);
			continue;
		}
		printf("figure: %s: %d shapes\n", kernel->name, n_runs[i]);
		n_left_out += n_runs[i] < 5;
	}
	assert_int_equal(n_left_out, 0);
}

int main(void)
{
	struct CMUnitTest tests[PK_ARRAY_LEN(kernel_families)];
	size_t n = 0;
	const char *wanted = getenv("PICKET_CPU_ISA");
	if (wanted && strcmp(wanted, pk_isa_name(pk_isa())) != 0) {
		printf("skipped: this processor has no %s\n", wanted);
		return 77;
	}
	printf("figure: instruction set %s\n", pk_isa_name(pk_isa()));
	for (; kernel_families[n].name; n++)
		tests[n] = (struct CMUnitTest){.name = kernel_families[n].name,
			.test_func = check_family,
			.initial_state = (void *)(uintptr_t)&kernel_families[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(no_row_is_left_out);
	return _cmocka_run_group_tests("kernels", tests, n, NULL, NULL);
}
