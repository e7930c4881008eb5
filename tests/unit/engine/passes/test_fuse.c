// SPDX-License-Identifier: Apache-2.0
// Passes around activations: fuse_act, merge_act, fuse_epilogue, fuse_residual.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/engine/passes/pass_case.h"

#define CHECK(pass, cases) pass_case_check(pass, NULL, cases, PK_ARRAY_LEN(cases))

#define X        "input %x: f32[1,4]\n"
#define T        ": f32[1,4] = "
#define OUT(act) X "%y" T "unary(%x) {fn=" act "} output %y"

static void test_silu_and_mish(void **state)
{
	static const struct pass_case cases[] = {
		{"silu",
			X "%s" T "unary(%x) {fn=sigmoid} \"s\"\n%y" T
			  "binary(%x, %s) {fn=mul} \"m\" output %y",
			X "%y" T "unary(%x) {fn=silu} \"s+m\" output %y"},
		{"silu, other order",
			X "%s" T "unary(%x) {fn=sigmoid} %y" T "binary(%s, %x) {fn=mul} output %y",
			OUT("silu")},
		{"mish",
			X "%s" T "unary(%x) {fn=softplus} %t" T "unary(%s) {fn=tanh} %y" T
			  "binary(%x, %t) {fn=mul} output %y",
			OUT("mish")},
		{"guard: sigmoid of another value",
			X "input %z"
			  ": f32[1,4]\n%s" T "unary(%z) {fn=sigmoid} %y" T
			  "binary(%x, %s) {fn=mul} output %y",
			NULL},
		{"guard: sigmoid is used elsewhere",
			X "%s" T "unary(%x) {fn=sigmoid} %y" T
			  "binary(%x, %s) {fn=mul} output %y output %s",
			NULL},
		{"guard: a factor too much",
			X "const %k: f32[1] = {2} %s" T "unary(%x) {fn=sigmoid} %t" T
			  "binary(%s, %k) {fn=mul} %y" T "binary(%x, %t) {fn=mul} output %y",
			NULL},
		{"guard: div",
			X "%s" T "unary(%x) {fn=sigmoid} %y" T "binary(%x, %s) {fn=div} output %y",
			NULL},
		{"guard: tanh of x without softplus",
			X "%t" T "unary(%x) {fn=tanh} %y" T "binary(%x, %t) {fn=mul} output %y",
			NULL},
		{"guard: broadcast square",
			"input %x: f32[1,4] input %z: f32[4,1] %s: f32[4,1] = unary(%z) "
			"{fn=sigmoid}\n"
			"%y: f32[4,4] = binary(%x, %s) {fn=mul} output %y",
			NULL},
		{"guard: a constant enlarges the rank",
			X "const %k: f32[1,1,1] = {1} %s" T "unary(%x) {fn=sigmoid}\n"
			  "%t: f32[1,1,4] = binary(%s, %k) {fn=mul}\n"
			  "%y: f32[1,1,4] = binary(%x, %t) {fn=mul} output %y",
			NULL},
	};
	CHECK(pk_pass_fuse_act, cases);
}

#define HS_PARTS                                                                                   \
	X "const %c3: f32[] = {3} const %c6: f32[] = {6} const %sixth: f32[] = {0.16666667}\n"     \
	  "%a" T "binary(%x, %c3) {fn=add} %c" T "unary(%a) {fn=clip, beta=6}\n"
#define HS_SIGMOID "{fn=hard_sigmoid, alpha=0.16666666666666666, beta=0.5}"

static void test_hard_swish(void **state)
{
	static const struct pass_case cases[] = {
		{"(x * clip) / 6",
			HS_PARTS "%m" T "binary(%x, %c) {fn=mul} %y" T
				 "binary(%m, %c6) {fn=div} output %y",
			OUT("hard_swish")},
		{"(x * clip) * 1/6",
			HS_PARTS "%m" T "binary(%c, %x) {fn=mul} %y" T
				 "binary(%sixth, %m) {fn=mul} output %y",
			OUT("hard_swish")},
		{"x * (clip / 6)",
			HS_PARTS "%d" T "binary(%c, %c6) {fn=div} %y" T
				 "binary(%x, %d) {fn=mul} output %y",
			OUT("hard_swish")},
		{"clip / 6 alone", HS_PARTS "%y" T "binary(%c, %c6) {fn=div} output %y",
			X "%y" T "unary(%x) " HS_SIGMOID " output %y"},
		{"x * hard_sigmoid",
			X "%s" T "unary(%x) " HS_SIGMOID " %y" T
			  "binary(%s, %x) {fn=mul} output %y",
			OUT("hard_swish")},
		{"x * hard_sigmoid from f32",
			X "%s" T
			  "unary(%x) {fn=hard_sigmoid, alpha=0.16666667163372, beta=0.5} %y" T
			  "binary(%s, %x) {fn=mul} output %y",
			OUT("hard_swish")},
		{"guard: slope of 0.2",
			X "%s" T "unary(%x) {fn=hard_sigmoid, alpha=0.2, beta=0.5} %y" T
			  "binary(%s, %x) {fn=mul} output %y",
			NULL},
		{"guard: x * clip is not divided",
			HS_PARTS "%y" T "binary(%x, %c) {fn=mul} output %y", NULL},
		{"guard: clip to 5",
			X "const %c3: f32[] = {3} const %c6: f32[] = {6} %a" T
			  "binary(%x, %c3) {fn=add} %c" T "unary(%a) {fn=clip, beta=5} %y" T
			  "binary(%c, %c6) {fn=div} output %y",
			NULL},
		{"guard: clip is an output",
			HS_PARTS "%y" T "binary(%c, %c6) {fn=div} output %y output %c", NULL},
	};
	CHECK(pk_pass_fuse_act, cases);
}

