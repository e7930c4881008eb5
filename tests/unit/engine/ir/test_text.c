// SPDX-License-Identifier: Apache-2.0
// The text form: exact round trip, located errors, bounds.
#include "engine/ir/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/verify.h"

static struct pk_graph *parse(const char *text)
{
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	if (pk_verify_graph(graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

// Parsed and printed, text must come out as want.
static void check_print(const char *text, const char *want)
{
	pk_auto(pk_graph) graph = parse(text);
	struct pk_buf out;
	pk_buf_init(&out, 1 << 20);
	assert_int_equal(pk_text_print(graph, NULL, &out), 0);
	assert_string_equal(pk_buf_cstr(&out), want);
	pk_buf_finish(&out);
}

static void test_round_trip(void **state)
{
	static const char *const texts[] = {
		"graph {\n}\n",
		"graph {\n"
		"  input %images: f32[1,3,8,8]\n"
		"  const %w: f32[2,3,1,1] = {1, 0.5, -0, 1e-38, 3.40282e+38, 0.1}\n"
		"  const %b: f32[2] = {inf, nan}\n"
		"  %y: f32[1,2,10,4] = conv(%images, %w, %b) {strides=[1,2], pads=[1,0,1,0], "
		"act=leaky_relu, alpha=0.1} \"/model.0/conv\" kernel=conv_ref pack={1, 2, 255}\n"
		"  output %y\n"
		"}\n",
		"graph {\n"
		"  input %\"a b\": f16[]\n"
		"  input %\"quo\\\"te\\\\\\x0a\\xc3\\xa9\": bool[0,4]\n"
		"  input %\"x:\": i8[1]\n"
		"  input %x:0: u8[1]\n"
		"  output %\"a b\"\n"
		"  output %\"a b\"\n"
		"}\n",
		"graph {\n"
		"  input %x: f32[1,3,8,8]\n"
		"  %b: f32[1,3,8,8]/c8 = reorder(%x)\n"
		"  %r: f32[1,3,8,8]/c8 = unary(%b) {fn=relu}\n"
		"  %y: f32[1,3,8,8] = reorder(%r)\n"
		"  output %y\n"
		"}\n",
		"graph {\n"
		"  const %a: i64[2] = {-9223372036854775808, 9223372036854775807}\n"
		"  const %b: u64[1] = {18446744073709551615}\n"
		"  const %c: i8[2] = {-128, 127}\n"
		"  const %d: bool[2] = {0, 1}\n"
		"  const %e: f64[2] = {0.1, 3.141592653589793}\n"
		"  const %f: f16[2] = {0.099975586, 65504}\n"
		"  const %g: bf16[1] = {0.100097656}\n"
		"  const %h: f32[0] = {}\n"
		"  output %a\n  output %b\n  output %c\n  output %d\n  output %e\n  output %f\n"
		"  output %g\n  output %h\n"
		"}\n",
		"graph {\n"
		"  input %x: f32[1,1,2,2]\n"
		"  const %w: f32[1,1,1,1] = elided\n"
		"  %y: f32[1,1,2,2] = conv(%x, %w) kernel=k pack={1}\n"
		"  output %y\n"
		"}\n",
		"graph {\n"
		"  input %x: f32[1,8]\n"
		"  %v: f32[1,2], %i: i64[1,2] = top_k(%x) {axis=1, k=2, largest=0}\n"
		"  %c: f16[1,2] = cast(%v) {to=f16} \"n\"\n"
		"  output %c\n"
		"  output %i\n"
		"}\n",
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++)
		check_print(texts[i], texts[i]);
}

// Blanks, comments, order of statements and neutral attributes do not survive; meaning does.
static void test_canonical(void **state)
{
	check_print("# head\ngraph{const%c :f32[1]={1}\n"
		    "const %dead: f32[1] = {2} # not used\n"
		    "input%x:\tf32[1]\n%y: f32[1]=binary(%x,%c){fn=mul}\"m\"\noutput%y}\n#end",
		"graph {\n  input %x: f32[1]\n  const %c: f32[1] = {1}\n"
		"  %y: f32[1] = binary(%x, %c) {fn=mul} \"m\"\n  output %y\n}\n");
	check_print("graph { input %x: f32[1,1,4,4] %y: f32[1,1,4,4] = pool(%x) "
		    "{fn=max_pool, kernel=[1,1], strides=[1,1], pads=[0,0,0,0], count_pad=0} "
		    "output %y }",
		"graph {\n  input %x: f32[1,1,4,4]\n"
		"  %y: f32[1,1,4,4] = pool(%x) {fn=max_pool}\n  output %y\n}\n");
}

struct error_row {
	const char *text, *want;
};

static const struct error_row error_rows[] = {
	{"", "1:1: `graph` expected"},
	{"graph", "1:6: '{' expected"},
	{"graph {", "1:8: word expected"},
	{"graph {\n  frob %x\n}", "2:3: unknown statement `frob`"},
	{"graph {\n input %x f32[1]\n}", "2:11: ':' expected"},
	{"graph {\n input %x: f33[1]\n}", "2:12: unknown type `f33`"},
	{"graph {\n input %x: f32[1,-1]\n}", "2:18: shape is negative or too large"},
	{"graph {\n input %x: f32[65536,65536]\n}", "2:22: shape is negative or too large"},
	{"graph {\n input %x: f32[1,1,1,1,1,1,1,1,1]\n}", "2:32: more than 8 dims"},
	{"graph {\n input %x: f32[99999999999999999999]\n}",
		"2:16: `99999999999999999999` is no 64-bit integer"},
	{"graph {\n input %x: f32[1]\n input %x: f32[1]\n}", "3:9: %x is defined twice"},
	{"graph {\n input %x: f32[1,3,8,8]/c8\n}", "2:26: only results of nodes have a layout"},
	{"graph {\n input %x: f32[1,3,8]\n %y: f32[1,3,8]/c8 = reorder(%x)\n}",
		"3:17: no tensor of blocks of 8 channels"},
	{"graph {\n input %x: f32[1,3,8,8]\n %y: f32[1,3,8,8]/c7 = reorder(%x)\n}",
		"3:19: no tensor of blocks of 7 channels"},
	{"graph {\n output %y\n}", "2:10: %y is not defined"},
	{"graph {\n input %\"\": f32[1]\n}", "2:9: empty name"},
	{"graph {\n input %\"a\nb\": f32[1]\n}", "2:9: bad character in quoted text"},
	{"graph {\n input %\"\\x00\": f32[1]\n}", "2:9: bad character in quoted text"},
	{"graph {\n input %\"abc", "2:9: quoted text does not end"},
	{"graph {\n const %c: f32[2] = {1}\n}", "2:23: ',' expected"},
	{"graph {\n const %c: f32[2] = {1, 2, 3}\n}", "2:26: '}' expected"},
	{"graph {\n const %c: u8[1] = {256}\n}", "2:21: 256 is no u8"},
	{"graph {\n const %c: f32[1] = {1.2.3}\n}", "2:22: `1.2.3` is no number"},
	{"graph {\n const %c: f32[65537] = {1}\n}", "2:16: more than 65536 elements"},
	{"graph {\n const %c: f32[1] = @0\n}", "2:22: @0 is outside the weights"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = frob(%x)\n}", "3:15: unknown operator `frob`"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = identity(%z)\n}", "3:25: %z is not defined"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = identity(%x, %x)\n}",
		"3:15: identity ``: 2 operands"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = identity(_)\n}",
		"3:15: identity ``: operand 0 is missing"},
	{"graph {\n input %x: f32[1]\n %y: f32[2] = identity(%x)\n}", "3:15: %y is f32[1]"},
	{"graph {\n input %x: f32[1]\n %y: f16[1] = identity(%x)\n}", "3:15: %y is f32[1]"},
	{"graph {\n input %x: f32[1]\n %y: f32[1], %y: f32[1] = identity(%x)\n}",
		"3:15: %y is defined twice"},
	{"graph {\n input %x: f32[1]\n %y: f32[1], %z: f32[1] = identity(%x)\n}",
		"3:27: identity ``: 2 outputs"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = unary(%x) {mode=edge}\n}",
		"3:26: unary has no attribute `mode`"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = unary(%x) {fn=swish}\n}",
		"3:29: `swish` is no word of fn"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = unary(%x) {fn=add}\n}",
		"3:15: unary ``: fn: `add` does not take one operand"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = unary(%x) {fn=relu, fn=relu}\n}",
		"3:35: `fn` is set twice"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = transpose(%x) {perm=[0,0]}\n}",
		"3:15: transpose ``: perm: 2 items, 1 needed"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = slice(%x) "
	 "{starts=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}\n}",
		"3:64: more than 16 items"},
	{"graph {\n input %x: f32[1]\n %y: f32[1] = identity(%x) pack=@0+1\n}",
		"3:34: @0 is outside the weights"},
	{"graph {\n} x", "2:3: text after the graph"},
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(error_rows); i++) {
		struct pk_err err = {0};
		struct pk_graph *graph = NULL;
		int r = pk_text_parse(
			error_rows[i].text, strlen(error_rows[i].text), NULL, 0, &graph, &err);
		assert_true(r == -EINVAL || r == -EFBIG);
		assert_null(graph);
		assert_string_equal(err.text, error_rows[i].want);
	}
}

