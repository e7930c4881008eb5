// SPDX-License-Identifier: Apache-2.0
// fold_qdq: what becomes integer, what must not, and that results stay the same.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cpu/eval.h"
#include "engine/passes/pass.h"
#include "tests/unit/engine/passes/pass_case.h"

#define CHECK(cases) pass_case_check(pk_pass_fold_qdq, NULL, cases, PK_ARRAY_LEN(cases))

#define XQ "input %x: i8[1,1,2,2]\nconst %sx: f32[] = {0.5}\nconst %sw: f32[1] = {0.25}\n"
#define WQ "const %w: i8[1,1,1,1] = {3}\n%wf: f32[1,1,1,1] = dequantize(%w, %sw)\n"
#define DX "%xf: f32[1,1,2,2] = dequantize(%x, %sx)\n"
#define XI "input %x: i8[1,1,2,2]\n"
#define WC "const %w: i8[1,1,1,1] = {3}\n"
#define SY "const %sy: f32[] = {0.125}\n"

static void test_products(void **state)
{
	static const struct pass_case cases[] = {
		{"conv with float output",
			XQ WQ DX "%y: f32[1,1,2,2] = conv(%xf, %wf) {act=silu} \"c\" output %y",
			XI WC "const %mult: f32[1] = {0.125}\n"
			      "%y: f32[1,1,2,2] = qconv(%x, %w, _, %mult) {act=silu, to=f32} "
			      "\"c\" output %y"},
		{"bias in units of both scales; quantize goes in, relu needs no scale",
			XQ WQ DX SY "const %b: f32[1] = {-2}\n"
				    "%c: f32[1,1,2,2] = conv(%xf, %wf, %b) {act=relu} \"c\"\n"
				    "%y: i8[1,1,2,2] = quantize(%c, %sy) {to=i8} \"q\" output %y",
			XI WC "const %bias: i32[1] = {-16} const %mult.1: f32[1] = {1}\n"
			      "%y: i8[1,1,2,2] = qconv(%x, %w, %bias, %mult.1) {act=relu, to=i8} "
			      "\"c+q\" output %y"},
		{"silu needs the scale of y",
			XQ WQ DX SY "const %z: u8[] = {7}\n"
				    "%c: f32[1,1,2,2] = conv(%xf, %wf) {act=silu}\n"
				    "%y: u8[1,1,2,2] = quantize(%c, %sy, %z) {to=u8} output %y",
			XI WC SY "const %z: u8[] = {7} const %mult: f32[1] = {0.125}\n"
				 "%y: u8[1,1,2,2] = qconv(%x, %w, _, %mult, _, _, %sy, %z) "
				 "{act=silu, to=u8} output %y"},
		{"gemm, weights turned over",
			"input %a: i8[1,2] const %s: f32[] = {1} const %b: i8[3,2] = {1, 2, 3, 4, "
			"5, 6}\n%af: f32[1,2] = dequantize(%a, %s) %bf: f32[3,2] = dequantize(%b, "
			"%s)\n%y: f32[1,3] = gemm(%af, %bf) {trans_b=1} output %y",
			"input %a: i8[1,2] const %mult: f32[3] = {1, 1, 1} const %b.1: i8[2,3] = "
			"{1, 3, 5, 2, 4, 6}\n%y: f32[1,3] = qmatmul(%a, %b.1, _, %mult) {to=f32} "
			"output %y"},
		{"guard: scales per input channel",
			"input %x: i8[1,2,1,1] const %s: f32[2] = {1, 2} const %w: i8[1,2,1,1] = "
			"{1, 1}\n%xf: f32[1,2,1,1] = dequantize(%x, %s) {axis=1}\n"
			"const %o: f32[] = {1} %wf: f32[1,2,1,1] = dequantize(%w, %o)\n"
			"%y: f32[1,1,1,1] = conv(%xf, %wf) output %y",
			NULL},
		{"guard: residual stays outside",
			XQ WQ DX "input %r: f32[1,1,2,2]\n%y: f32[1,1,2,2] = conv(%xf, %wf, _, %r) "
				 "{residual=before_act} output %y",
			NULL},
		{"guard: float weights",
			XQ DX "const %w: f32[1,1,1,1] = {3}\n%y: f32[1,1,2,2] = conv(%xf, %w) "
			      "output %y",
			NULL},
		{"guard: a bias that i32 does not hold",
			XQ WQ DX "const %b: f32[1] = {1e9}\n%y: f32[1,1,2,2] = conv(%xf, %wf, %b) "
				 "output %y",
			NULL},
	};
	CHECK(cases);
}

#define V "input %x: i8[1,2,2,2] const %s: f32[] = {0.5}\n"
#define D "%d: f32[1,2,2,2] = dequantize(%x, %s)\n"