#define GELU_PARTS                                                                                 \
	X "const %half: f32[] = {0.5} const %one: f32[] = {1} const %r2: f32[] = {1.4142135}\n"    \
	  "%d" T "binary(%x, %r2) {fn=div} %e" T "unary(%d) {fn=erf} %p" T                         \
	  "binary(%e, %one) {fn=add}\n"
#define TANH_CONSTS                                                                                \
	X "const %half: f32[] = {0.5} const %one: f32[] = {1} const %three: f32[] = {3}\n"         \
	  "const %k: f32[] = {0.79788458} const %q: f32[] = {0.044715} const %two: f32[] = {2}\n"

static const struct pass_case gelu_cases[] = {
	{"(x * p) * 0.5",
		GELU_PARTS "%m" T "binary(%x, %p) {fn=mul} %y" T
			   "binary(%m, %half) {fn=mul} output %y",
		OUT("gelu")},
	{"(0.5 * x) * p",
		GELU_PARTS "%m" T "binary(%half, %x) {fn=mul} %y" T
			   "binary(%m, %p) {fn=mul} output %y",
		OUT("gelu")},
	{"x * (p * 0.5)",
		GELU_PARTS "%m" T "binary(%p, %half) {fn=mul} %y" T
			   "binary(%x, %m) {fn=mul} output %y",
		OUT("gelu")},
	{"x * p / 2",
		X "const %one: f32[] = {1} const %two: f32[] = {2}\n"
		  "const %r: f32[] = {0.70710677} %d" T "binary(%r, %x) {fn=mul} %e" T
		  "unary(%d) {fn=erf} %p" T "binary(%one, %e) {fn=add} %m" T
		  "binary(%x, %p) {fn=mul} %y" T "binary(%m, %two) {fn=div} output %y",
		OUT("gelu")},
	{"tanh of x + q x^3, by pow",
		TANH_CONSTS "%c" T "binary(%x, %three) {fn=pow} %a" T "binary(%q, %c) {fn=mul} %b" T
			    "binary(%x, %a) {fn=add} %d" T "binary(%b, %k) {fn=mul} %t" T
			    "unary(%d) {fn=tanh} %p" T "binary(%t, %one) {fn=add} %h" T
			    "binary(%x, %half) {fn=mul} %y" T "binary(%h, %p) {fn=mul} output %y",
		OUT("gelu_tanh")},
	{"tanh of x + q x^3, by products",
		TANH_CONSTS "%c2" T "binary(%x, %x) {fn=mul} %c" T "binary(%c2, %x) {fn=mul} %a" T
			    "binary(%q, %c) {fn=mul} %b" T "binary(%a, %x) {fn=add} %d" T
			    "binary(%k, %b) {fn=mul} %t" T "unary(%d) {fn=tanh} %p" T
			    "binary(%one, %t) {fn=add} %h" T "binary(%x, %p) {fn=mul} %y" T
			    "binary(%h, %half) {fn=mul} output %y",
		OUT("gelu_tanh")},
	{"tanh of x (1 + q x^2)",
		TANH_CONSTS "%c" T "binary(%x, %two) {fn=pow} %a" T "binary(%q, %c) {fn=mul} %b" T
			    "binary(%one, %a) {fn=add} %e" T "binary(%x, %b) {fn=mul} %d" T
			    "binary(%e, %k) {fn=mul} %t" T "unary(%d) {fn=tanh} %p" T
			    "binary(%t, %one) {fn=add} %h" T "binary(%x, %half) {fn=mul} %y" T
			    "binary(%h, %p) {fn=mul} output %y",
		OUT("gelu_tanh")},
	{"guard: not halved", GELU_PARTS "%y" T "binary(%x, %p) {fn=mul} output %y", NULL},
	{"guard: erf of x itself",
		X "const %half: f32[] = {0.5} const %one: f32[] = {1} %e" T
		  "unary(%x) {fn=erf} %p" T "binary(%e, %one) {fn=add} %m" T
		  "binary(%x, %p) {fn=mul} %y" T "binary(%m, %half) {fn=mul} output %y",
		NULL},
	{"guard: erf is an output",
		GELU_PARTS "%m" T "binary(%x, %p) {fn=mul} %y" T
			   "binary(%m, %half) {fn=mul} output %y output %e",
		NULL},
	{"guard: square where the cube should be",
		TANH_CONSTS "%c" T "binary(%x, %two) {fn=pow} %a" T "binary(%q, %c) {fn=mul} %b" T
			    "binary(%x, %a) {fn=add} %d" T "binary(%b, %k) {fn=mul} %t" T
			    "unary(%d) {fn=tanh} %p" T "binary(%t, %one) {fn=add} %h" T
			    "binary(%x, %half) {fn=mul} %y" T "binary(%h, %p) {fn=mul} output %y",
		NULL},
};

