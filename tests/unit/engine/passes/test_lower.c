// SPDX-License-Identifier: Apache-2.0
// Passes that put something cheaper in place: fold_focus, lower_bn, lower_pool, sink_transpose, and
// slices of slices.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/engine/passes/pass_case.h"

#define CHECK(pass, cases) pass_case_check(pass, NULL, cases, PK_ARRAY_LEN(cases))

#define X4 "input %x: f32[1,1,4,4]\n"
#define PART(name, at)                                                                             \
	"%" name ": f32[1,1,2,2] = slice(%x) {starts=[0,0," at "], steps=[1,1,2,2]}\n"
#define BLOCKS(a, b, c, d) "%k: f32[1,4,2,2] = concat(%" a ", %" b ", %" c ", %" d ") {axis=1}\n"
#define PARTS              PART("a", "0,0") PART("b", "0,1") PART("c", "1,0") PART("d", "1,1")
#define W1                 "const %w: f32[1,4,1,1] = {1, 2, 3, 4}\n"
#define CONV1              "%y: f32[1,1,2,2] = conv(%k, %w) output %y"
#define FOCUS(weights)                                                                             \
	X4 "const %w.1: f32[1,1,2,2] = {" weights "}\n"                                            \
	   "%y: f32[1,1,2,2] = conv(%x, %w.1) {strides=[2,2]} output %y"

static void test_fold_focus(void **state)
{
	static const struct pass_case cases[] = {
		{"rows first", X4 W1 PARTS BLOCKS("a", "b", "c", "d") CONV1, FOCUS("1, 2, 3, 4")},
		{"columns first: the order is read from the starts",
			X4 W1 PARTS BLOCKS("a", "c", "b", "d") CONV1, FOCUS("1, 3, 2, 4")},
		{"backwards", X4 W1 PARTS BLOCKS("d", "c", "b", "a") CONV1, FOCUS("4, 3, 2, 1")},
		{"kernel, stride, pads and bias",
			X4 "const %w: f32[1,4,1,2] = {1, 2, 3, 4, 5, 6, 7, 8}\n"
			   "const %bias: f32[1] = {9}\n" PARTS BLOCKS(
				   "a", "b", "c", "d") "%y: f32[1,1,2,2] = conv(%k, %w, %bias) "
						       "{strides=[1,2],pads=[0,1,0,1]} "
						       "output %y",
			X4
			"const %bias: f32[1] = {9}\n"
			"const %w.1: f32[1,1,2,4] = {1, 3, 2, 4, 5, 7, 6, 8}\n"
			"%y: f32[1,1,2,2] = conv(%x, %w.1, %bias) {strides=[2,4],pads=[0,2,0,2]} "
			"output %y"},
		{"two channels",
			"input %x: f32[1,2,2,2] const %w: f32[1,8,1,1] = {1,2,3,4,5,6,7,8}\n"
			"%k: f32[1,8,1,1] = space_to_depth(%x) {block=2}\n"
			"%y: f32[1,1,1,1] = conv(%k, %w) output %y",
			"input %x: f32[1,2,2,2] const %w.1: f32[1,2,2,2] = {1,3,5,7,2,4,6,8}\n"
			"%y: f32[1,1,1,1] = conv(%x, %w.1) {strides=[2,2]} output %y"},
		{"guard: one part twice", X4 W1 PARTS BLOCKS("a", "b", "c", "c") CONV1 " output %d",
			NULL},
		{"guard: blocks used elsewhere",
			X4 W1 PARTS BLOCKS("a", "b", "c", "d") CONV1 " output %k", NULL},
		{"guard: grouped",
			X4 "const %w: f32[2,2,1,1] = {1, 2, 3, 4}\n" PARTS BLOCKS("a", "b", "c",
				"d") "%y: f32[1,2,2,2] = conv(%k, %w) {group=2} output %y",
			NULL},
		{"guard: halves, not every second",
			X4 W1 "%a: f32[1,1,2,2] = slice(%x) {starts=[0,0,0,0]}\n" PART("b", "0,1")
				PART("c", "1,0") PART("d", "1,1") BLOCKS("a", "b", "c", "d") CONV1,
			NULL},
		{"guard: of two pictures",
			X4 W1
			"input %z: f32[1,1,4,4]\n"
			"%a: f32[1,1,2,2] = slice(%z) {starts=[0,0,0,0], steps=[1,1,2,2]}\n" PART(
				"b", "0,1") PART("c", "1,0") PART("d", "1,1")
				BLOCKS("a", "b", "c", "d") CONV1,
			NULL},
		{"guard: weights are not constant",
			X4 "input %w: f32[1,4,1,1]\n" PARTS BLOCKS("a", "b", "c", "d") CONV1, NULL},
		{"guard: dilated",
			X4 "const %w: f32[1,4,2,1] = {1,2,3,4,5,6,7,8}\n" PARTS BLOCKS(
				"a", "b", "c", "d") "%y: f32[1,1,2,2] = conv(%k, %w) "
						    "{dilations=[2,1],pads=[1,0,1,0]} "
						    "output %y",
			NULL},
	};
	CHECK(pk_pass_fold_focus, cases);
}