// Function of one byte: a table, whatever stands between. Sum of two: qbinary.
static void test_elementwise(void **state)
{
	static const struct pass_case cases[] = {
		{"sum of two scales, relu",
			V D "input %z: i8[1,2,2,2] const %t: f32[] = {0.25}\n"
			    "%e: f32[1,2,2,2] = dequantize(%z, %t)\n"
			    "%a: f32[1,2,2,2] = binary(%d, %e) {fn=add} \"a\"\n"
			    "%r: f32[1,2,2,2] = unary(%a) {fn=relu}\n"
			    "%y: i8[1,2,2,2] = quantize(%r, %t) {to=i8} \"q\" output %y",
			"input %x: i8[1,2,2,2] input %z: i8[1,2,2,2] const %scale: f32[1] = {2} "
			"const %scale.1: f32[1] = {1}\n"
			"%y: i8[1,2,2,2] = qbinary(%x, %z, %scale, %scale.1) "
			"{fn=add, act=relu, to=i8} \"a+q\" output %y"},
		{"guard: a sum with floats",
			V D "input %z: f32[1,2,2,2]\n"
			    "%a: f32[1,2,2,2] = binary(%d, %z) {fn=add}\n"
			    "%y: i8[1,2,2,2] = quantize(%a, %s) {to=i8} output %y",
			NULL},
		{"guard: maximum of two",
			V D "input %z: i8[1,2,2,2]\n"
			    "%e: f32[1,2,2,2] = dequantize(%z, %s)\n"
			    "%a: f32[1,2,2,2] = binary(%d, %e) {fn=max}\n"
			    "%y: i8[1,2,2,2] = quantize(%a, %s) {to=i8} output %y",
			NULL},
	};
	CHECK(cases);
}

#define SILU                                                                                       \
	V D "const %t: f32[] = {0.01} const %u: f32[] = {0.4}\n"                                   \
	    "%g: f32[1,2,2,2] = unary(%d) {fn=sigmoid}\n"                                          \
	    "%h: i8[1,2,2,2] = quantize(%g, %t) {to=i8}\n"                                         \
	    "%i: f32[1,2,2,2] = dequantize(%h, %t)\n"                                              \
	    "%m: f32[1,2,2,2] = binary(%d, %i) {fn=mul}\n"                                         \
	    "%y: i8[1,2,2,2] = quantize(%m, %u) {to=i8} output %y"

// All 256 bytes through the graph before and after.
static void test_table(void **state)
{
	struct pk_graph *graph = pass_case_parse(SILU);
	struct pk_err err = {0};
	struct pk_pass_ctx ctx = {.evaluator = &pk_cpu_evaluator, .err = &err};
	while (pk_pass_fold_qdq(graph, &ctx) > 0)
		;
	struct pk_node *lookup = graph->outputs[0]->producer;
	assert_int_equal(lookup->op, PK_OP_LOOKUP);
	assert_ptr_equal(lookup->inputs[0], graph->inputs[0]);
	const int8_t *table = lookup->inputs[1]->data;
	for (int i = 0; i < 256; i++) {
		float x = 0.5F * (int8_t)i, g = (float)(1 / (1 + exp(-(double)x)));
		float h = 0.01F * fminf(nearbyintf(g / 0.01F), 127);
		float y = fmaxf(fminf(nearbyintf(x * h / 0.4F), 127), -128);
		assert_int_equal(table[i], (int8_t)y);
	}
	pk_graph_destroy(graph);
}

