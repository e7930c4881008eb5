// SPDX-License-Identifier: Apache-2.0
// Each rule of the verifier, broken by hand in an otherwise right graph.
#include "engine/ir/verify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/text.h"

static const char text[] = "graph {\n"
			   "  input %x: f32[1,3,8,8]\n"
			   "  const %w: f32[1,3,1,1] = {1, 2, 3}\n"
			   "  %y: f32[1,1,8,8] = conv(%x, %w) \"conv\"\n"
			   "  %z: f32[1,1,8,8] = unary(%y) {fn=relu} \"relu\"\n"
			   "  output %z\n"
			   "}\n";

static struct pk_value *value(struct pk_graph *graph, const char *name)
{
	return pk_graph_find_value(graph, name);
}

static struct pk_node *conv(struct pk_graph *graph)
{
	return value(graph, "y")->producer;
}

static char name_x[] = "x";
static char name_empty[] = "";

static void break_name(struct pk_graph *graph)
{
	value(graph, "y")->name = name_x;
}
static void break_no_name(struct pk_graph *graph)
{
	value(graph, "y")->name = name_empty;
}
static void break_id(struct pk_graph *graph)
{
	value(graph, "y")->id = 0;
}
static void break_id_range(struct pk_graph *graph)
{
	conv(graph)->inputs[0]->id = 1000;
}
static void break_two_sources(struct pk_graph *graph)
{
	value(graph, "w")->is_input = true;
}
static void break_unlisted_input(struct pk_graph *graph)
{
	graph->n_inputs = 0;
}
static void break_input_twice(struct pk_graph *graph)
{
	graph->inputs[graph->n_inputs++] = graph->inputs[0];
}
static void break_input_flag(struct pk_graph *graph)
{
	value(graph, "x")->is_input = false;
}
static void break_dtype(struct pk_graph *graph)
{
	value(graph, "x")->dtype = (enum pk_dtype)77;
}
static void break_const_shape(struct pk_graph *graph)
{
	value(graph, "w")->shape.dims[0] = -1;
}
static void break_rank(struct pk_graph *graph)
{
	value(graph, "y")->shape.rank = 1000;
}
static void break_order(struct pk_graph *graph)
{
	struct pk_node *node = conv(graph);
	pk_list_remove(&node->link);
	pk_list_insert(&graph->nodes, &node->link);
}
static void break_uses(struct pk_graph *graph)
{
	value(graph, "x")->n_uses = 2;
}
static void break_op(struct pk_graph *graph)
{
	conv(graph)->op = (enum pk_op)1234;
}
static void break_op_negative(struct pk_graph *graph)
{
	conv(graph)->op = (enum pk_op) - 1;
}
static void break_arity(struct pk_graph *graph)
{
	conv(graph)->n_inputs = 99;
}
static void break_missing_operand(struct pk_graph *graph)
{
	pk_graph_set_input(conv(graph), 1, NULL);
}
static void break_output_owner(struct pk_graph *graph)
{
	value(graph, "y")->producer = value(graph, "z")->producer;
}
static void break_output_count(struct pk_graph *graph)
{
	conv(graph)->n_outputs = 0;
}
static void break_attr_count(struct pk_graph *graph)
{
	pk_node_attr(conv(graph), PK_ATTR_PADS)->n = 3;
}
static void break_attr_count_wild(struct pk_graph *graph)
{
	pk_node_attr(conv(graph), PK_ATTR_PADS)->n = 1 << 20;
}
static void break_attr_range(struct pk_graph *graph)
{
	pk_node_attr(conv(graph), PK_ATTR_STRIDES)->i[1] = 0;
}
static void break_fn(struct pk_graph *graph)
{
	pk_node_set_int(conv(graph), PK_ATTR_ACT, PK_N_FNS);
}
static void break_word(struct pk_graph *graph)
{
	pk_node_set_int(conv(graph), PK_ATTR_RESIDUAL, -7);
}
static void break_type(struct pk_graph *graph)
{
	value(graph, "y")->shape.dims[1] = 2;
}
static void break_type_dtype(struct pk_graph *graph)
{
	value(graph, "z")->dtype = PK_F16;
}
static void break_graph_output(struct pk_graph *graph)
{
	struct pk_node *relu = value(graph, "z")->producer;
	value(graph, "z")->producer = NULL;
	pk_graph_set_input(relu, 0, NULL);
	pk_list_remove(&relu->link);
	graph->n_nodes--;
}
static void break_output_flag(struct pk_graph *graph)
{
	value(graph, "z")->is_output = false;
}
static void break_stray_output_flag(struct pk_graph *graph)
{
	value(graph, "y")->is_output = true;
}
static void break_node_count(struct pk_graph *graph)
{
	graph->n_nodes = 7;
}
static void break_lost_producer(struct pk_graph *graph)
{
	struct pk_node *relu = value(graph, "z")->producer;
	graph->outputs[0] = value(graph, "y");
	value(graph, "y")->is_output = true;
	value(graph, "z")->is_output = false;
	pk_graph_set_input(relu, 0, NULL);
	pk_list_remove(&relu->link);
	graph->n_nodes--;
}
static void break_block(struct pk_graph *graph)
{
	pk_graph_find_value(graph, "y")->block = 7;
}
static void break_block_of_output(struct pk_graph *graph)
{
	pk_graph_find_value(graph, "z")->block = 8;
}
static void break_packed(struct pk_graph *graph)
{
	conv(graph)->packed_bytes = 8;
}