static void test_lower_bn(void **state)
{
#define BN(v)                                                                                      \
	"const %s: f32[2] = {2, 4} const %b: f32[2] = {1, 1} const %m: f32[2] = {3, 0}\n"          \
	"const %v: f32[2] = {" v "}\n"
#define RUN_BN "batch_norm(%x, %s, %b, %m, %v) {epsilon=0} \"bn\""
	static const struct pass_case cases[] = {
		{"alone",
			"input %x: f32[1,2,1,3]\n" BN("1, 4") "%y: f32[1,2,1,3] = " RUN_BN
							      " output %y",
			"input %x: f32[1,2,1,3] const %s.1: f32[2,1,1,1] = {2, 2}\n"
			"const %b.1: f32[2] = {-5, 1}\n"
			"%y: f32[1,2,1,3] = conv(%x, %s.1, %b.1) {group=2} \"bn\" output %y"},
		{"guard: negative variance",
			"input %x: f32[1,2,1,3]\n" BN("1, -4") "%y: f32[1,2,1,3] = " RUN_BN
							       " output %y",
			NULL},
		{"guard: no plane",
			"input %x: f32[1,2]\n" BN("1, 4") "%y: f32[1,2] = " RUN_BN " output %y",
			NULL},
	};
	CHECK(pk_pass_lower_bn, cases);
}

static void test_lower_pool(void **state)
{
#define POOL(attrs, shape) X4 "%y: f32[1,1," shape "] = pool(%x) {" attrs "} output %y"
	static const struct pass_case cases[] = {
		{"average", POOL("fn=avg_pool, kernel=[4,4]", "1,1"),
			X4 "%y: f32[1,1,1,1] = reduce(%x) {fn=reduce_mean, axes=[2,3]} "
			   "output %y"},
		{"largest", POOL("fn=max_pool, kernel=[4,4], strides=[2,2]", "1,1"),
			X4 "%y: f32[1,1,1,1] = reduce(%x) {fn=reduce_max, axes=[2,3]} "
			   "output %y"},
		{"guard: part of the plane", POOL("fn=avg_pool, kernel=[4,3]", "1,2"), NULL},
		{"guard: padding counts",
			POOL("fn=avg_pool, kernel=[4,4], pads=[1,0,0,0], strides=[2,1], "
			     "count_pad=1",
				"1,1"),
			NULL},
	};
	CHECK(pk_pass_lower_pool, cases);
}

#define N        "input %x: f32[1,2,3,4]\n" // to [1,3,4,2] and back
#define TO(y, x) "%" y ": f32[1,3,4,2] = transpose(%" x ") {perm=[0,2,3,1]} \"" y "\"\n"

