// SPDX-License-Identifier: Apache-2.0
// Names, use counts and rewriting of graphs.
#include "engine/ir/graph.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/verify.h"

static const struct pk_shape shape_4 = {1, {4}};

static struct pk_node *add_unary(
	struct pk_graph *graph, struct pk_value *x, const char *name, struct pk_node *before)
{
	struct pk_err err = {0};
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_UNARY, name, &x, 1, before);
	assert_non_null(node);
	pk_node_set_int(node, PK_ATTR_FN, PK_FN_RELU);
	assert_int_equal(pk_graph_finish_node(graph, node, &name, 1, NULL, &err), 0);
	return node;
}

static void verify(const struct pk_graph *graph)
{
	struct pk_err err = {0};
	if (pk_verify_graph(graph, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_names(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_value *a = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_value *b = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_value *c = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_value *d = pk_graph_add_input(graph, NULL, PK_F32, &shape_4);
	assert_string_equal(a->name, "x");
	assert_string_equal(b->name, "x.1");
	assert_string_equal(c->name, "x.2");
	assert_true(*d->name);
	assert_ptr_equal(pk_graph_find_value(graph, "x.1"), b);
	assert_null(pk_graph_find_value(graph, "x.3"));
	verify(graph);
}

// The table grows, and a thousand equal names stay apart.
static void test_many_names(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	char name[32];
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "v%d", i % 1000);
		assert_non_null(pk_graph_add_input(graph, name, PK_F32, &shape_4));
	}
	for (int i = 0; i < 3000; i++)
		assert_ptr_equal(
			pk_graph_find_value(graph, graph->values[i]->name), graph->values[i]);
	verify(graph);
}

static void test_illegal_types(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_shape negative = {1, {-1}}, huge = {2, {1 << 20, 1 << 20}}, empty = {1, {0}};
	assert_null(pk_graph_add_input(graph, "x", PK_F32, &negative));
	assert_null(pk_graph_add_input(graph, "x", PK_F32, &huge));
	assert_null(pk_graph_add_input(graph, "x", PK_DTYPE_NONE, &shape_4));
	assert_null(pk_graph_add_const(graph, "c", PK_F32, &shape_4, NULL));
	struct pk_value *c = pk_graph_add_const(graph, "c", PK_F32, &empty, NULL);
	assert_non_null(c);
	assert_non_null(c->data);
}

static void test_const_copy(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	float data[4] = {1, 2, 3, 4};
	struct pk_value *c = pk_graph_add_const_copy(graph, "c", PK_F32, &shape_4, data);
	assert_non_null(c);
	assert_true(c->data != data && (uintptr_t)c->data % 64 == 0);
	assert_memory_equal(c->data, data, sizeof(data));
}

static void test_uses(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_node *a = add_unary(graph, x, "a", NULL);
	struct pk_node *c = add_unary(graph, a->outputs[0], "c", NULL);
	struct pk_node *b = add_unary(graph, a->outputs[0], "b", c); // before c
	assert_int_equal(pk_graph_add_output(graph, c->outputs[0]), 0);
	assert_int_equal(a->outputs[0]->n_uses, 2);
	assert_null(pk_graph_only_user(graph, a->outputs[0]));
	assert_ptr_equal(pk_graph_only_user(graph, x), a);
	assert_null(pk_graph_only_user(graph, c->outputs[0])); // an output
	verify(graph);
	pk_graph_set_input(c, 0, b->outputs[0]);
	assert_int_equal(a->outputs[0]->n_uses, 1);
	assert_ptr_equal(pk_graph_only_user(graph, a->outputs[0]), b);
	verify(graph);
}

static void test_optional_operand(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_shape x_shape = {4, {1, 2, 3, 3}}, w_shape = {4, {2, 2, 1, 1}},
			b_shape = {1, {2}};
	float data[4] = {0};
	struct pk_err err = {0};
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &x_shape);
	struct pk_value *w = pk_graph_add_const_copy(graph, "w", PK_F32, &w_shape, data);
	struct pk_value *operands[] = {x, w};
	struct pk_node *conv = pk_graph_new_node(graph, PK_OP_CONV, "conv", operands, 2, NULL);
	assert_int_equal(pk_node_attr(conv, PK_ATTR_STRIDES)->n, 2);
	assert_int_equal(pk_node_attr(conv, PK_ATTR_PADS)->n, 4);
	assert_int_equal(pk_node_int(conv, PK_ATTR_GROUP), 1);
	assert_int_equal(pk_node_fn(conv, PK_ATTR_ACT), PK_FN_NONE);
	assert_int_equal(pk_graph_finish_node(graph, conv, NULL, 1, NULL, &err), 0);
	struct pk_value *b = pk_graph_add_const_copy(graph, "b", PK_F32, &b_shape, data);
	pk_graph_set_input(conv, 3, x);
	assert_int_equal(conv->n_inputs, 4);
	assert_null(conv->inputs[2]);
	pk_node_set_int(conv, PK_ATTR_RESIDUAL, PK_RESIDUAL_BEFORE_ACT);
	pk_graph_set_input(conv, 2, b);
	assert_int_equal(x->n_uses, 2);
	verify(graph);
}

