// SPDX-License-Identifier: Apache-2.0
// Inference, operator by operator: what is accepted with which type, what is refused and why.
#include "engine/ir/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/text.h"

// One node over inputs %a, %b, …; want: NULL when the declared types are right, else part of the
// error.
struct infer_row {
	const char *inputs[5];
	const char *node;
	const char *want;
};

static void check_row(const struct infer_row *row)
{
	char text[2048];
	size_t len = (size_t)snprintf(text, sizeof(text), "graph {\n");
	for (int i = 0; i < 5 && row->inputs[i]; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "input %%%c: %s\n", 'a' + i,
			row->inputs[i]);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n}\n", row->node);
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	int r = pk_text_parse(text, len, NULL, 0, &graph, &err);
	pk_graph_destroy(graph);
	if (!row->want && r < 0)
		fail_msg("%s: %s", row->node, err.text);
	if (row->want && r == 0)
		fail_msg("%s: accepted", row->node);
	if (row->want && !strstr(err.text, row->want))
		fail_msg("%s: `%s` is not in `%s`", row->node, row->want, err.text);
}

static void check_rows(const struct infer_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i]);
}
#define CHECK(rows) check_rows(rows, PK_ARRAY_LEN(rows))

static void test_conv(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[2,3,224,224]", "f32[64,3,7,7]", "f32[64]"},
			"%y: f32[2,64,112,112] = conv(%a,%b,%c) {strides=[2,2],pads=[3,3,3,3]}",
			NULL},
		{{"f32[1,4,9]", "f32[6,2,3]"},
			"%y: f32[1,6,5] = conv(%a,%b) {group=2,dilations=[2]}", NULL},
		{{"f16[1,1,4,5,6]", "f16[1,1,2,2,2]"}, "%y: f16[1,1,3,4,5] = conv(%a,%b)", NULL},
		{{"f32[1,8,5,5]", "f32[8,1,3,3]"},
			"%y: f32[1,8,6,4] = conv(%a,%b) {group=8,pads=[2,0,1,1]}", NULL},
		{{"f32[0,8,5,5]", "f32[8,8,1,1]"}, "%y: f32[0,8,5,5] = conv(%a,%b)", NULL},
		{{"f32[1,2,5,5]", "f32[2,2,3,3]", "f32[2]", "f32[1,2,3,3]"},
			"%y: f32[1,2,3,3] = conv(%a,%b,%c,%d) {residual=after_act,act=silu}", NULL},
		{{"f32[1,2,5,5]", "f32[2,2,3,3]", "f32[2]", "f32[1,2,3,3]"},
			"%y: f32[1,2,3,3] = conv(%a,%b,%c,%d)", "residual attribute"},
		{{"f32[1,2,5,5]", "f32[2,2,3,3]"},
			"%y: f32[1,2,3,3] = conv(%a,%b) {residual=before_act}",
			"residual attribute"},
		{{"f32[1,2,5,5]", "f32[2,2,3,3]", "f32[2]", "f32[1,2,1,1]"},
			"%y: f32[1,2,3,3] = conv(%a,%b,%c,%d) {residual=before_act}",
			"exactly the output's shape"},
		{{"f32[1,3,5,5]", "f32[2,2,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b)",
			"3 input channels in 1 groups"},
		{{"f32[1,4,5,5]", "f32[3,2,3,3]"}, "%y: f32[1,3,3,3] = conv(%a,%b) {group=2}",
			"3 output channels in 2 groups"},
		{{"f32[1,3,5,5]", "f32[2,3,3,3]", "f32[3]"}, "%y: f32[1,2,3,3] = conv(%a,%b,%c)",
			"bias is [3], [2] needed"},
		{{"f32[1,3,2,5]", "f32[2,3,3,3]"}, "%y: f32[1,2,1,3] = conv(%a,%b)",
			"window of 3 is larger than the padded input of 2"},
		{{"f32[1,3,0,5]", "f32[2,3,1,1]"}, "%y: f32[1,2,0,5] = conv(%a,%b)", "empty"},
		{{"f32[1,3,5,5]", "f32[2,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b)", "have rank 3"},
		{{"f32[1,3]", "f32[2,3]"}, "%y: f32[1,2] = conv(%a,%b)", "rank 2, not 3..5"},
		{{"f32[1,3,5,5]", "f16[2,3,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b)",
			"operand 1 is f16"},
		{{"i32[1,3,5,5]", "i32[2,3,3,3]"}, "%y: i32[1,2,3,3] = conv(%a,%b)",
			"operand 0 cannot be i32"},
		{{"f32[1,3,5,5]", "f32[2,3,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b) {strides=[0,1]}",
			"strides: 0 is not in 1.."},
		{{"f32[1,3,5,5]", "f32[2,3,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b) {strides=[1]}",
			"strides: 1 items, 2 needed"},
		{{"f32[1,3,5,5]", "f32[2,3,3,3]"},
			"%y: f32[1,2,3,3] = conv(%a,%b) {pads=[-1,0,0,0]}",
			"pads: -1 is not in 0.."},
		{{"f32[1,3,5,5]", "f32[2,3,3,3]"}, "%y: f32[1,2,3,3] = conv(%a,%b) {act=add}",
			"`add` is no activation"},
		{{"f32[1,1,5,5]", "f32[1,1,1,1]"},
			"%y: f32[1] = conv(%a,%b) {pads=[2147483647,0,0,0]}", "too large"},
		{{"f32[1,1,5,5]", "f32[1,1,65536,1]"},
			"%y: f32[1] = conv(%a,%b) {dilations=[2147483647,1]}",
			"larger than the padded"},
	};
	CHECK(rows);
}

static void test_conv_transpose(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[1,4,8,8]", "f32[4,2,2,2]", "f32[2]"},
			"%y: f32[1,2,16,16] = conv_transpose(%a,%b,%c) {strides=[2,2]}", NULL},
		{{"f32[1,4,3]", "f32[4,3,3]"},
			"%y: f32[1,6,6] = conv_transpose(%a,%b) "
			"{group=2,strides=[2],pads=[1,1],output_padding=[1]}",
			NULL},
		{{"f32[1,4,3]", "f32[4,3,3]"},
			"%y: f32[1,3,9] = conv_transpose(%a,%b) {strides=[2],dilations=[2]}", NULL},
		{{"f32[1,4,3]", "f32[3,3,3]"}, "%y: f32[1,3,5] = conv_transpose(%a,%b)",
			"4 input channels in 1 groups, weights take 3"},
		{{"f32[1,4,3]", "f32[4,3,3]", "f32[4]"},
			"%y: f32[1,3,5] = conv_transpose(%a,%b,%c)", "bias is [4], [3] needed"},
		{{"f32[1,4,3]", "f32[4,3,3]"},
			"%y: f32[1,3,0] = conv_transpose(%a,%b) {pads=[3,3]}",
			"pads leave nothing"},
		{{"f32[1,4,3]", "f32[4,3,3]"},
			"%y: f32[1] = conv_transpose(%a,%b) {strides=[2147483647]}", "too large"},
	};
	CHECK(rows);
}

static void test_pool(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[1,3,8,8]"},
			"%y: f32[1,3,4,4] = pool(%a) {fn=max_pool,kernel=[2,2],strides=[2,2]}",
			NULL},
		// ceil mode: one window more than the floor formula gives
		{{"f32[1,3,7,7]"},
			"%y: f32[1,3,4,3] = pool(%a) {fn=avg_pool,kernel=[2,2],strides=[2,2]}",
			NULL},
		{{"f32[1,3,7,7]"},
			"%y: f32[1,3,5,3] = pool(%a) {fn=avg_pool,kernel=[2,2],strides=[2,2]}",
			"5 windows wanted on spatial axis 0, 3 fit"},
		{{"f32[1,3,8,8]"},
			"%y: f32[1,3,5,4] = pool(%a) {fn=max_pool,kernel=[2,2],strides=[2,2]}",
			"all padding"},
		{{"f32[1,3,8,8]"},
			"%y: f32[1,3,9,8] = pool(%a) {fn=max_pool,kernel=[2,1],pads=[2,0,0,0]}",
			"all padding"},
		{{"f32[1,3,8,8]"}, "%y: f32[1,4,8,8] = pool(%a) {fn=max_pool}",
			"changes batch or channels"},
		{{"f32[1,3,8,8]"}, "%y: f32[1,3,8,8] = pool(%a)", "`none` is no pooling"},
		{{"u8[1,3,8,8]"}, "%y: u8[1,3,8,8] = pool(%a) {fn=max_pool}", NULL},
		{{"u8[1,3,8,8]"}, "%y: u8[1,3,8,8] = pool(%a) {fn=avg_pool}", "cannot be u8"},
		{{"f32[1,3]"}, "%y: f32[1,3] = pool(%a) {fn=avg_pool}", "rank 2"},
	};
	CHECK(rows);
}

