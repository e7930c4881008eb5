// SPDX-License-Identifier: Apache-2.0
// Passes that compute with weights: fold_bn, fold_scale, fold_const, fold_pad, fuse_matmul.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/engine/passes/pass_case.h"

#define CHECK(pass, cases) pass_case_check(pass, NULL, cases, PK_ARRAY_LEN(cases))

#define BN_PARAMS                                                                                  \
	"const %s: f32[2] = {2, 3} const %o: f32[2] = {10, 20} "                                   \
	"const %m: f32[2] = {1, 2} const %v: f32[2] = {4, 1}\n"

// scale/sqrt(var) is 1 and 3; mean 1 and 2, bias 10 and 20.
static const struct pass_case bn_cases[] = {
	{"conv with bias",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n"
		"const %b: f32[2] = {1, 1}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w, %b) \"c\"\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} \"bn\"\n"
		"output %z",
		"input %x: f32[1,1,4,4] const %w.1: f32[2,1,1,1] = {5, 21}\n"
		"const %b.1: f32[2] = {10, 17}\n"
		"%z: f32[1,2,4,4] = conv(%x, %w.1, %b.1) \"c+bn\"\n"
		"output %z"},
	{"conv without bias, output inside the graph",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0}\n"
		"%r: f32[1,2,4,4] = unary(%z) {fn=relu} output %r",
		"input %x: f32[1,1,4,4] const %w.1: f32[2,1,1,1] = {5, 21}\n"
		"const %w.2: f32[2] = {9, 14}\n"
		"%y: f32[1,2,4,4] = conv(%x, %w.1, %w.2)\n"
		"%r: f32[1,2,4,4] = unary(%y) {fn=relu} output %r"},
	{"depthwise conv",
		"input %x: f32[1,2,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w) {group=2}\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} output %z",
		"input %x: f32[1,2,4,4] const %w.1: f32[2,1,1,1] = {5, 21}\n"
		"const %w.2: f32[2] = {9, 14}\n"
		"%z: f32[1,2,4,4] = conv(%x, %w.1, %w.2) {group=2} output %z"},
	{"conv_transpose folds on axis 1 of its weights",
		"input %x: f32[1,2,1,1] const %w: f32[2,2,1,1] = {1, 2, 3, 4}\n" BN_PARAMS
		"%y: f32[1,2,1,1] = conv_transpose(%x, %w)\n"
		"%z: f32[1,2,1,1] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} output %z",
		"input %x: f32[1,2,1,1] const %w.1: f32[2,2,1,1] = {1, 6, 3, 12}\n"
		"const %w.2: f32[2] = {9, 14}\n"
		"%z: f32[1,2,1,1] = conv_transpose(%x, %w.1, %w.2) output %z"},
	{"grouped conv_transpose",
		"input %x: f32[1,4,1,1] const %w: f32[4,1,1,2] = {1, 1, 2, 2, 3, 3, 4, "
		"4}\n" BN_PARAMS "%y: f32[1,2,1,2] = conv_transpose(%x, %w) {group=2}\n"
		"%z: f32[1,2,1,2] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} output %z",
		"input %x: f32[1,4,1,1] const %w.1: f32[4,1,1,2] = {1,1,2,2,9,9,12,12}\n"
		"const %w.2: f32[2] = {9, 14}\n"
		"%z: f32[1,2,1,2] = conv_transpose(%x, %w.1, %w.2) {group=2} output %z"},
	{"gemm, beta goes into the addend",
		"input %x: f32[1,2] const %w: f32[2,2] = {1, 2, 3, 4}\n"
		"const %c: f32[1,2] = {1, 1}\n" BN_PARAMS
		"%y: f32[1,2] = gemm(%x, %w, %c) {beta=2}\n"
		"%z: f32[1,2] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} output %z",
		"input %x: f32[1,2] const %w.1: f32[2,2] = {1, 6, 3, 12}\n"
		"const %c.1: f32[2] = {11, 20}\n"
		"%z: f32[1,2] = gemm(%x, %w.1, %c.1) output %z"},
	{"gemm with transposed weights",
		"input %x: f32[1,2] const %w: f32[2,2] = {1, 2, 3, 4}\n" BN_PARAMS
		"%y: f32[1,2] = gemm(%x, %w) {trans_b=1}\n"
		"%z: f32[1,2] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0} output %z",
		"input %x: f32[1,2] const %w.1: f32[2,2] = {1, 2, 9, 12}\n"
		"const %w.2: f32[2] = {9, 14}\n"
		"%z: f32[1,2] = gemm(%x, %w.1, %w.2) {trans_b=1} output %z"},
	{"weights shared with another conv stay for that one",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w)\n%q: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) {epsilon=0}\n"
		"output %z output %q",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n"
		"const %w.1: f32[2,1,1,1] = {5, 21} const %w.2: f32[2] = {9, 14}\n"
		"%z: f32[1,2,4,4] = conv(%x, %w.1, %w.2)\n"
		"%q: f32[1,2,4,4] = conv(%x, %w) output %z output %q"},
	{"guard: conv output is a graph output",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) output %z output %y",
		NULL},
	{"guard: conv output has another user",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v)\n"
		"%t: f32[1,2,4,4] = binary(%y, %z) {fn=add} output %t",
		NULL},
	{"guard: an activation is in between",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w) {act=relu}\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) output %z",
		NULL},
	{"guard: weights are computed",
		"input %x: f32[1,1,4,4] input %w: f32[2,1,1,1]\n" BN_PARAMS
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %o, %m, %v) output %z",
		NULL},
	{"guard: a parameter is computed",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7} input %i: "
		"f32[2]\n" BN_PARAMS "%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %i, %m, %v) output %z",
		NULL},
	{"guard: negative variance",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {5, 7}\n"
		"const %s: f32[2] = {1, 1} const %v: f32[2] = {1, -1}\n"
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %s, %s, %v) output %z",
		NULL},
	{"guard: the product would not be finite",
		"input %x: f32[1,1,4,4] const %w: f32[2,1,1,1] = {3e38, 7}\n"
		"const %s: f32[2] = {1000, 1} const %v: f32[2] = {1, 1}\n"
		"%y: f32[1,2,4,4] = conv(%x, %w)\n"
		"%z: f32[1,2,4,4] = batch_norm(%y, %s, %s, %s, %v) output %z",
		NULL},
	{"guard: alone it stays",
		"input %x: f32[1,2,4,4]\n" BN_PARAMS
		"%z: f32[1,2,4,4] = batch_norm(%x, %s, %o, %m, %v) output %z",
		NULL},
};