// A node that does not infer leaves the graph as it was.
static void test_failed_node(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_err err = {0};
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_SOFTMAX, "s", &x, 1, NULL);
	pk_node_set_int(node, PK_ATTR_FN, PK_FN_SOFTMAX);
	pk_node_set_int(node, PK_ATTR_AXIS, 1);
	assert_int_equal(pk_graph_finish_node(graph, node, NULL, 1, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "softmax `s`: axis 1 of rank 1");
	assert_int_equal(graph->n_nodes, 0);
	assert_int_equal(x->n_uses, 0);
	node = pk_graph_new_node(graph, PK_OP_IDENTITY, "i", &x, 1, NULL);
	assert_int_equal(pk_graph_finish_node(graph, node, NULL, 3, NULL, &err), -EINVAL);
	verify(graph);
}

static void test_replace_keeps_output_name(void **state)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	struct pk_value *x = pk_graph_add_input(graph, "x", PK_F32, &shape_4);
	struct pk_node *a = add_unary(graph, x, "a", NULL);
	struct pk_node *b = add_unary(graph, a->outputs[0], "result", NULL);
	assert_int_equal(pk_graph_add_output(graph, b->outputs[0]), 0);
	assert_int_equal(pk_graph_add_output(graph, b->outputs[0]), 0); // named twice
	struct pk_value *old = b->outputs[0];
	assert_true(pk_graph_can_replace(old, a->outputs[0]));
	assert_false(pk_graph_can_replace(old, x));
	pk_graph_replace_uses(graph, old, a->outputs[0]);
	pk_graph_remove_node(graph, b);
	assert_string_equal(a->outputs[0]->name, "result");
	assert_ptr_equal(graph->outputs[0], a->outputs[0]);
	assert_ptr_equal(graph->outputs[1], a->outputs[0]);
	assert_true(a->outputs[0]->is_output && !old->is_output);
	assert_ptr_equal(pk_graph_find_value(graph, "result"), a->outputs[0]);
	verify(graph);
}

// Each allocation may be the one that fails: NULL or -ENOMEM, never a crash.
static void test_bound(void **state)
{
	for (size_t max = 1; max < 6000; max += 16) {
		pk_auto(pk_graph) graph = pk_graph_create(max);
		struct pk_err err = {0};
		struct pk_value *x =
			graph ? pk_graph_add_input(graph, "x", PK_F32, &shape_4) : NULL;
		struct pk_node *node =
			x ? pk_graph_new_node(graph, PK_OP_IDENTITY, "i", &x, 1, NULL) : NULL;
		int r = node ? pk_graph_finish_node(graph, node, NULL, 1, NULL, &err) : -ENOMEM;
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || max < 5000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_illegal_types),
		cmocka_unit_test(test_const_copy),
		cmocka_unit_test(test_uses),
		cmocka_unit_test(test_optional_operand),
		cmocka_unit_test(test_failed_node),
		cmocka_unit_test(test_replace_keeps_output_name),
		cmocka_unit_test(test_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