static void test_norm(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[1,3,8,8]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
			"%y: f32[1,3,8,8] = batch_norm(%a,%b,%c,%d,%e)", NULL},
		{{"f32[1,3,8,8]", "f32[3]", "f32[3]", "f32[2]", "f32[3]"},
			"%y: f32[1,3,8,8] = batch_norm(%a,%b,%c,%d,%e)", "mean is [2], [3] needed"},
		{{"f32[1,3,8,8]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
			"%y: f32[1,3,8,8] = batch_norm(%a,%b,%c,%d,_)", "operand 4 is missing"},
		{{"f32[1,3,8,8]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
			"%y: f32[1,3,8,8] = batch_norm(%a,%b,%c,%d,%e) {epsilon=-1}",
			"epsilon: -1"},
		{{"f32[1,3,8]", "f32[3]", "f32[3]"}, "%y: f32[1,3,8] = instance_norm(%a,%b,%c)",
			NULL},
		{{"f32[1,3]", "f32[3]", "f32[3]"}, "%y: f32[1,3] = instance_norm(%a,%b,%c)",
			"rank 2, not 3"},
		{{"f32[2,4,8]", "f32[8]"}, "%y: f32[2,4,8] = layer_norm(%a,%b) {axis=2}", NULL},
		{{"f32[2,4,8]", "f32[4,8]", "f32[8]"},
			"%y: f32[2,4,8] = layer_norm(%a,%b,%c) {axis=1}", NULL},
		{{"f32[2,4,8]", "f32[4]"}, "%y: f32[2,4,8] = layer_norm(%a,%b) {axis=2}",
			"scale [4] does not broadcast to [8]"},
		{{"f32[2,4,8]", "f32[8]"}, "%y: f32[2,4,8] = layer_norm(%a,%b) {axis=3}",
			"axis 3 of rank 3"},
	};
	CHECK(rows);
}