static void test_fold_bn(void **state)
{
	CHECK(pk_pass_fold_bn, bn_cases);
}

#define CONV_2                                                                                     \
	"input %x: f32[1,1,2,2] const %w: f32[2,1,1,1] = {5, 7}\n"                                 \
	"%y: f32[1,2,2,2] = conv(%x, %w) \"c\"\n"
#define CONV_2_IN "input %x: f32[1,1,2,2] const %w: f32[2,1,1,1] = {5, 7}\n"

static const struct pass_case scale_cases[] = {
	{"mul by a scalar makes no bias",
		"const %k: f32[] = {2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} \"m\" output %z",
		"input %x: f32[1,1,2,2] const %w.1: f32[2,1,1,1] = {10, 14}\n"
		"%z: f32[1,2,2,2] = conv(%x, %w.1) \"c+m\" output %z"},
	{"mul from the left by channels",
		"const %k: f32[1,2,1,1] = {2, 3}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%k, %y) {fn=mul} output %z",
		"input %x: f32[1,1,2,2] const %w.1: f32[2,1,1,1] = {10, 21}\n"
		"%z: f32[1,2,2,2] = conv(%x, %w.1) \"c\" output %z"},
	{"add keeps the weights",
		"const %k: f32[2,1,1] = {2, 3}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=add} output %z",
		CONV_2_IN "const %w.1: f32[2] = {2, 3}\n"
			  "%z: f32[1,2,2,2] = conv(%x, %w, %w.1) \"c\" output %z"},
	{"sub from a constant",
		"const %k: f32[1] = {2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%k, %y) {fn=sub} output %z",
		"input %x: f32[1,1,2,2] const %w.1: f32[2,1,1,1] = {-5, -7}\n"
		"const %w.2: f32[2] = {2, 2}\n"
		"%z: f32[1,2,2,2] = conv(%x, %w.1, %w.2) \"c\" output %z"},
	{"sub, then div, one after the other",
		"const %k: f32[1] = {2} const %d: f32[1] = {4}\n" CONV_2
		"%t: f32[1,2,2,2] = binary(%y, %k) {fn=sub}\n"
		"%z: f32[1,2,2,2] = binary(%t, %d) {fn=div} output %z",
		"input %x: f32[1,1,2,2] const %w.2: f32[2,1,1,1] = {1.25, 1.75}\n"
		"const %w.1.1: f32[2] = {-0.5, -0.5}\n"
		"%z: f32[1,2,2,2] = conv(%x, %w.2, %w.1.1) \"c\" output %z"},
	{"guard: div by the conv",
		"const %k: f32[1] = {2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%k, %y) {fn=div} output %z",
		NULL},
	{"guard: div by zero",
		"const %k: f32[1] = {0}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=div} output %z",
		NULL},
	{"guard: along another axis",
		"const %k: f32[2] = {1, 2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: per element",
		"const %k: f32[2,1,2] = {1, 2, 3, 4}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: constant enlarges the batch",
		"const %k: f32[2,1,1,1] = {1, 2}\n" CONV_2
		"%z: f32[2,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: constant enlarges the rank",
		"const %k: f32[1,1,1,1,1] = {2}\n" CONV_2
		"%z: f32[1,1,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: not a constant",
		"input %k: f32[1,2,1,1]\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: other functions",
		"const %k: f32[1] = {2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=pow} output %z",
		NULL},
	{"guard: conv output is a graph output",
		"const %k: f32[1] = {2}\n" CONV_2
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} output %y output %z",
		NULL},
	{"guard: two users",
		"const %k: f32[1] = {2}\n" CONV_2 "%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul}\n"
		"%t: f32[1,2,2,2] = binary(%y, %z) {fn=add} output %t",
		NULL},
	{"guard: residual already inside",
		"const %k: f32[1] = {2} input %r: f32[1,2,2,2]\n" CONV_2_IN
		"%y: f32[1,2,2,2] = conv(%x, %w, _, %r) {residual=before_act}\n"
		"%z: f32[1,2,2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
	{"guard: gemm addend differs by row",
		"input %x: f32[2,1] const %w: f32[1,2] = {1, 2} const %c: f32[2,1] = {1, "
		"2}\n"
		"const %k: f32[1] = {2} %y: f32[2,2] = gemm(%x, %w, %c)\n"
		"%z: f32[2,2] = binary(%y, %k) {fn=mul} output %z",
		NULL},
};

