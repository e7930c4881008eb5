// SPDX-License-Identifier: Apache-2.0
// Evaluation of constant nodes and whole graphs.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "engine/cpu/eval.h"

static struct pk_shape vector(int64_t n)
{
	return (struct pk_shape){.rank = 1, .dims = {n}};
}

static struct pk_node *add_binary(
	struct pk_graph *graph, enum pk_fn fn, struct pk_value *a, struct pk_value *b)
{
	struct pk_err err = {0};
	struct pk_value *in[] = {a, b};
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_BINARY, "node", in, 2, NULL);
	assert_non_null(node);
	pk_node_set_int(node, PK_ATTR_FN, fn);
	assert_int_equal(pk_graph_finish_node(graph, node, NULL, 1, NULL, &err), 0);
	return node;
}

static void folds_misaligned_constants(void **state)
{
	(void)state;
	char file[32];
	const int64_t a[] = {1, 2}, b[] = {10, 20};
	memcpy(file + 1, a, sizeof(a)); // as protobuf may place them
	struct pk_graph *graph = pk_graph_create(0);
	struct pk_shape two = vector(2);
	struct pk_value *va = pk_graph_add_const(graph, "a", PK_I64, &two, file + 1);
	struct pk_value *vb = pk_graph_add_const_copy(graph, "b", PK_I64, &two, b);
	struct pk_node *node = add_binary(graph, PK_FN_ADD, va, vb);
	int64_t out[2];
	struct pk_err err = {0};
	assert_int_equal(pk_cpu_evaluator.eval(node, (void *[]){out}, &err), 0);
	assert_true(out[0] == 11 && out[1] == 22);
	pk_graph_destroy(graph);
}

static void refuses_what_is_not_constant(void **state)
{
	(void)state;
	struct pk_graph *graph = pk_graph_create(0);
	struct pk_shape one = vector(1);
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &one);
	struct pk_node *node = add_binary(graph, PK_FN_ADD, x, x);
	struct pk_err err = {0};
	float out;
	assert_int_equal(pk_cpu_evaluator.eval(node, (void *[]){&out}, &err), -EINVAL);
	assert_non_null(strstr(err.text, "node"));
	pk_graph_destroy(graph);
}

// y = (x + c) * (x + c), with y, the sum, x and c as outputs; y twice.
static void runs_a_graph(void **state)
{
	(void)state;
	struct pk_graph *graph = pk_graph_create(0);
	struct pk_shape three = vector(3);
	const float c[] = {1, 2, 3}, x[] = {10, 20, 30};
	struct pk_value *vx = pk_graph_add_input(graph, "x", PK_F32, &three);
	struct pk_value *vc = pk_graph_add_const(graph, "c", PK_F32, &three, c);
	struct pk_value *sum = add_binary(graph, PK_FN_ADD, vx, vc)->outputs[0];
	struct pk_value *y = add_binary(graph, PK_FN_MUL, sum, sum)->outputs[0];
	struct pk_value *declared[] = {y, sum, vx, vc, y};
	float out[5][3];
	void *outputs[5];
	for (int i = 0; i < 5; i++) {
		assert_int_equal(pk_graph_add_output(graph, declared[i]), 0);
		outputs[i] = out[i];
	}
	struct pk_err err = {0};
	assert_int_equal(pk_cpu_eval_graph(graph, (const void *[]){x}, outputs, &err), 0);
	for (int i = 0; i < 3; i++) {
		float s = x[i] + c[i];
		assert_true(out[0][i] == s * s && out[1][i] == s && out[2][i] == x[i]);
		assert_true(out[3][i] == c[i] && out[4][i] == s * s);
	}
	pk_graph_destroy(graph);
}

#ifdef __SANITIZE_ADDRESS__
#define KEEPS_FREED_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED_MEMORY true
#endif
#endif
#ifndef KEEPS_FREED_MEMORY
#define KEEPS_FREED_MEMORY false
#endif

static size_t peak_rss_bytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss * 1024;
}

// A chain of 64 values of 4 MiB needs a few of them at a time.
static void frees_what_is_dead(void **state)
{
	(void)state;
	if (KEEPS_FREED_MEMORY)
		skip();
	const int64_t n = 1 << 20;
	struct pk_graph *graph = pk_graph_create(0);
	struct pk_shape wide = vector(n);
	struct pk_value *v = pk_graph_add_input(graph, "x", PK_F32, &wide);
	for (int i = 0; i < 64; i++)
		v = add_binary(graph, PK_FN_ADD, v, v)->outputs[0];
	assert_int_equal(pk_graph_add_output(graph, v), 0);
	float *x = malloc((size_t)n * sizeof(*x)), *y = malloc((size_t)n * sizeof(*y));
	for (int64_t i = 0; i < n; i++)
		x[i] = y[i] = 1;
	struct pk_err err = {0};
	size_t before = peak_rss_bytes();
	assert_int_equal(pk_cpu_eval_graph(graph, (const void *[]){x}, (void *[]){y}, &err), 0);
	assert_in_range(peak_rss_bytes() - before, 0, 128u << 20);
	assert_true(y[0] == 0x1p64f && y[n - 1] == 0x1p64f);
	free(x);
	free(y);
	pk_graph_destroy(graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folds_misaligned_constants),
		cmocka_unit_test(refuses_what_is_not_constant),
		cmocka_unit_test(runs_a_graph),
		cmocka_unit_test(frees_what_is_dead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