static void test_matrix(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[2,3]", "f32[3,4]", "f32[4]"}, "%y: f32[2,4] = gemm(%a,%b,%c)", NULL},
		{{"f32[3,2]", "f32[4,3]", "f32[2,1]"},
			"%y: f32[2,4] = gemm(%a,%b,%c) {trans_a=1,trans_b=1}", NULL},
		{{"f32[2,3]", "f32[4,3]"}, "%y: f32[2,3] = gemm(%a,%b)", "inner dims are 3 and 4"},
		{{"f32[2,3]", "f32[3,4]", "f32[3,4]"}, "%y: f32[2,4] = gemm(%a,%b,%c)",
			"addend [3,4] does not broadcast to [2,4]"},
		{{"f32[2,3]", "f32[3,4]"}, "%y: f32[2,4] = gemm(%a,%b) {trans_a=2}",
			"trans_a: 2 is not in 0..1"},
		{{"f32[2,3,1]", "f32[3,4]"}, "%y: f32[2,4] = gemm(%a,%b)", "must be matrices"},
		{{"f32[2,3]", "f32[3,4]"}, "%y: f32[2,4] = matmul(%a,%b)", NULL},
		{{"f32[3]", "f32[3]"}, "%y: f32[] = matmul(%a,%b)", NULL},
		{{"f32[3]", "f32[5,3,4]"}, "%y: f32[5,4] = matmul(%a,%b)", NULL},
		{{"f32[5,1,2,3]", "f32[7,3,4]"}, "%y: f32[5,7,2,4] = matmul(%a,%b)", NULL},
		{{"f32[2,3]", "f32[3]"}, "%y: f32[2] = matmul(%a,%b)", NULL},
		{{"f32[2,2,3]", "f32[3,3,4]"}, "%y: f32[2,2,4] = matmul(%a,%b)",
			"batch dims do not broadcast"},
		{{"f32[]", "f32[3]"}, "%y: f32[3] = matmul(%a,%b)", "scalars"},
		{{"f32[1,1,1,1,1,1,1,1]", "f32[1]"}, "%y: f32[1,1,1,1,1,1,1] = matmul(%a,%b)",
			NULL},
		{{"f32[32768,1]", "f32[1,65536]"}, "%y: f32[1] = matmul(%a,%b)", "too large"},
	};
	CHECK(rows);
}