static void test_fold_scale(void **state)
{
	CHECK(pk_pass_fold_scale, scale_cases);
}

#define PADDED(pads)                                                                               \
	"input %x: f32[1,1,4,4] const %w: f32[1,1,3,3] = {1,1,1,1,1,1,1,1,1}\n"                    \
	"%p: f32[1,1,6,6] = pad(%x) {pads=" pads "} \"p\"\n"

static const struct pass_case pad_cases[] = {
	{"conv",
		PADDED("[0,0,1,2,0,0,1,0]") "%y: f32[1,1,4,4] = conv(%p, %w) \"c\" output "
					    "%y",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,3,3] = {1,1,1,1,1,1,1,1,1}\n"
		"%y: f32[1,1,4,4] = conv(%x, %w) {pads=[1,2,1,0]} \"p+c\" output %y"},
	{"conv with pads of its own",
		PADDED("[0,0,1,1,0,0,1,1]") "%y: f32[1,1,6,6] = conv(%p, %w) "
					    "{pads=[1,1,1,1]} output %y",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,3,3] = {1,1,1,1,1,1,1,1,1}\n"
		"%y: f32[1,1,6,6] = conv(%x, %w) {pads=[2,2,2,2]} \"p\" output %y"},
	{"avg pool counts what pad put there",
		"input %x: f32[1,1,4,4] %p: f32[1,1,6,6] = pad(%x) "
		"{pads=[0,0,1,1,0,0,1,1]}\n"
		"%y: f32[1,1,4,4] = pool(%p) {fn=avg_pool,kernel=[3,3]} output %y",
		"input %x: f32[1,1,4,4]\n%y: f32[1,1,4,4] = pool(%x) "
		"{fn=avg_pool,kernel=[3,3],pads=[1,1,1,1],count_pad=1} output %y"},
	{"max pool behind -inf",
		"input %x: f32[1,1,4,4]\n"
		"%p: f32[1,1,6,6] = pad(%x) {pads=[0,0,1,1,0,0,1,1],value=-inf}\n"
		"%y: f32[1,1,4,4] = pool(%p) {fn=max_pool,kernel=[3,3]} output %y",
		"input %x: f32[1,1,4,4]\n%y: f32[1,1,4,4] = pool(%x) "
		"{fn=max_pool,kernel=[3,3],pads=[1,1,1,1]} output %y"},
	{"guard: max pool behind zeros",
		PADDED("[0,0,1,1,0,0,1,1]") "%y: f32[1,1,4,4] = pool(%p) "
					    "{fn=max_pool,kernel=[3,3]} output %y",
		NULL},
	{"guard: avg pool that does not count its own pads",
		PADDED("[0,0,1,1,0,0,1,1]") "%y: f32[1,1,6,6] = pool(%p) "
					    "{fn=avg_pool,kernel=[3,3],pads=[1,1,1,1]}\n"
					    "output %y",
		NULL},
	{"guard: a window would be all padding",
		"input %x: f32[1,1,4,4]\n"
		"%p: f32[1,1,8,4] = pad(%x) {pads=[0,0,2,0,0,0,2,0],value=-inf}\n"
		"%y: f32[1,1,7,4] = pool(%p) {fn=max_pool,kernel=[2,1]} output %y",
		NULL},
	{"guard: value is not zero",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,1,1] = {1}\n"
		"%p: f32[1,1,5,4] = pad(%x) {pads=[0,0,1,0,0,0,0,0],value=1}\n"
		"%y: f32[1,1,5,4] = conv(%p, %w) output %y",
		NULL},
	{"guard: reflect",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,1,1] = {1}\n"
		"%p: f32[1,1,5,4] = pad(%x) {pads=[0,0,1,0,0,0,0,0],mode=reflect}\n"
		"%y: f32[1,1,5,4] = conv(%p, %w) output %y",
		NULL},
	{"guard: channels are padded",
		"input %x: f32[1,1,4,4] const %w: f32[1,2,1,1] = {1,1}\n"
		"%p: f32[1,2,4,4] = pad(%x) {pads=[0,1,0,0,0,0,0,0]}\n"
		"%y: f32[1,1,4,4] = conv(%p, %w) output %y",
		NULL},
	{"guard: cropping",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,1,1] = {1}\n"
		"%p: f32[1,1,3,4] = pad(%x) {pads=[0,0,-1,0,0,0,0,0]}\n"
		"%y: f32[1,1,3,4] = conv(%p, %w) output %y",
		NULL},
	{"guard: two users",
		PADDED("[0,0,1,1,0,0,1,1]") "%y: f32[1,1,4,4] = conv(%p, %w) output %y "
					    "output %p",
		NULL},
	{"guard: conv_transpose",
		"input %x: f32[1,1,4,4] const %w: f32[1,1,1,1] = {1}\n"
		"%p: f32[1,1,5,4] = pad(%x) {pads=[0,0,1,0,0,0,0,0]}\n"
		"%y: f32[1,1,5,4] = conv_transpose(%p, %w) output %y",
		NULL},
};