struct weights_row {
	int c, pack, bytes;
	const char *want; // error, or NULL
};

static void test_weights(void **state)
{
	static const struct weights_row rows[] = {
		{8, 64, 64, NULL},
		{120, 64, 0, NULL},
		{0, 0, 128, NULL},
		{124, 0, 1, "3:23: 8 bytes at @124: the weights have 128"},
		{2, 0, 1, "3:23: @2 is not aligned to 4 bytes"},
		{129, 0, 1, "3:23: @129 is outside the weights"},
		{0, 32, 1, "4:58: @32 is not aligned to 64 bytes"},
		{0, 64, 65, "4:58: 65 bytes at @64: the weights have 128"},
		{0, 128, 1, "4:59: 1 bytes at @128: the weights have 128"},
		{0, 0, -1, "4:57: negative size"},
	};
	char *weights = aligned_alloc(64, 128);
	memset(weights, 0, 128);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char text[512];
		struct pk_err err = {0};
		struct pk_graph *graph = NULL;
		snprintf(text, sizeof(text),
			"graph {\n  input %%x: f32[2]\n"
			"  const %%c: f32[2] = @%d\n"
			"  %%y: f32[2] = binary(%%x, %%c) {fn=add} kernel=k pack=@%d+%d\n"
			"  output %%y\n}\n",
			rows[i].c, rows[i].pack, rows[i].bytes);
		int r = pk_text_parse(text, strlen(text), weights, 128, &graph, &err);
		if (rows[i].want) {
			assert_int_equal(r, -EINVAL);
			assert_string_equal(err.text, rows[i].want);
			continue;
		}
		assert_int_equal(r, 0);
		struct pk_node *node = graph->outputs[0]->producer;
		assert_ptr_equal(node->inputs[1]->data, weights + rows[i].c);
		assert_ptr_equal(node->packed, weights + rows[i].pack);
		assert_int_equal(node->packed_bytes, rows[i].bytes);
		pk_graph_destroy(graph);
	}
	free(weights);
}