static void test_elementwise(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[2,3]"}, "%y: f32[2,3] = unary(%a) {fn=erf}", NULL},
		{{"i64[2,3]"}, "%y: i64[2,3] = unary(%a) {fn=neg}", NULL},
		{{"u8[2,3]"}, "%y: u8[2,3] = unary(%a) {fn=neg}", "cannot be u8"},
		{{"i32[2,3]"}, "%y: i32[2,3] = unary(%a) {fn=exp}", "cannot be i32"},
		{{"bool[2]"}, "%y: bool[2] = unary(%a) {fn=not}", NULL},
		{{"f32[2]"}, "%y: f32[2] = unary(%a) {fn=not}", "cannot be f32"},
		{{"f32[2]"}, "%y: f32[2] = unary(%a)", "`none` does not take one operand"},
		{{"f32[2,1,4]", "f32[3,1]"}, "%y: f32[2,3,4] = binary(%a,%b) {fn=add}", NULL},
		{{"f32[2]", "f32[3]"}, "%y: f32[3] = binary(%a,%b) {fn=add}",
			"[2] and [3] do not broadcast"},
		{{"f32[2]", "i64[2]"}, "%y: f32[2] = binary(%a,%b) {fn=add}", "operand 1 is i64"},
		{{"f32[2]", "f32[2]"}, "%y: bool[2] = binary(%a,%b) {fn=less}", NULL},
		{{"bool[2]", "bool[2]"}, "%y: bool[2] = binary(%a,%b) {fn=equal}", NULL},
		{{"bool[2]", "bool[2]"}, "%y: bool[2] = binary(%a,%b) {fn=less}", "cannot be bool"},
		{{"bool[2]", "bool[1]"}, "%y: bool[2] = binary(%a,%b) {fn=xor}", NULL},
		{{"f32[2]", "f32[2]"}, "%y: f32[2] = binary(%a,%b) {fn=and}", "cannot be f32"},
		{{"f32[2]", "f32[2]"}, "%y: f32[2] = binary(%a,%b) {fn=relu}",
			"does not take two operands"},
		{{"bool[2]", "bool[2]"}, "%y: bool[2] = binary(%a,%b) {fn=not}",
			"does not take two operands"},
		{{"f32[1,3,4]", "f32[3,1]"}, "%y: f32[1,3,4] = prelu(%a,%b)", NULL},
		{{"f32[3,4]", "f32[1,3,4]"}, "%y: f32[1,3,4] = prelu(%a,%b)", "slope [1,3,4]"},
		{{"bool[2,1]", "i64[3]", "i64[]"}, "%y: i64[2,3] = where(%a,%b,%c)", NULL},
		{{"u8[2,1]", "i64[3]", "i64[]"}, "%y: i64[2,3] = where(%a,%b,%c)", "must be bool"},
		{{"bool[2,1]", "i64[3]", "f32[]"}, "%y: i64[2,3] = where(%a,%b,%c)", "i64 and f32"},
		{{"bool[2]"}, "%y: bf16[2] = cast(%a) {to=bf16}", NULL},
		{{"bool[2]"}, "%y: bool[2] = cast(%a)", "to: 0 is none of its words"},
	};
	CHECK(rows);
}