static void test_fold_pad(void **state)
{
	CHECK(pk_pass_fold_pad, pad_cases);
}

static void test_fuse_matmul(void **state)
{
	static const struct pass_case cases[] = {
		{"bias",
			"input %x: f32[2,3] const %w: f32[3,1] = {1,2,3} const %b: f32[1] = {4}\n"
			"%y: f32[2,1] = matmul(%x, %w) \"m\"\n"
			"%z: f32[2,1] = binary(%b, %y) {fn=add} \"a\" output %z",
			"input %x: f32[2,3] const %w: f32[3,1] = {1,2,3} const %b: f32[1] = {4}\n"
			"%z: f32[2,1] = gemm(%x, %w, %b) \"m+a\" output %z"},
		{"addend that is made after the product",
			"input %x: f32[2,2] %y: f32[2,2] = matmul(%x, %x)\n"
			"%r: f32[2,2] = unary(%x) {fn=relu}\n"
			"%z: f32[2,2] = binary(%y, %r) {fn=add} output %z",
			"input %x: f32[2,2] %r: f32[2,2] = unary(%x) {fn=relu}\n"
			"%z: f32[2,2] = gemm(%x, %x, %r) output %z"},
		{"guard: added to itself",
			"input %x: f32[2,2] %y: f32[2,2] = matmul(%x, %x)\n"
			"%z: f32[2,2] = binary(%y, %y) {fn=add} output %z",
			NULL},
		{"guard: product is an output",
			"input %x: f32[2,2] %y: f32[2,2] = matmul(%x, %x)\n"
			"%z: f32[2,2] = binary(%y, %x) {fn=add} output %z output %y",
			NULL},
		{"guard: addend enlarges",
			"input %x: f32[2,2] input %b: f32[3,2,2] %y: f32[2,2] = matmul(%x, %x)\n"
			"%z: f32[3,2,2] = binary(%y, %b) {fn=add} output %z",
			NULL},
		{"guard: stacks of matrices",
			"input %x: f32[1,2,2] input %b: f32[2] %y: f32[1,2,2] = matmul(%x, %x)\n"
			"%z: f32[1,2,2] = binary(%y, %b) {fn=add} output %z",
			NULL},
		{"guard: integers",
			"input %x: i32[2,2] input %b: i32[2] %y: i32[2,2] = matmul(%x, %x)\n"
			"%z: i32[2,2] = binary(%y, %b) {fn=add} output %z",
			NULL},
	};
	CHECK(pk_pass_fuse_matmul, cases);
}