static void test_gelu(void **state)
{
	CHECK(pk_pass_fuse_act, gelu_cases);
}

static void test_merge_act(void **state)
{
	static const struct pass_case cases[] = {
		{"relu of relu",
			X "%a" T "unary(%x) {fn=relu} \"a\" %y" T
			  "unary(%a) {fn=relu} \"b\" output %y",
			X "%y" T "unary(%x) {fn=relu} \"a+b\" output %y"},
		{"clip of relu",
			X "%a" T "unary(%x) {fn=relu} %y" T
			  "unary(%a) {fn=clip, alpha=-1, beta=6} output %y",
			X "%y" T "unary(%x) {fn=clip, beta=6} output %y"},
		{"relu of clip",
			X "%a" T "unary(%x) {fn=clip, alpha=-1, beta=2} %y" T
			  "unary(%a) {fn=relu} output %y",
			X "%y" T "unary(%x) {fn=clip, beta=2} output %y"},
		{"clips that do not meet",
			X "%a" T "unary(%x) {fn=clip, alpha=-2, beta=-1} %y" T
			  "unary(%a) {fn=clip, alpha=1, beta=2} output %y",
			X "%y" T "unary(%x) {fn=clip, alpha=1, beta=1} output %y"},
		{"relu by halves",
			X "%a" T "unary(%x) {fn=clip, beta=inf} %y" T
			  "unary(%a) {fn=clip, alpha=-3, beta=inf} output %y",
			OUT("relu")},
		{"prelu of one slope",
			X "const %s: f32[4] = {0.25, 0.25, 0.25, 0.25} %y" T "prelu(%x, %s) \"p\"\n"
			  "output %y",
			X "%y" T "unary(%x) {fn=leaky_relu, alpha=0.25} \"p\" output %y"},
		{"guard: prelu of two slopes",
			X "const %s: f32[4] = {1, 1, 1, 2} %y" T "prelu(%x, %s) output %y", NULL},
		{"guard: slope is computed", X "input %s: f32[4] %y" T "prelu(%x, %s) output %y",
			NULL},
		{"guard: crossed bounds",
			X "%a" T "unary(%x) {fn=clip, alpha=2, beta=1} %y" T
			  "unary(%a) {fn=relu} output %y",
			NULL},
		{"guard: other functions",
			X "%a" T "unary(%x) {fn=abs} %y" T "unary(%a) {fn=relu} output %y", NULL},
		{"guard: inner is used elsewhere",
			X "%a" T "unary(%x) {fn=relu} %y" T
			  "unary(%a) {fn=relu} output %y output %a",
			NULL},
	};
	CHECK(pk_pass_merge_act, cases);
}

#define CONV_IN "input %x: f32[1,1,2,2] const %w: f32[1,1,1,1] = {2}\n"
#define C       ": f32[1,1,2,2] = "