static void test_reductions(void **state)
{
	static const struct infer_row rows[] = {
		{{"f32[2,3]"}, "%y: f32[2,3] = softmax(%a) {fn=softmax,axis=1}", NULL},
		{{"f32[2,3]"}, "%y: f32[2,3] = softmax(%a) {fn=relu,axis=1}", "no softmax"},
		{{"f32[]"}, "%y: f32[] = softmax(%a) {fn=softmax}", "axis 0 of rank 0"},
		{{"f32[2,3,4]"}, "%y: f32[2,1,1] = reduce(%a) {fn=reduce_mean,axes=[1,2]}", NULL},
		{{"f32[2,3,4]"}, "%y: f32[3] = reduce(%a) {fn=reduce_l2,axes=[0,2],keepdims=0}",
			NULL},
		{{"f32[2,3,4]"}, "%y: f32[] = reduce(%a) {fn=reduce_sum,axes=[0,1,2],keepdims=0}",
			NULL},
		{{"f32[2,3,4]"}, "%y: f32[2,3,4] = reduce(%a) {fn=reduce_sum}", NULL},
		{{"f32[2,0]"}, "%y: f32[2,1] = reduce(%a) {fn=reduce_sum,axes=[1]}", NULL},
		{{"f32[2,0]"}, "%y: f32[2,1] = reduce(%a) {fn=reduce_max,axes=[1]}",
			"axis 1 is empty"},
		{{"f32[2,3]"}, "%y: f32[1,1] = reduce(%a) {fn=reduce_sum,axes=[1,0]}", "sorted"},
		{{"f32[2,3]"}, "%y: f32[1,1] = reduce(%a) {fn=reduce_sum,axes=[1,1]}", "sorted"},
		{{"f32[2,3]"}, "%y: f32[1,1] = reduce(%a) {fn=reduce_sum,axes=[2]}", "below 2"},
		{{"f32[2,3]"}, "%y: f32[1,1] = reduce(%a) {fn=reduce_sum,axes=[8]}", "not in 0..7"},
		{{"f32[2,3]"}, "%y: i64[2] = arg_reduce(%a) {fn=reduce_max,axis=1,keepdims=0}",
			NULL},
		{{"f32[2,3]"}, "%y: i64[1,3] = arg_reduce(%a) {fn=reduce_min}", NULL},
		{{"f32[2,3]"}, "%y: i64[1,3] = arg_reduce(%a) {fn=reduce_sum}", "has no index"},
		{{"f32[0,3]"}, "%y: i64[1,3] = arg_reduce(%a) {fn=reduce_max}", "axis 0 is empty"},
		{{"f32[2,9]"}, "%y: f32[2,5], %i: i64[2,5] = top_k(%a) {axis=1,k=5}", NULL},
		{{"f32[2,9]"}, "%y: f32[2,9], %i: i64[2,9] = top_k(%a) {axis=1,k=10}", "k 10 of 9"},
	};
	CHECK(rows);
}

