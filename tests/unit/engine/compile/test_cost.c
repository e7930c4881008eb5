// SPDX-License-Identifier: Apache-2.0
// Arithmetic and traffic of nodes against numbers worked out by hand; live bytes over time.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "engine/compile/cost.h"
#include "engine/compile/timeline.h"
#include "engine/ir/text.h"

static struct pk_graph *parse(const char *body)
{
	char text[1024];
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	snprintf(text, sizeof(text), "graph {\n%s\n}\n", body);
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s: %s", body, err.text);
	return graph;
}

static const struct {
	const char *body;
	int64_t flops, bytes;
} rows[] = {
	// 2 * (16 * 4 * 4 outputs) * (8 * 3 * 3 per output)
	{"input %x: f32[1,8,6,6] input %w: f32[16,8,3,3]\n"
	 "%y: f32[1,16,4,4] = conv(%x, %w) output %y",
		2 * 256 * 72, 4 * (288 + 1152 + 256)},
	// depthwise, bias and activation: one each per output
	{"input %x: f32[1,8,6,6] input %w: f32[8,1,3,3] input %b: f32[8]\n"
	 "%y: f32[1,8,4,4] = conv(%x, %w, %b) {group=8, act=relu} output %y",
		2 * 128 * 9 + 2 * 128, 4 * (288 + 72 + 8 + 128)},
	{"input %x: f32[1,2,1,1] input %w: f32[2,2,1,1]\n"
	 "%y: f32[1,2,1,1] = conv_transpose(%x, %w) output %y",
		2 * 2 * 2, 4 * (2 + 4 + 2)},
	{"input %a: f32[5,7] input %b: f32[7,3] %y: f32[5,3] = gemm(%a, %b) output %y", 2 * 15 * 7,
		4 * (35 + 21 + 15)},
	{"input %a: f32[7,5] input %b: f32[7,3] input %c: f32[3]\n"
	 "%y: f32[5,3] = gemm(%a, %b, %c) {trans_a=1} output %y",
		2 * 15 * 7 + 15, 4 * (35 + 21 + 3 + 15)},
	{"input %a: f32[2,5,7] input %b: f32[2,7,3] %y: f32[2,5,3] = matmul(%a, %b) output %y",
		2 * 30 * 7, 4 * (70 + 42 + 30)},
	{"input %x: f32[1,1,4,4]\n"
	 "%y: f32[1,1,2,2] = pool(%x) {fn=max_pool, kernel=[2,2], strides=[2,2]} output %y",
		16, 4 * 20},
	{"input %x: f32[2,3] %y: f32[2,3] = unary(%x) {fn=exp} output %y", 6, 48},
	{"input %x: f32[2,3] input %z: f32[3]\n"
	 "%y: f32[2,3] = binary(%x, %z) {fn=add} output %y",
		6, 60},
	{"input %x: f32[2,3] %y: f32[2,3] = softmax(%x) {fn=softmax, axis=1} output %y", 30, 48},
	{"input %x: f32[2,3] %y: f32[3,2] = transpose(%x) {perm=[1,0]} output %y", 0, 48},
	{"input %x: f32[2,3] %y: f32[6] = reshape(%x) output %y", 0, 0},
	{"input %x: f32[2,3] %y: i64[2,3] = cast(%x) {to=i64} output %y", 6, 24 + 48},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_auto(pk_graph) graph = parse(rows[i].body);
		struct pk_cost sum;
		pk_cost_of_graph(graph, &sum);
		if (sum.flops != rows[i].flops || sum.bytes != rows[i].bytes)
			fail_msg("%s: %lld flops, %lld bytes", rows[i].body, (long long)sum.flops,
				(long long)sum.bytes);
	}
}

static void test_sizes_saturate(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse("input %a: f32[40000,50000] input %b: f32[50000,40000]\n"
					"%y: f32[40000,40000] = matmul(%a, %b)\n"
					"%z: f32[40000,40000] = matmul(%y, %y) output %z");
	struct pk_cost sum;
	pk_cost_of_graph(graph, &sum);
	assert_int_equal(
		sum.flops, INT64_C(2) * 1600000000 * 50000 + INT64_C(2) * 1600000000 * 40000);
}

static void test_timeline(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse("input %x: f32[4]\n"
					"%a: f32[4] = unary(%x) {fn=relu}\n"  // x a: 32
					"%b: f32[2,2] = reshape(%a)\n"        // a (shared by b): 16
					"%c: f32[2,2] = unary(%b) {fn=exp}\n" // a c: 32
					"%d: f32[2,2] = binary(%c, %b) {fn=add}\n" // a c d: 48
					"%e: f32[2,2] = unary(%d) {fn=exp}\n"      // c d e: 48
					"output %e output %c");
	int64_t live[5];
	assert_int_equal(pk_timeline_make(graph, live), 48);
	const int64_t want[] = {32, 16, 32, 48, 48};
	for (int i = 0; i < 5; i++)
		assert_int_equal(live[i], want[i]);
}

static void test_empty_graph(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse("input %x: f32[4] output %x");
	int64_t live[1];
	struct pk_cost sum;
	assert_int_equal(pk_timeline_make(graph, live), 0);
	pk_cost_of_graph(graph, &sum);
	assert_true(sum.flops == 0 && sum.bytes == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_sizes_saturate),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_empty_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