static void test_fuse_epilogue(void **state)
{
	static const struct pass_case cases[] = {
		{"leaky relu with its slope",
			CONV_IN "%a" C "conv(%x, %w) \"c\" %y" C
				"unary(%a) {fn=leaky_relu, alpha=0.1} \"r\" output %y",
			CONV_IN "%y" C
				"conv(%x, %w) {act=leaky_relu, alpha=0.1} \"c+r\" output %y"},
		{"clip with both bounds",
			CONV_IN "%a" C "conv(%x, %w) %y" C
				"unary(%a) {fn=clip, alpha=-1, beta=6} output %y",
			CONV_IN "%y" C "conv(%x, %w) {act=clip, alpha=-1, beta=6} output %y"},
		{"conv_transpose",
			CONV_IN "%a" C "conv_transpose(%x, %w) %y" C
				"unary(%a) {fn=silu} output %y",
			CONV_IN "%y" C "conv_transpose(%x, %w) {act=silu} output %y"},
		{"behind a residual",
			CONV_IN "%a" C "conv(%x, %w, _, %x) {residual=before_act} %y" C
				"unary(%a) {fn=relu} output %y",
			CONV_IN "%y" C
				"conv(%x, %w, _, %x) {act=relu, residual=before_act} output %y"},
		{"guard: residual behind an act",
			CONV_IN "%a" C "conv(%x, %w, _, %x) {residual=after_act} %y" C
				"unary(%a) {fn=relu} output %y",
			NULL},
		{"guard: act already there",
			CONV_IN "%a" C "conv(%x, %w) {act=relu} %y" C
				"unary(%a) {fn=sigmoid} output %y",
			NULL},
		{"guard: no activation",
			CONV_IN "%a" C "conv(%x, %w) %y" C "unary(%a) {fn=exp} output %y", NULL},
		{"guard: conv output is a graph output",
			CONV_IN "%a" C "conv(%x, %w) %y" C
				"unary(%a) {fn=relu} output %a output %y",
			NULL},
		{"guard: two users",
			CONV_IN "%a" C "conv(%x, %w) %y" C "unary(%a) {fn=relu} %z" C
				"unary(%a) {fn=tanh} output %y output %z",
			NULL},
		{"guard: no conv",
			CONV_IN "%a" C "binary(%x, %w) {fn=mul} %y" C
				"unary(%a) {fn=relu} output %y",
			NULL},
	};
	CHECK(pk_pass_fuse_epilogue, cases);
}

static void test_fuse_residual(void **state)
{
	static const struct pass_case cases[] = {
		{"before an act that is to come",
			CONV_IN "%a" C "conv(%x, %w) \"c\" %y" C
				"binary(%a, %x) {fn=add} \"add\" output %y",
			CONV_IN "%y" C
				"conv(%x, %w, _, %x) {residual=before_act} \"c+add\" output %y"},
		{"after the act, other order",
			CONV_IN "%a" C "conv(%x, %w) {act=silu} %y" C
				"binary(%x, %a) {fn=add} output %y",
			CONV_IN "%y" C
				"conv(%x, %w, _, %x) {act=silu, residual=after_act} output %y"},
		{"the conv moves behind the other operand",
			CONV_IN "%a" C "conv(%x, %w) %r" C "unary(%x) {fn=relu} %y" C
				"binary(%a, %r) {fn=add} output %y",
			CONV_IN "%r" C "unary(%x) {fn=relu} %y" C
				"conv(%x, %w, _, %r) {residual=before_act} output %y"},
		{"of two convs the later one",
			CONV_IN "%a" C "conv(%x, %w) \"first\" %b" C "conv(%x, %w) \"second\" %y" C
				"binary(%b, %a) {fn=add} output %y",
			CONV_IN "%a" C "conv(%x, %w) \"first\" %y" C
				"conv(%x, %w, _, %a) {residual=before_act} \"second\" output %y"},
		{"of two convs the only free one",
			CONV_IN "%a" C "conv(%x, %w) %b" C "conv(%x, %w) %y" C
				"binary(%a, %b) {fn=add} output %y output %b",
			CONV_IN "%b" C "conv(%x, %w) %y" C
				"conv(%x, %w, _, %b) {residual=before_act} output %y output %b"},
		{"guard: added to itself",
			CONV_IN "%a" C "conv(%x, %w) %y" C "binary(%a, %a) {fn=add} output %y",
			NULL},
		{"guard: broadcast",
			CONV_IN "input %k: f32[1,1,1,2] %a" C "conv(%x, %w) %y" C
				"binary(%a, %k) {fn=add} output %y",
			NULL},
		{"guard: a residual is there already",
			CONV_IN "%a" C "conv(%x, %w, _, %x) {residual=before_act} %y" C
				"binary(%a, %x) {fn=add} output %y",
			NULL},
		{"guard: sub",
			CONV_IN "%a" C "conv(%x, %w) %y" C "binary(%a, %x) {fn=sub} output %y",
			NULL},
		{"guard: conv output is a graph output",
			CONV_IN "%a" C "conv(%x, %w) %y" C
				"binary(%a, %x) {fn=add} output %y output %a",
			NULL},
		{"guard: conv_transpose",
			CONV_IN "%a" C "conv_transpose(%x, %w) %y" C
				"binary(%a, %x) {fn=add} output %y",
			NULL},
	};
	CHECK(pk_pass_fuse_residual, cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silu_and_mish),
		cmocka_unit_test(test_hard_swish),
		cmocka_unit_test(test_gelu),
		cmocka_unit_test(test_merge_act),
		cmocka_unit_test(test_fuse_epilogue),
		cmocka_unit_test(test_fuse_residual),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