static const struct infer_row move_rows[] = {
	{{"f32[1,2]", "f32[1,3]"}, "%y: f32[1,5] = concat(%a,%b) {axis=1}", NULL},
	{{"f32[1,2]", "f32[2,3]"}, "%y: f32[1,5] = concat(%a,%b) {axis=1}", "operand 1 differs"},
	{{"f32[1,2]", "f32[1,2,1]"}, "%y: f32[1,4] = concat(%a,%b) {axis=1}", "operand 1 differs"},
	{{"f32[1,2]"}, "%y: f32[1,4] = concat(%a,_) {axis=1}", "operand 1 is missing"},
	{{"f32[1,2]"}, "%y: f32[1,4] = concat()", "0 operands"},
	{{"f32[4,10]"}, "%y: f32[2,3] = slice(%a) {starts=[1,9],steps=[2,-4]}", NULL},
	{{"f32[4,10]"}, "%y: f32[2,4] = slice(%a) {starts=[1,9],steps=[2,-4]}",
		"axis 1: elements 9 to -3 of 10"},
	{{"f32[4,10]"}, "%y: f32[0,10] = slice(%a) {starts=[4,0]}", NULL},
	{{"f32[4,10]"}, "%y: f32[1,10] = slice(%a) {starts=[4,0]}", "elements 4 to 4 of 4"},
	{{"f32[4,10]"}, "%y: f32[4,10] = slice(%a) {steps=[0,1]}", "step 0 on axis 0"},
	{{"f32[4,10]"}, "%y: f32[4] = slice(%a)", "output rank 1, operand rank 2"},
	{{"f32[4,2147483]"}, "%y: f32[4,2] = slice(%a) {steps=[1,2147483647]}", "axis 1"},
	{{"f32[2,3]"}, "%y: f32[6] = reshape(%a)", NULL},
	{{"f32[1]"}, "%y: f32[] = reshape(%a)", NULL},
	{{"f32[2,3]"}, "%y: f32[7] = reshape(%a)", "6 elements cannot become 7"},
	{{"f32[2,3,4]"}, "%y: f32[4,2,3] = transpose(%a) {perm=[2,0,1]}", NULL},
	{{"f32[2,3]"}, "%y: f32[2,2] = transpose(%a) {perm=[0,0]}", "no permutation"},
	{{"f32[2,3]"}, "%y: f32[2,2] = transpose(%a) {perm=[0,2]}", "no permutation"},
	{{"f32[2,3]"}, "%y: f32[5,2] = pad(%a) {pads=[1,0,2,-1]}", NULL},
	{{"f32[2,3]"}, "%y: f32[4,3] = pad(%a) {pads=[1,0,1,0],mode=reflect}", NULL},
	{{"f32[2,3]"}, "%y: f32[5,3] = pad(%a) {pads=[2,0,1,0],mode=reflect}",
		"cannot reflect 2 of 2"},
	{{"f32[0,3]"}, "%y: f32[1,3] = pad(%a) {pads=[1,0,0,0],mode=edge}", "nothing to copy"},
	{{"f32[0,3]"}, "%y: f32[1,3] = pad(%a) {pads=[1,0,0,0]}", NULL},
	{{"f32[2,3]"}, "%y: f32[0,3] = pad(%a) {pads=[-3,0,1,0]}", "crop more"},
	{{"f32[2,3]"}, "%y: f32[2,3] = pad(%a) {mode=dcr}", "none of pad"},
	{{"f32[1,3,4,4]"}, "%y: f32[1,3,8,6] = resize(%a) {scales=[1,1,2,1.6]}", NULL},
	{{"f32[1,3,4,4]"}, "%y: f32[1,3,8,8] = resize(%a)", "4 x 1 is not 8"},
	{{"f32[1,3,4,4]"}, "%y: f32[1,3,4,4] = resize(%a) {scales=[1,1,0,1]}", "scale 0"},
	{{"f32[1,3,4,4]"}, "%y: f32[1,3,4,4] = resize(%a) {scales=[1,1,nan,1]}", "scale nan"},
	{{"f32[1,3,4,4]"},
		"%y: f32[1,3,9,9] = resize(%a) "
		"{coord=tf_crop_and_resize,scales=[1,1,2.25,2.25]}",
		NULL},
	{{"f32[1,3,4,4]"}, "%y: f32[1,3,4,4] = resize(%a) {mode=constant}", "none of resize"},
	{{"f32[3,1]"}, "%y: f32[2,3,4] = expand(%a)", NULL},
	{{"f32[3,2]"}, "%y: f32[3,4] = expand(%a)", "does not broadcast"},
	{{"f32[3,2]"}, "%y: f32[3,1] = expand(%a)", "does not broadcast"},
	{{"f32[3,2]"}, "%y: f32[6,2] = tile(%a)", NULL},
	{{"f32[3,2]"}, "%y: f32[7,2] = tile(%a)", "7 is no multiple of 3"},
	{{"f32[3,2]", "i64[4,5]"}, "%y: f32[4,5,2] = gather(%a,%b)", NULL},
	{{"f32[3,2]", "i32[]"}, "%y: f32[3] = gather(%a,%b) {axis=1}", NULL},
	{{"f32[3,2]", "f32[]"}, "%y: f32[3] = gather(%a,%b) {axis=1}", "operand 1 cannot be f32"},
	{{"f32[0,2]", "i64[1]"}, "%y: f32[1,2] = gather(%a,%b)", "axis 0 is empty"},
	{{"f32[1,1,1,1,1]", "i64[1,1,1,1,1]"}, "%y: f32[1] = gather(%a,%b)", "rank 9"},
	{{"f32[1,8,2,3]"}, "%y: f32[1,2,4,6] = depth_to_space(%a) {block=2,mode=crd}", NULL},
	{{"f32[1,6,2,3]"}, "%y: f32[1,2,4,6] = depth_to_space(%a) {block=2}", "6 channels"},
	{{"f32[1,2,4,6]"}, "%y: f32[1,8,2,3] = space_to_depth(%a) {block=2}", NULL},
	{{"f32[1,2,4,6]"}, "%y: f32[1,2,4,6] = space_to_depth(%a) {block=4}", "blocks of 4"},
	{{"f32[1,2,0,0]"}, "%y: f32[1] = space_to_depth(%a) {block=2147483647}", "too large"},
};