static void test_sink_transpose(void **state)
{
	static const struct pass_case cases[] = {
		{"unary", N TO("t", "x") "%y: f32[1,3,4,2] = unary(%t) {fn=tanh} \"u\" output %y",
			N "%y.1: f32[1,2,3,4] = unary(%x) {fn=tanh} \"u\"\n"
			  "%y: f32[1,3,4,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"binary of two",
			N "input %z: f32[1,2,3,4]\n" TO("t", "x")
				TO("u", "z") "%y: f32[1,3,4,2] = binary(%t, %u) {fn=sub} output %y",
			N "input %z: f32[1,2,3,4]\n"
			  "%y.1: f32[1,2,3,4] = binary(%x, %z) {fn=sub}\n"
			  "%y: f32[1,3,4,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"constant of the channels",
			N "const %k: f32[2] = {5, 6}\n" TO(
				"t", "x") "%y: f32[1,3,4,2] = binary(%k, %t) {fn=sub} output %y",
			N "const %k.1: f32[1,2,1,1] = {5, 6}\n"
			  "%y.1: f32[1,2,3,4] = binary(%k.1, %x) {fn=sub}\n"
			  "%y: f32[1,3,4,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"constant scalar",
			N "const %k: f32[] = {5}\n" TO(
				"t", "x") "%y: f32[1,3,4,2] = binary(%t, %k) {fn=mul} output %y",
			N "const %k: f32[] = {5}\n%y.1: f32[1,2,3,4] = binary(%x, %k) {fn=mul}\n"
			  "%y: f32[1,3,4,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"softmax",
			N TO("t", "x") "%y: f32[1,3,4,2] = softmax(%t) {fn=softmax, axis=3} "
				       "output %y",
			N "%y.1: f32[1,2,3,4] = softmax(%x) {fn=softmax, axis=1}\n"
			  "%y: f32[1,3,4,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"concat",
			N "input %z: f32[1,5,3,4]\n" TO(
				"t", "x") "%u: f32[1,3,4,5] = transpose(%z) {perm=[0,2,3,1]}\n"
					  "%y: f32[1,3,4,7] = concat(%t, %u) {axis=3} output %y",
			N "input %z: f32[1,5,3,4]\n"
			  "%y.1: f32[1,7,3,4] = concat(%x, %z) {axis=1}\n"
			  "%y: f32[1,3,4,7] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"mean over the plane",
			N TO("t", "x") "%y: f32[1,2] = reduce(%t) {fn=reduce_mean, axes=[1,2], "
				       "keepdims=0} "
				       "output %y",
			N "%y: f32[1,2] = reduce(%x) {fn=reduce_mean, axes=[2,3], keepdims=0} "
			  "output %y"},
		{"mean with its axes kept",
			N TO("t", "x") "%y: f32[1,1,1,2] = reduce(%t) {fn=reduce_mean, axes=[1,2], "
				       "keepdims=1} output %y",
			N "%y.1: f32[1,2,1,1] = reduce(%x) {fn=reduce_mean, axes=[2,3]}\n"
			  "%y: f32[1,1,1,2] = transpose(%y.1) {perm=[0,2,3,1]} \"t\" output %y"},
		{"guard: the axes left would change places",
			N TO("t", "x") "%y: f32[1,4,2] = reduce(%t) {fn=reduce_mean, axes=[1], "
				       "keepdims=0} "
				       "output %y",
			NULL},
		{"guard: used elsewhere",
			N TO("t", "x") "%y: f32[1,3,4,2] = unary(%t) {fn=tanh} output %y output %t",
			NULL},
		{"guard: other permutations",
			"input %x: f32[2,2] input %z: f32[2,2]\n"
			"%t: f32[2,2] = transpose(%x) {perm=[1,0]}\n"
			"%y: f32[2,2] = binary(%t, %z) {fn=add} output %y",
			NULL},
		{"guard: constant of two axes",
			"input %x: f32[2,2] const %k: f32[2,2] = {1, 2, 3, 4}\n"
			"%t: f32[2,2] = transpose(%x) {perm=[1,0]}\n"
			"%y: f32[2,2] = binary(%t, %k) {fn=add} output %y",
			NULL},
		{"guard: grows by broadcast",
			"input %x: f32[2,1] const %k: f32[3,1] = {1, 2, 3}\n"
			"%t: f32[1,2] = transpose(%x) {perm=[1,0]}\n"
			"%y: f32[3,2] = binary(%t, %k) {fn=add} output %y",
			NULL},
		{"guard: channel shuffle stays",
			"input %x: f32[1,4,2] %r: f32[1,2,2,2] = reshape(%x)\n"
			"%t: f32[1,2,2,2] = transpose(%r) {perm=[0,2,1,3]}\n"
			"%y: f32[1,4,2] = reshape(%t) output %y",
			NULL},
	};
	CHECK(pk_pass_sink_transpose, cases);
}

static void test_slice_of_slice(void **state)
{
#define L "input %x: f32[20,3]\n"
	static const struct pass_case cases[] = {
		{"steps and starts",
			L "%a: f32[9,3] = slice(%x) {starts=[1,0], steps=[2,1]}\n"
			  "%y: f32[3,2] = slice(%a) {starts=[2,1], steps=[3,1]} output %y",
			L "%y: f32[3,2] = slice(%x) {starts=[5,1], steps=[6,1]} output %y"},
		{"backwards twice",
			L "%a: f32[10,3] = slice(%x) {starts=[19,0], steps=[-2,1]}\n"
			  "%y: f32[4,3] = slice(%a) {starts=[9,0], steps=[-1,1]} output %y",
			L "%y: f32[4,3] = slice(%x) {starts=[1,0], steps=[2,1]} output %y"},
		{"one row",
			L "%a: f32[10,3] = slice(%x) {starts=[0,0], steps=[2,1]}\n"
			  "%y: f32[1,3] = slice(%a) {starts=[4,0]} output %y",
			L "%y: f32[1,3] = slice(%x) {starts=[8,0]} output %y"},
		{"a leaping slice used elsewhere",
			L "%a: f32[10,3] = slice(%x) {starts=[0,0], steps=[2,1]}\n"
			  "%y: f32[4,3] = slice(%a) {starts=[4,0]} output %y output %a",
			L "%a: f32[10,3] = slice(%x) {starts=[0,0], steps=[2,1]}\n"
			  "%y: f32[4,3] = slice(%x) {starts=[8,0], steps=[2,1]} output %y output "
			  "%a"},
		{"guard: a dense slice used elsewhere",
			L "%a: f32[10,3] = slice(%x) {starts=[2,0]}\n"
			  "%y: f32[4,3] = slice(%a) {starts=[4,0]} output %y output %a",
			NULL},
	};
	CHECK(pk_pass_merge_move, cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold_focus),
		cmocka_unit_test(test_lower_bn),
		cmocka_unit_test(test_lower_pool),
		cmocka_unit_test(test_sink_transpose),
		cmocka_unit_test(test_slice_of_slice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