static int64_t offset_in(void *ctx, const void *data, size_t bytes)
{
	return (const char *)data - (const char *)ctx;
}

static void test_offsets_printed(void **state)
{
	char *weights = aligned_alloc(64, 128);
	memset(weights, 0, 128);
	static const char text[] =
		"graph {\n  input %x: f32[2]\n  const %c: f32[2] = @8\n"
		"  %y: f32[2] = binary(%x, %c) {fn=add} kernel=k pack=@64+3\n  output %y\n}\n";
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	struct pk_buf out;
	pk_buf_init(&out, 4096);
	struct pk_text_options options = {offset_in, weights};
	assert_int_equal(pk_text_parse(text, strlen(text), weights, 128, &graph, &err), 0);
	assert_int_equal(pk_text_print(graph, &options, &out), 0);
	assert_string_equal(pk_buf_cstr(&out), text);
	pk_buf_finish(&out);
	pk_graph_destroy(graph);
	free(weights);
}

static void test_print_bound(void **state)
{
	pk_auto(pk_graph) graph = parse("graph { input %x: f32[1] output %x }");
	struct pk_buf out;
	pk_buf_init(&out, 16);
	assert_int_equal(pk_text_print(graph, NULL, &out), -ENOSPC);
	pk_buf_finish(&out);
}

// Every prefix of a text is an error, none is read past its end.
static void test_truncated(void **state)
{
	static const char text[] = "graph {\n  input %x: f32[1,2,3,3]\n"
				   "  const %\"w\\x01\": f32[1] = {1e3}\n"
				   "  %y: f32[1,2,3,3] = unary(%x) {fn=clip, alpha=-inf} \"n\" "
				   "kernel=k pack={1}\n  output %y\n}";
	for (size_t n = 0; n + 1 < sizeof(text) - 1; n++) {
		struct pk_err err = {0};
		struct pk_graph *graph = NULL;
		char *copy = malloc(n ? n : 1); // exact, so that ASan sees the end
		memcpy(copy, text, n);
		assert_int_equal(pk_text_parse(copy, n, NULL, 0, &graph, &err), -EINVAL);
		assert_true(strchr(err.text, ':') != NULL);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_offsets_printed),
		cmocka_unit_test(test_print_bound),
		cmocka_unit_test(test_truncated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