static void test_moves(void **state)
{
	CHECK(move_rows);
}

static const struct infer_row index_rows[] = {
	{{"f32[3,4]", "i64[2,4]"}, "%y: f32[2,4] = gather_elements(%a,%b)", NULL},
	{{"u8[3,4]", "i32[3,9]"}, "%y: u8[3,9] = gather_elements(%a,%b) {axis=1}", NULL},
	{{"f32[3,4]", "i64[2,5]"}, "%y: f32[2,5] = gather_elements(%a,%b)", "beyond axis 1"},
	{{"f32[3,4]", "i64[2]"}, "%y: f32[2] = gather_elements(%a,%b)", "rank 1"},
	{{"f32[0,4]", "i64[2,4]"}, "%y: f32[2,4] = gather_elements(%a,%b)", "axis 0 is empty"},
	{{"f32[3,4]", "i64[2,4]"}, "%y: f32[2,4] = gather_elements(%a,%b) {axis=2}", "axis 2"},
	{{"f32[3,4]", "f32[2,4]"}, "%y: f32[2,4] = gather_elements(%a,%b)", "cannot be f32"},
	{{"f32[2,3,4]", "i64[5,2]"}, "%y: f32[5,4] = gather_nd(%a,%b)", NULL},
	{{"f32[2,3,4]", "i64[2,1]"}, "%y: f32[2,4] = gather_nd(%a,%b) {batch_dims=1}", NULL},
	{{"f32[2,3,4]", "i64[5,1]"}, "%y: f32[5,4] = gather_nd(%a,%b) {batch_dims=1}", "differs"},
	{{"f32[2,3,4]", "i64[5,4]"}, "%y: f32[5] = gather_nd(%a,%b)", "4 coordinates"},
	{{"f32[2,3,4]", "i64[5,0]"}, "%y: f32[5,2,3,4] = gather_nd(%a,%b)", "0 coordinates"},
	{{"f32[2,3,4]", "i64[2]"}, "%y: f32[4] = gather_nd(%a,%b) {batch_dims=7}", "7 batch dims"},
	{{"f32[1,1,1,1,1]", "i64[1,1,1,1,1,1]"}, "%y: f32[1] = gather_nd(%a,%b)", "rank 9"},
	{{"f32[3,4]", "i64[2,4]", "f32[2,4]"}, "%y: f32[3,4] = scatter_elements(%a,%b,%c) {fn=max}",
		NULL},
	{{"f32[3,4]", "i64[2,4]", "f32[2,3]"}, "%y: f32[3,4] = scatter_elements(%a,%b,%c)",
		"differ in shape"},
	{{"f32[3,4]", "i64[2,4]", "i32[2,4]"}, "%y: f32[3,4] = scatter_elements(%a,%b,%c)",
		"updates are i32"},
	{{"f32[3,4]", "i64[2,4]", "f32[2,4]"}, "%y: f32[3,4] = scatter_elements(%a,%b,%c) {fn=div}",
		"cannot scatter"},
	{{"bool[3,4]", "i64[2,4]", "bool[2,4]"},
		"%y: bool[3,4] = scatter_elements(%a,%b,%c) {fn=add}", "cannot be bool"},
	{{"f32[3,4]", "i64[5,1]", "f32[5,4]"}, "%y: f32[3,4] = scatter_nd(%a,%b,%c)", NULL},
	{{"f32[3,4]", "i64[5,1]", "f32[5,3]"}, "%y: f32[3,4] = scatter_nd(%a,%b,%c)",
		"shape of what they replace"},
	{{"i32[3,4]"}, "%y: i32[3,4] = cum_sum(%a) {axis=1,exclusive=1,reverse=1}", NULL},
	{{"bool[3,4]"}, "%y: bool[3,4] = cum_sum(%a)", "cannot be bool"},
	{{"f32[]"}, "%y: f32[] = cum_sum(%a)", "axis 0 of rank 0"},
	{{"f32[3]"}, "%y: f32[3] = cum_sum(%a) {reverse=2}", "not in 0..1"},
	{{"f32[1,2,3,4]"}, "%y: i64[1,2,2,3] = pool_index(%a) {kernel=[2,2]}", NULL},
	{{"bool[1,2,3,4]"}, "%y: i64[1,2,2,3] = pool_index(%a) {kernel=[2,2]}", "cannot be bool"},
};

