// SPDX-License-Identifier: Apache-2.0
// Passes that only take away: remove_noop, merge_move, cse, dce.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/engine/passes/pass_case.h"

#define CHECK(pass, cases) pass_case_check(pass, NULL, cases, PK_ARRAY_LEN(cases))

#define X    "input %x: f32[2,3]\n"
#define T    ": f32[2,3] = "
#define END  " %y" T "unary(%a) {fn=relu} output %y"
#define WANT X "%y" T "unary(%x) {fn=relu} output %y"

static void test_remove_noop(void **state)
{
	static const struct pass_case cases[] = {
		{"identity", X "%a" T "identity(%x)" END, WANT},
		{"cast", X "%a" T "cast(%x) {to=f32}" END, WANT},
		{"reshape", X "%a" T "reshape(%x)" END, WANT},
		{"expand", X "%a" T "expand(%x)" END, WANT},
		{"tile", X "%a" T "tile(%x)" END, WANT},
		{"transpose", X "%a" T "transpose(%x)" END, WANT},
		{"slice", X "%a" T "slice(%x)" END, WANT},
		{"pad", X "%a" T "pad(%x) {mode=edge}" END, WANT},
		{"concat", X "%a" T "concat(%x) {axis=1}" END, WANT},
		{"resize", X "%a" T "resize(%x) {mode=linear}" END, WANT},
		{"open clip", X "%a" T "unary(%x) {fn=clip, alpha=-inf, beta=inf}" END, WANT},
		{"times one", X "const %k: f32[] = {1} %a" T "binary(%k, %x) {fn=mul}" END, WANT},
		{"by one", X "const %k: f32[3] = {1, 1, 1} %a" T "binary(%x, %k) {fn=div}" END,
			WANT},
		{"plus zero", X "const %k: f32[1] = {0} %a" T "binary(%x, %k) {fn=add}" END, WANT},
		{"minus zero", X "const %k: f32[1] = {0} %a" T "binary(%x, %k) {fn=sub}" END, WANT},
		{"a chain of them",
			X "%b" T "identity(%x) %c" T "reshape(%b) %a" T "identity(%c)" END, WANT},
		{"output name survives",
			X "%b" T "unary(%x) {fn=relu} %y" T "identity(%b) output %y", WANT},
		{"guard: from input to output", X "%y" T "identity(%x) output %y", NULL},
		{"guard: between two outputs",
			X "%a" T "unary(%x) {fn=relu} %y" T "identity(%a) output %y output %a",
			NULL},
		{"guard: other type", X "%a: f16[2,3] = cast(%x) {to=f16} output %a", NULL},
		{"guard: other shape", X "%a: f32[3,2] = reshape(%x) output %a", NULL},
		{"guard: square transpose",
			"input %x: f32[2,2] %a: f32[2,2] = transpose(%x) {perm=[1,0]} output %a",
			NULL},
		{"guard: reversed slice",
			X "%a" T "slice(%x) {starts=[1,0],steps=[-1,1]} output %a", NULL},
		{"guard: shifted by pads", X "%a" T "pad(%x) {pads=[1,0,-1,0]} output %a", NULL},
		{"guard: sampled elsewhere",
			X "%a" T "resize(%x) {coord=tf_crop_and_resize,roi=[0.5,0,1,1]} output %a",
			NULL},
		{"guard: scale is not one", X "%a" T "resize(%x) {scales=[1,1.3]} output %a", NULL},
		{"guard: one minus",
			X "const %k: f32[1] = {0} %a" T "binary(%k, %x) {fn=sub} output %a", NULL},
		{"guard: one over",
			X "const %k: f32[1] = {1} %a" T "binary(%k, %x) {fn=div} output %a", NULL},
		{"guard: not all ones",
			X "const %k: f32[3] = {1, 1, 2} %a" T "binary(%k, %x) {fn=mul} output %a",
			NULL},
		{"guard: a one that enlarges",
			X "const %k: f32[4,1,1] = {1, 1, 1, 1}\n"
			  "%a: f32[4,2,3] = binary(%k, %x) {fn=mul} output %a",
			NULL},
		{"guard: concat of two", X "%a: f32[4,3] = concat(%x, %x) output %a", NULL},
	};
	CHECK(pk_pass_remove_noop, cases);
}

