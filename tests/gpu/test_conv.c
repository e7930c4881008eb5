// SPDX-License-Identifier: Apache-2.0
// conv.cu, depthwise.cu and stem.cu against the reference: geometry, groups, epilogues, layouts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu_case.h"

struct geometry {
	int n; // spatial axes
	int64_t in_c, out_c, group, kernel, size;
	bool bias, residual;
	int64_t strides[3], dilations[3], pads[6]; // filled by set_random
	enum pk_fn act;
};

static const enum pk_fn acts[] = {
	PK_FN_NONE, PK_FN_RELU, PK_FN_SILU, PK_FN_LEAKY_RELU, PK_FN_HARD_SWISH, PK_FN_CLIP};

static void set_random(struct geometry *g)
{
	for (int i = 0; i < g->n; i++) {
		g->strides[i] = random_range(1, 3);
		g->dilations[i] = random_range(0, 3) ? 1 : 2;
		g->pads[i] = random_range(0, g->kernel - 1);
		g->pads[g->n + i] = random_range(0, g->kernel - 1);
	}
	g->act = acts[random_range(0, 5)];
}

static void set_window(struct pk_node *node, const struct geometry *g)
{
	pk_node_set_ints(node, PK_ATTR_STRIDES, g->strides, g->n);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, g->dilations, g->n);
	pk_node_set_ints(node, PK_ATTR_PADS, g->pads, 2 * g->n);
	pk_node_set_int(node, PK_ATTR_GROUP, g->group);
	pk_node_set_int(node, PK_ATTR_ACT, g->act);
	pk_node_set_float(node, PK_ATTR_ALPHA, -0.25);
	pk_node_set_float(node, PK_ATTR_BETA, 0.5);
}

static void operands(struct node_case *c, const struct geometry *g, bool transposed)
{
	struct pk_shape x = {.rank = g->n + 2, .dims = {2, g->in_c}}, w = x;
	w.dims[0] = transposed ? g->in_c : g->out_c;
	w.dims[1] = (transposed ? g->out_c : g->in_c) / g->group;
	for (int i = 0; i < g->n; i++) {
		x.dims[2 + i] = g->size + i;
		w.dims[2 + i] = g->kernel;
	}
	node_case_begin(c);
	node_case_operand(c, PK_F32, x, false);
	node_case_operand(c, PK_F32, w, true);
	if (g->bias)
		node_case_operand(c, PK_F32, SHAPE(g->out_c), true);
}

// A residual is shaped like the output, which the same node without one tells.
static void conv(struct node_case *c, const struct geometry *g)
{
	operands(c, g, false);
	set_window(node_case_node(c, PK_OP_CONV), g);
	node_case_finish(c, NULL);
	if (!g->residual)
		return;
	struct pk_shape y = c->node->outputs[0]->shape;
	node_case_end(c);
	operands(c, g, false);
	if (!g->bias)
		node_case_omit(c);
	node_case_operand(c, PK_F32, y, false);
	struct pk_node *node = node_case_node(c, PK_OP_CONV);
	set_window(node, g);
	pk_node_set_int(node, PK_ATTR_RESIDUAL,
		random_range(0, 1) ? PK_RESIDUAL_BEFORE_ACT : PK_RESIDUAL_AFTER_ACT);
	node_case_finish(c, NULL);
}

static void check(struct node_case *c, const char *row, int round)
{
	gpu_case_check(c, row, round % 2 ? PK_F16 : PK_F32, round % 2 ? 1e-3 : 3e-6);
	node_case_end(c);
}

static void direct(void **state)
{
	(void)state;
	random_seed(41);
	for (int round = 0; round < 60; round++) {
		int64_t group = random_range(0, 2) ? 1 : random_range(2, 4);
		struct geometry g = {
			.n = round % 6 == 4   ? 1
			     : round % 6 == 5 ? 3
					      : 2,
			.in_c = group * random_range(1, 9),
			.out_c = group * random_range(1, 9),
			.group = group,
			.kernel = random_range(1, 3),
			.size = random_range(5, 9),
			.bias = round % 4 != 0,
			.residual = round / 4 % 2,
		};
		struct node_case c;
		set_random(&g);
		conv(&c, &g);
		check(&c, "conv_direct", round);
	}
}

static void transposed(void **state)
{
	(void)state;
	random_seed(42);
	for (int round = 0; round < 40; round++) {
		int64_t group = random_range(0, 2) ? 1 : random_range(2, 3);
		struct geometry g = {
			.n = round % 6 == 4   ? 1
			     : round % 6 == 5 ? 3
					      : 2,
			.in_c = group * random_range(1, 9),
			.out_c = group * random_range(1, 9),
			.group = group,
			.kernel = random_range(1, 3),
			.size = random_range(3, 5),
			.bias = round % 4 != 0,
		};
		struct node_case c;
		set_random(&g);
		operands(&c, &g, true);
		set_window(node_case_node(&c, PK_OP_CONV_TRANSPOSE), &g);
		node_case_finish(&c, NULL);
		check(&c, "conv_transpose_direct", round);
	}
}

static void depthwise(void **state)
{
	(void)state;
	random_seed(43);
	for (int round = 0; round < 60; round++) {
		int64_t channels = random_range(1, 20);
		struct geometry g = {
			.n = 2,
			.in_c = channels,
			.out_c = channels,
			.group = channels,
			.kernel = round % 5 == 4  ? 4
				  : round % 5 < 2 ? 3
						  : 5,
			.size = random_range(5, 14),
			.bias = round % 4 != 0,
			.residual = round / 4 % 2,
		};
		struct node_case c;
		set_random(&g);
		if (round % 3) { // the unrolled kernels
			g.strides[0] = g.strides[1] = random_range(1, 2);
			g.dilations[0] = g.dilations[1] = 1;
		}
		conv(&c, &g);
		check(&c, "conv_depthwise_nhwc", round);
	}
}

static void stem(void **state)
{
	(void)state;
	random_seed(44);
	for (int round = 0; round < 40; round++) {
		struct geometry g = {
			.n = 2,
			.in_c = random_range(1, 4),
			.out_c = random_range(1, 40),
			.group = 1,
			.kernel = random_range(1, 7),
			.size = random_range(13, 17),
			.bias = round % 4 != 0,
			.residual = round / 4 % 2,
		};
		struct node_case c;
		set_random(&g);
		conv(&c, &g);
		check(&c, "conv_stem", round);
	}
}

static void stem_barrier(void **state)
{
	struct geometry g = {.n = 2, .in_c = 3, .out_c = 24, .group = 1, .kernel = 3, .size = 13};
	struct node_case c;
	(void)state;
	random_seed(45);
	set_random(&g);
	conv(&c, &g);
	gpu_case_check_barriers(&c, "conv_stem", PK_F32, 3e-6);
	node_case_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct),
		cmocka_unit_test(transposed),
		cmocka_unit_test(depthwise),
		cmocka_unit_test(stem),
		cmocka_unit_test(stem_barrier),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