static const struct infer_row sample_rows[] = {
	{{"f32[2,3,4,5]", "f32[2,6,7,2]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b)", NULL},
	{{"f32[2,3,4,5]", "f32[2,6,7,2]"},
		"%y: f32[2,3,6,7] = grid_sample(%a,%b) {mode=cubic,padding=reflection}", NULL},
	{{"f32[2,3,4,5]", "f32[1,6,7,2]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b)", "[2,h,w,2]"},
	{{"f32[2,3,4,5]", "f32[2,6,7,3]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b)", "[2,h,w,2]"},
	{{"f32[2,3,0,5]", "f32[2,6,7,2]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b)", "is empty"},
	{{"f32[2,3,4,5]", "f32[2,6,7,2]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b) {mode=wrap}",
		"none of grid_sample"},
	{{"f32[2,3,4,5]", "f32[2,6,7,2]"}, "%y: f32[2,3,6,7] = grid_sample(%a,%b) {padding=edge}",
		"padding"},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[5]"},
		"%y: f32[5,3,2,2] = roi_align(%a,%b,%c) {fn=avg_pool,spatial_scale=0.5}", NULL},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[4]"},
		"%y: f32[5,3,2,2] = roi_align(%a,%b,%c) {fn=avg_pool}", "batch indices"},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[5]"},
		"%y: f32[5,2,2,2] = roi_align(%a,%b,%c) {fn=avg_pool}", "[5,3,h,w]"},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[5]"}, "%y: f32[5,3,2,2] = roi_align(%a,%b,%c)",
		"no pooling"},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[5]"},
		"%y: f32[5,3,2,2] = roi_align(%a,%b,%c) {fn=max_pool,spatial_scale=nan}",
		"spatial_scale: nan"},
	{{"f32[1,3,8,8]", "f32[5,4]", "i64[5]"},
		"%y: f32[5,3,2,2] = roi_align(%a,%b,%c) {fn=max_pool,sampling=1025}",
		"not in 0..1024"},
	{{"f32[0,3,8,8]", "f32[5,4]", "i64[5]"},
		"%y: f32[5,3,2,2] = roi_align(%a,%b,%c) {fn=max_pool}", "is empty"},
};

static void test_indices(void **state)
{
	CHECK(index_rows);
}

static void test_samplers(void **state)
{
	CHECK(sample_rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv),
		cmocka_unit_test(test_conv_transpose),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_norm),
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_elementwise),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_indices),
		cmocka_unit_test(test_samplers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