static void test_merge_move(void **state)
{
	static const struct pass_case cases[] = {
		{"reshapes",
			X "%a: f32[6] = reshape(%x) \"a\" %y: f32[3,2] = reshape(%a) \"b\"\n"
			  "output %y",
			X "%y: f32[3,2] = reshape(%x) \"a+b\" output %y"},
		{"the first reshape stays for its other user",
			X "%a: f32[6] = reshape(%x)\n"
			  "%y: f32[3,2] = reshape(%a) output %y output %a",
			X
			"%a: f32[6] = reshape(%x) %y: f32[3,2] = reshape(%x) output %y output %a"},
		{"transposes",
			"input %x: f32[2,3,4] %a: f32[4,2,3] = transpose(%x) {perm=[2,0,1]}\n"
			"%y: f32[2,4,3] = transpose(%a) {perm=[1,0,2]} output %y",
			"input %x: f32[2,3,4] %y: f32[2,4,3] = transpose(%x) {perm=[0,2,1]} output "
			"%y"},
		{"inverse transposes become neutral",
			"input %x: f32[2,3,4] %a: f32[4,2,3] = transpose(%x) {perm=[2,0,1]}\n"
			"%y: f32[2,3,4] = transpose(%a) {perm=[1,2,0]} output %y",
			"input %x: f32[2,3,4] %y: f32[2,3,4] = reshape(%x) output %y"},
		{"a transpose that moves axes of one",
			"input %x: f32[2,1,3] %y: f32[1,2,3] = transpose(%x) {perm=[1,0,2]} \"t\"\n"
			"output %y",
			"input %x: f32[2,1,3] %y: f32[1,2,3] = reshape(%x) \"t\" output %y"},
		{"guard: a transpose that moves more",
			"input %x: f32[2,1,3] %y: f32[3,1,2] = transpose(%x) {perm=[2,1,0]} output "
			"%y",
			NULL},
		{"guard: reshape between transposes",
			"input %x: f32[2,2] %a: f32[2,2] = transpose(%x) {perm=[1,0]}\n"
			"%b: f32[4] = reshape(%a) %c: f32[2,2] = reshape(%b)\n"
			"%y: f32[2,2] = transpose(%c) {perm=[1,0]} output %y",
			"input %x: f32[2,2] %a: f32[2,2] = transpose(%x) {perm=[1,0]}\n"
			"%c: f32[2,2] = reshape(%a)\n"
			"%y: f32[2,2] = transpose(%c) {perm=[1,0]} output %y"},
	};
	CHECK(pk_pass_merge_move, cases);
}

static void test_cse(void **state)
{
	static const struct pass_case cases[] = {
		{"equal nodes",
			X "%a" T "unary(%x) {fn=relu} %b" T "unary(%x) {fn=relu} %y" T
			  "binary(%a, %b) {fn=add} output %y",
			X "%a" T "unary(%x) {fn=relu} %y" T "binary(%a, %a) {fn=add} output %y"},
		{"an output among them keeps its name",
			X "%a" T "unary(%x) {fn=relu} %y" T "unary(%x) {fn=relu} %z" T
			  "unary(%a) {fn=exp} output %y output %z",
			X "%y" T "unary(%x) {fn=relu} %z" T
			  "unary(%y) {fn=exp} output %y output %z"},
		{"equal constants, then equal nodes",
			X "const %k: f32[1] = {2} const %l: f32[1] = {2} %a" T
			  "binary(%x, %k) {fn=mul} %b" T "binary(%x, %l) {fn=mul} %y" T
			  "binary(%a, %b) {fn=add} output %y",
			X "const %k: f32[1] = {2} %a" T "binary(%x, %k) {fn=mul} %y" T
			  "binary(%a, %a) {fn=add} output %y"},
		{"two outputs each",
			X "%a: f32[2,1], %i: i64[2,1] = top_k(%x) {axis=1,k=1}\n"
			  "%b: f32[2,1], %j: i64[2,1] = top_k(%x) {axis=1,k=1}\n"
			  "%y: f32[2,1] = binary(%a, %b) {fn=add} output %y output %j",
			X "%a: f32[2,1], %j: i64[2,1] = top_k(%x) {axis=1,k=1}\n"
			  "%y: f32[2,1] = binary(%a, %a) {fn=add} output %y output %j"},
		{"guard: both are outputs",
			X "%a" T "unary(%x) {fn=relu} %b" T
			  "unary(%x) {fn=relu} output %a output %b",
			NULL},
		{"guard: other attributes",
			X "%a" T "unary(%x) {fn=elu, alpha=1} %b" T
			  "unary(%x) {fn=elu, alpha=2} %y" T "binary(%a, %b) {fn=add} output %y",
			NULL},
		{"guard: other shape",
			X "%a: f32[6] = reshape(%x) %b: f32[1,6] = reshape(%x)\n"
			  "%y: f32[1,6] = binary(%a, %b) {fn=add} output %y",
			NULL},
		{"guard: constants of other type or shape",
			"const %k: i32[1] = {2} const %l: u32[1] = {2} const %m: i32[] = {2}\n"
			"%a: f32[1] = cast(%k) {to=f32} %b: f32[1] = cast(%l) {to=f32}\n"
			"%c: f32[] = cast(%m) {to=f32} output %a output %b output %c",
			NULL},
	};
	CHECK(pk_pass_cse, cases);
}

static void test_dce(void **state)
{
	static const struct pass_case cases[] = {
		{"a dead chain",
			X "%a" T "unary(%x) {fn=relu} %b" T "unary(%a) {fn=exp} %y" T
			  "unary(%x) {fn=abs} output %y",
			X "%y" T "unary(%x) {fn=abs} output %y"},
		{"guard: one output of two is used",
			X "%a: f32[2,1], %i: i64[2,1] = top_k(%x) {axis=1,k=1} output %i", NULL},
		{"guard: an unused input stays", X "const %k: f32[1] = {1} output %k", NULL},
	};
	CHECK(pk_pass_dce, cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remove_noop),
		cmocka_unit_test(test_merge_move),
		cmocka_unit_test(test_cse),
		cmocka_unit_test(test_dce),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
