// SPDX-License-Identifier: Apache-2.0
// Which values the cpu runtime blocks: text in, text out; and what a layout is to a node.
#include "engine/cpu/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/layout.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"

static struct pk_graph *parse(const char *text)
{
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

// Blocks of 4: rows for them are in every build.
static void check(const char *nodes, const char *want)
{
	char text[4096];
	struct pk_err err = {0};
	snprintf(text, sizeof(text), "graph {\n%s}\n", nodes);
	pk_auto(pk_graph) graph = parse(text);
	assert_int_equal(pk_cpu_layout(graph, 4, &err), 0);
	if (pk_verify_graph(graph, &err) < 0)
		fail_msg("%s", err.text);
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1 << 20);
	assert_int_equal(pk_text_print(graph, NULL, &out), 0);
	snprintf(text, sizeof(text), "graph {\n%s}\n", want);
	assert_string_equal(pk_buf_cstr(&out), text);
}

#define W16 "  const %w: f32[4,4,1,1] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
#define W8  "  const %v: f32[4,2,1,1] = {1, 2, 3, 4, 5, 6, 7, 8}\n"

static void chains_are_blocked_between_reorders(void **state)
{
	(void)state;
	check("  input %x: f32[1,2,3,3]\n" W16 W8 "  %a: f32[1,4,3,3] = conv(%x, %v)\n"
	      "  %b: f32[1,4,3,3] = unary(%a) {fn=gelu}\n"
	      "  %c: f32[1,8,3,3] = concat(%a, %b) {axis=1}\n"
	      "  %d: f32[1,4,3,3] = slice(%c) {starts=[0,4,0,0]}\n"
	      "  %y: f32[1,4,3,3] = conv(%d, %w)\n"
	      "  output %y\n",
		"  input %x: f32[1,2,3,3]\n" W16 W8 "  %a: f32[1,4,3,3]/c4 = conv(%x, %v)\n"
		"  %b: f32[1,4,3,3]/c4 = unary(%a) {fn=gelu}\n"
		"  %c: f32[1,8,3,3]/c4 = concat(%a, %b) {axis=1}\n"
		"  %d: f32[1,4,3,3]/c4 = slice(%c) {starts=[0,4,0,0]}\n"
		"  %v8: f32[1,4,3,3]/c4 = conv(%d, %w)\n"
		"  %y: f32[1,4,3,3] = reorder(%v8)\n"
		"  output %y\n");
}

// A value that is wanted both ways is reordered once.
static void plain_users_share_a_reorder(void **state)
{
	(void)state;
	check("  input %x: f32[1,2,3,3]\n" W8 "  %a: f32[1,4,3,3] = conv(%x, %v)\n"
	      "  %b: f32[1,4,9] = reshape(%a)\n"
	      "  %c: f32[1,4,3,3] = softmax(%a) {fn=softmax, axis=3}\n"
	      "  output %b\n"
	      "  output %c\n",
		"  input %x: f32[1,2,3,3]\n" W8 "  %a: f32[1,4,3,3]/c4 = conv(%x, %v)\n"
		"  %v5: f32[1,4,3,3] = reorder(%a)\n"
		"  %b: f32[1,4,9] = reshape(%v5)\n"
		"  %c: f32[1,4,3,3] = softmax(%v5) {fn=softmax, axis=3}\n"
		"  output %b\n"
		"  output %c\n");
}

// Parts of a slice that cut a block, and graphs without convolutions.
static void others_stay_plain(void **state)
{
	(void)state;
	const char *alone = "  input %x: f32[1,8,3,3]\n"
			    "  %y: f32[1,8,3,3] = unary(%x) {fn=relu}\n"
			    "  output %y\n";
	check(alone, alone);
	check("  input %x: f32[1,2,3,3]\n" W8 "  %a: f32[1,4,3,3] = conv(%x, %v)\n"
	      "  %y: f32[1,3,3,3] = slice(%a) {starts=[0,1,0,0]}\n"
	      "  output %y\n",
		"  input %x: f32[1,2,3,3]\n" W8 "  %a: f32[1,4,3,3]/c4 = conv(%x, %v)\n"
		"  %v4: f32[1,4,3,3] = reorder(%a)\n"
		"  %y: f32[1,3,3,3] = slice(%v4) {starts=[0,1,0,0]}\n"
		"  output %y\n");
}

static const struct pk_node *last_node(const struct pk_graph *graph)
{
	return pk_list_entry(graph->nodes.prev, struct pk_node, link);
}

static void transparency(void **state)
{
	(void)state;
	static const struct {
		const char *node;
		bool transparent;
	} rows[] = {
		{"%y: f32[1,8,3,3]/c8 = unary(%b) {fn=exp}", true},
		{"%y: f32[1,8,3,3]/c4 = unary(%b) {fn=exp}", false},
		{"%y: f32[1,8,3,3] = unary(%b) {fn=exp}", false},
		{"%y: f32[1,8,3,3]/c8 = binary(%b, %b) {fn=add}", true},
		{"%y: f32[1,8,3,3]/c8 = binary(%b, %one) {fn=add}", false},
		{"%y: f32[1,16,3,3]/c8 = concat(%b, %b) {axis=1}", true},
		{"%y: f32[1,8,6,3]/c8 = concat(%b, %b) {axis=2}", false},
		{"%y: f32[1,11,3,3]/c8 = concat(%b, %odd) {axis=1}", false},
		{"%y: f32[1,8,3,3]/c8 = slice(%wide) {starts=[0,8,0,0]}", true},
		{"%y: f32[1,8,3,3]/c8 = slice(%wide) {starts=[0,4,0,0]}", false},
		{"%y: f32[1,16,2,3]/c8 = slice(%wide) {starts=[0,0,1,0]}", false},
		{"%y: f32[1,3,3,3]/c8 = unary(%odd) {fn=exp}", false},
		{"%y: f32[1,2,4,9]/c8 = reshape(%b)", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024];
		snprintf(text, sizeof(text),
			"graph {\ninput %%x: f32[1,8,3,3]\ninput %%o: f32[1,3,3,3]\n"
			"input %%one: f32[1]\n%%b: f32[1,8,3,3]/c8 = reorder(%%x)\n"
			"%%odd: f32[1,3,3,3]/c8 = reorder(%%o)\n"
			"%%wide: f32[1,16,3,3]/c8 = concat(%%b, %%b) {axis=1}\n%s\n}\n",
			rows[i].node);
		pk_auto(pk_graph) graph = parse(text);
		if (pk_layout_is_transparent(last_node(graph)) != rows[i].transparent)
			fail_msg("%s", rows[i].node);
	}
}

static void bytes_count_whole_blocks(void **state)
{
	(void)state;
	struct pk_value value = {
		.dtype = PK_F32, .shape = {.rank = 4, .dims = {2, 3, 5, 7}}, .block = 8};
	assert_int_equal(pk_layout_bytes(&value), 2 * 8 * 5 * 7 * 4);
	value.block = 0;
	assert_int_equal(pk_layout_bytes(&value), 2 * 3 * 5 * 7 * 4);
	struct pk_shape large = {.rank = 4, .dims = {1, 1, 32768, 32768}};
	assert_false(pk_layout_block_fits(PK_F32, &large, 8)); // 2^33 floats with its padding
	assert_false(pk_layout_block_fits(PK_F16, &value.shape, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_blocked_between_reorders),
		cmocka_unit_test(plain_users_share_a_reorder),
		cmocka_unit_test(others_stay_plain),
		cmocka_unit_test(transparency),
		cmocka_unit_test(bytes_count_whole_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