static void break_elided(struct pk_graph *graph)
{
	value(graph, "y")->elided = true;
}

struct verify_row {
	void (*damage)(struct pk_graph *graph);
	const char *want;
};
static const struct verify_row rows[] = {
	{break_name, "%x: name is not unique"},
	{break_no_name, "value 2 has no name"},
	{break_id, "%y: id 0 is not its index 2"},
	{break_id_range, "%x: id 1000 is not its index 0"},
	{break_two_sources, "%w has more than one source"},
	{break_unlisted_input, "1 values are marked as inputs, there are 0"},
	{break_input_twice, "input 1 is not an input value"},
	{break_input_flag, "input 0 is not an input value"},
	{break_dtype, "%x has no element type"},
	{break_const_shape, "%w has a bad shape"},
	{break_rank, "%y has a bad shape"},
	{break_order, "`relu`: %y is used before it is defined"},
	{break_uses, "%x has 1 uses, not 2"},
	{break_op, "`conv`: operator 1234 does not exist"},
	{break_op_negative, "`conv`: operator -1 does not exist"},
	{break_arity, "`conv`: 99 operands"},
	{break_missing_operand, "conv `conv`: operand 1 is missing"},
	{break_output_owner, "`conv`: output 0 is not its own"},
	{break_output_count, "`conv`: 0 outputs"},
	{break_attr_count, "conv `conv`: pads: 3 items, 4 needed"},
	{break_attr_count_wild, "conv `conv`: pads: 1048576 items"},
	{break_attr_range, "conv `conv`: strides: 0 is not in 1..2147483647"},
	{break_fn, "is no function"},
	{break_word, "conv `conv`: residual: -7 is none of its words"},
	{break_type, "`conv`: %y is f32[1,2,8,8], inference gives f32[1,1,8,8]"},
	{break_type_dtype, "`relu`: %z is f16[1,1,8,8], inference gives f32[1,1,8,8]"},
	{break_graph_output, "output 0 is not defined"},
	{break_output_flag, "%z is not marked as output"},
	{break_stray_output_flag, "%y is marked as output but is none"},
	{break_node_count, "2 nodes counted, 7 recorded"},
	{break_lost_producer, "%z: its producer is not in the graph"},
	{break_elided, "%y is elided but no constant"},
	{break_block, "%y cannot have blocks of 7 channels"},
	{break_block_of_output, "%z cannot have blocks of 8 channels"},
	{break_packed, "`conv`: packed size without bytes"},
};

static struct pk_graph *parse(void)
{
	struct pk_err err = {0};
	struct pk_graph *graph = NULL;
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

static void test_right(void **state)
{
	pk_auto(pk_graph) graph = parse();
	struct pk_err err = {0};
	assert_int_equal(pk_verify_graph(graph, &err), 0);
	assert_int_equal(pk_verify_graph(graph, NULL), 0);
}

static void test_broken(void **state)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_auto(pk_graph) graph = parse();
		struct pk_err err = {0};
		rows[i].damage(graph);
		assert_int_equal(pk_verify_graph(graph, &err), -EINVAL);
		if (!strstr(err.text, rows[i].want))
			fail_msg("`%s` is not in `%s`", rows[i].want, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