static void test_moves(void **state)
{
	static const struct pass_case cases[] = {
		{"max pool between dequantize and quantize",
			V D "%p: f32[1,2,1,1] = pool(%d) {fn=max_pool, kernel=[2,2]}\n"
			    "%y: i8[1,2,1,1] = quantize(%p, %s) {to=i8} output %y",
			"input %x: i8[1,2,2,2]\n%y: i8[1,2,1,1] = pool(%x) {fn=max_pool, "
			"kernel=[2,2]} output %y"},
		{"transpose, reshape",
			V D "%t: f32[2,2,1,2] = transpose(%d) {perm=[1,2,0,3]}\n%r: f32[4,2] = "
			    "reshape(%t)\n%y: i8[4,2] = quantize(%r, %s) {to=i8} output %y",
			"input %x: i8[1,2,2,2]\n%t.1: i8[2,2,1,2] = transpose(%x) "
			"{perm=[1,2,0,3]}\n%y: i8[4,2] = reshape(%t.1) output %y"},
		{"quantize rises above a concat",
			"input %a: f32[1,2] input %b: f32[1,2] const %s: f32[] = {0.5}\n"
			"%c: f32[1,4] = concat(%a, %b) {axis=1}\n"
			"%y: i8[1,4] = quantize(%c, %s) {to=i8} output %y",
			"input %a: f32[1,2] input %b: f32[1,2] const %s: f32[] = {0.5}\n"
			"%a.1: i8[1,2] = quantize(%a, %s) {to=i8}\n"
			"%b.1: i8[1,2] = quantize(%b, %s) {to=i8}\n"
			"%y: i8[1,4] = concat(%a.1, %b.1) {axis=1} output %y"},
		{"guard: another scale",
			V D "const %t: f32[] = {0.25}\n%y: i8[1,2,2,2] = quantize(%d, %t) {to=i8} "
			    "output %y",
			NULL},
		{"guard: another type", V D "%y: u8[1,2,2,2] = quantize(%d, %s) {to=u8} output %y",
			NULL},
		{"guard: concat of two scales",
			"input %a: i8[1,2] input %b: i8[1,2] const %s: f32[] = {1} const %t: f32[] "
			"= {2}\n%x: f32[1,2] = dequantize(%a, %s) %z: f32[1,2] = dequantize(%b, "
			"%t)\n%y: f32[1,4] = concat(%x, %z) {axis=1} output %y",
			NULL},
		{"guard: average pool",
			V D "%y: f32[1,2,1,1] = pool(%d) {fn=avg_pool, kernel=[2,2]} output %y",
			NULL},
		{"guard: scale is computed",
			"input %x: i8[1,2] input %s: f32[]\n%d: f32[1,2] = dequantize(%x, %s)\n"
			"%y: i8[1,2] = quantize(%d, %s) {to=i8} output %y",
			NULL},
	};
	CHECK(cases);
}

#define BRANCHES(left, right)                                                                      \
	"input %x: f32[1,1,2,2] const %s: f32[] = {0.03125} const %w: f32[1,1,1,1] = {0.5}\n"      \
	"const %wq: i8[1,1,1,1] = {16}\n%q: i8[1,1,2,2] = quantize(%x, %s) {to=i8}\n"              \
	"%d: f32[1,1,2,2] = dequantize(%q, %s)\n%wd: f32[1,1,1,1] = dequantize(%wq, %s)\n"         \
	"%c: f32[1,1,2,2] = conv(%d, %wd)\n%cq: i8[1,1,2,2] = quantize(%c, %s) {to=i8}\n"          \
	"%cd: f32[1,1,2,2] = dequantize(%cq, %s)\n"                                                \
	"%a: f32[1,1,2,2] = binary(" left ", " right ") {fn=add}\n"                                \
	"%y: i8[1,1,2,2] = quantize(%a, %s) {to=i8} output %y"

static void run_text(const char *text, const float x[4], int8_t y[4], bool passes)
{
	pk_auto(pk_graph) graph = pass_case_parse(text);
	struct pk_pass_options options = {.verify = true, .evaluator = &pk_cpu_evaluator};
	struct pk_err err = {0};
	if (passes && pk_passes_run(graph, &options, NULL, &err) < 0)
		fail_msg("%s", err.text);
	const void *inputs[] = {x};
	void *outputs[] = {y};
	if (pk_cpu_eval_graph(graph, inputs, outputs, &err) < 0)
		fail_msg("%s", err.text);
}

// The sum of a quantised branch and another one is the same in either order and after the passes.
static void test_residual_branches(void **state)
{
	static const char *const texts[] = {BRANCHES("%cd", "%d"), BRANCHES("%d", "%cd"),
		BRANCHES("%c", "%d"), BRANCHES("%d", "%c"), BRANCHES("%cd", "%x"),
		BRANCHES("%x", "%cd")};
	static const float x[4] = {0.7F, -0.33F, 1.99F, 0.046875F};
	for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++) {
		int8_t plain[4], folded[4], other[4];
		run_text(texts[i], x, plain, false);
		run_text(texts[i], x, folded, true);
		run_text(texts[i ^ 1], x, other, true);
		assert_memory_equal(plain, folded, 4);
		assert_memory_equal(plain, other, 4);
	}
}

// With the pass off a quantised model runs in float and gives the same within one step.
static void test_float_fallback(void **state)
{
	static const char *const off[] = {"fold_qdq"};
	pk_auto(pk_graph) graph =
		pass_case_parse(XQ WQ DX "%y: f32[1,1,2,2] = conv(%xf, %wf) output %y");
	struct pk_pass_options options = {
		.disabled = off, .n_disabled = 1, .verify = true, .evaluator = &pk_cpu_evaluator};
	struct pk_err err = {0};
	assert_int_equal(pk_passes_run(graph, &options, NULL, &err), 0);
	struct pk_node *conv = graph->outputs[0]->producer;
	assert_int_equal(conv->op, PK_OP_CONV);
	assert_non_null(conv->inputs[1]->data); // expanded after all
	assert_true(*(const float *)conv->inputs[1]->data == 0.75F);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_residual_branches),
		cmocka_unit_test(test_float_fallback),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