// Knows identity of f32 and refuses concat: enough to see what the pass does around it.
static int eval_identity(const struct pk_node *node, void *const *outputs, struct pk_err *err)
{
	if (node->op == PK_OP_CONCAT)
		return pk_fail(err, -ENOTSUP, "no kernel");
	if (node->op == PK_OP_TRANSPOSE)
		return pk_fail(err, -EIO, "broken kernel");
	assert_int_equal((uintptr_t)outputs[0] % 64, 0);
	size_t n = pk_tensor_bytes(node->outputs[0]->dtype, &node->outputs[0]->shape);
	memcpy(outputs[0], node->inputs[0]->data, n);
	return 0;
}
static const struct pk_evaluator identity = {eval_identity};

static void test_fold_const(void **state)
{
	static const struct pass_case cases[] = {
		{"a chain, with a use left",
			"input %x: f32[2] const %c: f32[2] = {1, 2} %a: f32[2] = identity(%c)\n"
			"%b: f32[2] = identity(%a) %y: f32[2] = binary(%x, %b) {fn=add} output %y",
			"input %x: f32[2] const %b.1: f32[2] = {1, 2}\n"
			"%y: f32[2] = binary(%x, %b.1) {fn=add} output %y"},
		{"a graph output keeps its name",
			"const %c: f32[2] = {1, 2} %a: f32[2] = identity(%c) output %a",
			"const %a: f32[2] = {1, 2} output %a"},
		{"guard: an operand is no constant",
			"input %x: f32[2] %y: f32[2] = identity(%x) output %y", NULL},
		{"guard: the evaluator cannot",
			"const %c: f32[2] = {1, 2} %y: f32[4] = concat(%c, %c) output %y", NULL},
		{"guard: too large",
			"const %c: f32[1] = {1} %y: f32[1000000] = expand(%c) output %y", NULL},
	};
	static const struct pass_case without[] = {
		{"guard: no evaluator",
			"const %c: f32[2] = {1, 2} %a: f32[2] = identity(%c) output %a", NULL},
	};
	pass_case_check(pk_pass_fold_const, &identity, cases, PK_ARRAY_LEN(cases));
	CHECK(pk_pass_fold_const, without);
}

static void test_fold_const_failure(void **state)
{
	pk_auto(pk_graph) graph = pass_case_parse(
		"const %c: f32[2] = {1, 2} %a: f32[2] = transpose(%c) \"t\" output %a");
	struct pk_err err = {0};
	struct pk_pass_ctx ctx = {&identity, 1 << 20, &err};
	assert_int_equal(pk_pass_fold_const(graph, &ctx), -EIO);
	assert_string_equal(err.text, "broken kernel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold_bn),
		cmocka_unit_test(test_fold_scale),
		cmocka_unit_test(test_fold_pad),
		cmocka_unit_test(test_fuse_matmul),
		cmocka_unit_test(test_fold_const),
		cmocka_unit_test(test_fold_const_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
