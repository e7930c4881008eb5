// SPDX-License-Identifier: Apache-2.0
// F22, third part: what lies between dequantize and quantize and works element by element. A
// function of one byte becomes a table, a sum or product of two becomes qbinary.
#include <errno.h>
#include <string.h>

#include "engine/passes/match.h"
#include "engine/passes/qdq.h"
#include "engine/passes/rewrite.h"

#define PK_TABLE_BYTES     256
#define PK_TABLE_MAX_DEPTH 10
#define PK_TABLE_MAX_NODES 48

static bool pk_table_is_scalar(const struct pk_value *value)
{
	return value->data && pk_shape_elements(&value->shape) == 1;
}

// Whether a node passes a byte on element by element and without other operands than numbers.
static bool pk_table_takes(const struct pk_node *node)
{
	switch (node->op) {
	case PK_OP_UNARY:
	case PK_OP_BINARY:
		return node->outputs[0]->dtype == PK_F32 && node->inputs[0]->dtype == PK_F32;
	case PK_OP_DEQUANTIZE:
		return pk_qdq_source(node->outputs[0]) && pk_qdq_is_whole(node);
	case PK_OP_QUANTIZE:
		return pk_qdq_is_quantize(node) && pk_qdq_is_whole(node);
	case PK_OP_LOOKUP:
		return node->inputs[1]->data != NULL;
	default:
		return false;
	}
}

static bool pk_table_is_byte(const struct pk_value *value)
{
	return value->dtype == PK_I8 || value->dtype == PK_U8;
}

// The byte value that all of value is a function of, as far up as that goes; NULL: none.
static struct pk_value *pk_table_source(struct pk_value *value, int depth)
{
	struct pk_node *node = value->producer;
	struct pk_value *self = pk_table_is_byte(value) && !value->data ? value : NULL;
	struct pk_value *found = NULL;
	if (!node || depth == PK_TABLE_MAX_DEPTH || !pk_table_takes(node) ||
		!pk_shape_equal(&node->inputs[0]->shape, &value->shape))
		return self;
	int n = node->op == PK_OP_BINARY ? 2 : 1;
	for (int i = 0; i < n; i++) {
		if (n == 2 && pk_table_is_scalar(node->inputs[i]))
			continue;
		struct pk_value *from = pk_table_source(node->inputs[i], depth + 1);
		if (!from || (found && from != found))
			return self;
		found = from;
	}
	return found ? found : self;
}

// A computation of all 256 bytes in a graph of its own.
struct pk_table {
	struct pk_graph *graph;
	const struct pk_value *source;
	struct pk_value *bytes; // what stands for it
	struct pk_pass_ctx *ctx;
	int n_nodes;
};

static int pk_table_start(struct pk_table *table)
{
	uint8_t bytes[PK_TABLE_BYTES];
	struct pk_shape shape = {1, {PK_TABLE_BYTES}};
	for (int i = 0; i < PK_TABLE_BYTES; i++)
		bytes[i] = (uint8_t)i;
	table->graph = pk_graph_create(0);
	table->bytes = table->graph ? pk_graph_add_const_copy(table->graph, "bytes",
					      table->source->dtype, &shape, bytes)
				    : NULL;
	return table->bytes ? 0 : -ENOMEM;
}

// The constants of a node as they are, its other operands as computed.
static int pk_table_node(struct pk_table *table, const struct pk_node *node,
	struct pk_value *const *inputs, struct pk_value **out)
{
	struct pk_node *copy =
		pk_graph_new_node(table->graph, node->op, "", inputs, node->n_inputs, NULL);
	if (!copy)
		return -ENOMEM;
	memcpy(copy->attrs, node->attrs,
		(size_t)pk_op_info(node->op)->n_attrs * sizeof(*node->attrs));
	int r = pk_graph_finish_node(table->graph, copy, NULL, 1, NULL, table->ctx->err);
	if (r < 0)
		return r;
	const struct pk_value *y = copy->outputs[0];
	void *data = pk_graph_alloc(table->graph, pk_tensor_bytes(y->dtype, &y->shape));
	if (!data)
		return -ENOMEM;
	r = table->ctx->evaluator->eval(copy, &data, table->ctx->err);
	if (r < 0)
		return r;
	*out = pk_graph_add_const(table->graph, "", y->dtype, &y->shape, data);
	return *out ? 0 : -ENOMEM;
}

// 0, 1 when the computation is too long, or an error.
static int pk_table_value(
	struct pk_table *table, const struct pk_value *value, struct pk_value **out)
{
	struct pk_value *inputs[3] = {NULL};
	const struct pk_node *node = value->producer;
	if (value == table->source) {
		*out = table->bytes;
		return 0;
	}
	if (value->data) {
		*out = pk_graph_add_const(
			table->graph, "", value->dtype, &value->shape, value->data);
		return *out ? 0 : -ENOMEM;
	}
	if (++table->n_nodes > PK_TABLE_MAX_NODES)
		return 1;
	for (int i = 0; i < node->n_inputs; i++) {
		int r = node->inputs[i] ? pk_table_value(table, node->inputs[i], &inputs[i]) : 0;
		if (r != 0)
			return r;
	}
	return pk_table_node(table, node, inputs, out);
}

static struct pk_node *pk_table_lookup(struct pk_graph *graph, struct pk_table *table,
	const struct pk_value *result, struct pk_node *quantize)
{
	struct pk_value *inputs[] = {(struct pk_value *)(uintptr_t)table->source,
		pk_graph_add_const_copy(
			graph, "table", result->dtype, &result->shape, result->data)};
	const char *name = quantize->outputs[0]->name;
	if (!inputs[1])
		return NULL;
	struct pk_node *node =
		pk_graph_new_node(graph, PK_OP_LOOKUP, quantize->name, inputs, 2, quantize);
	if (!node || pk_graph_finish_node(graph, node, &name, 1, NULL, table->ctx->err) < 0)
		return NULL;
	return node;
}

int pk_qdq_to_lookup(struct pk_graph *graph, struct pk_node *quantize, struct pk_pass_ctx *ctx)
{
	struct pk_table table = {.ctx = ctx};
	struct pk_value *result = NULL;
	if (!ctx->evaluator || !pk_qdq_is_whole(quantize))
		return 0;
	table.source = pk_table_source(quantize->inputs[0], 0);
	if (!table.source || !pk_shape_equal(&table.source->shape, &quantize->outputs[0]->shape))
		return 0;
	int r = pk_table_start(&table);
	if (r == 0)
		r = pk_table_value(&table, quantize->outputs[0], &result);
	struct pk_node *node = r == 0 ? pk_table_lookup(graph, &table, result, quantize) : NULL;
	if (r == 0)
		r = node ? pk_rewrite_replace(graph, quantize->outputs[0], node->outputs[0], NULL)
			 : -ENOMEM;
	pk_graph_destroy(table.graph);
	if (r != 0)
		return r < 0 ? r : 0;
	return 1;
}

// What stands between the sum and the quantize: nothing, or one activation.
struct pk_qdq_pair {
	struct pk_node *binary, *act;
	struct pk_node *a, *b; // dequantize nodes
};

static bool pk_qdq_pair_of(struct pk_qdq_pair *pair, struct pk_node *quantize)
{
	struct pk_node *node = pk_match_inner(quantize->inputs[0]);
	if (node && node->op == PK_OP_UNARY) {
		enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
		if (fn != PK_FN_RELU && fn != PK_FN_LEAKY_RELU && fn != PK_FN_CLIP)
			return false;
		pair->act = node;
		node = pk_match_inner(node->inputs[0]);
	}
	if (!node || node->op != PK_OP_BINARY || !pk_qdq_is_whole(quantize))
		return false;
	enum pk_fn fn = pk_node_fn(node, PK_ATTR_FN);
	pair->binary = node;
	pair->a = pk_qdq_source(node->inputs[0]);
	pair->b = pk_qdq_source(node->inputs[1]);
	return (fn == PK_FN_ADD || fn == PK_FN_SUB || fn == PK_FN_MUL) && pair->a && pair->b &&
	       pk_qdq_is_whole(pair->a) && pk_qdq_is_whole(pair->b);
}

static void pk_qdq_pair_attrs(
	struct pk_node *node, const struct pk_qdq_pair *pair, const struct pk_node *quantize)
{
	pk_node_set_int(node, PK_ATTR_FN, pk_node_fn(pair->binary, PK_ATTR_FN));
	pk_node_set_int(node, PK_ATTR_TO, pk_node_int(quantize, PK_ATTR_TO));
	if (!pair->act)
		return;
	enum pk_fn act = pk_node_fn(pair->act, PK_ATTR_FN);
	pk_node_set_int(node, PK_ATTR_ACT, act);
	pk_node_set_float(node, PK_ATTR_ALPHA, pk_node_float(pair->act, PK_ATTR_ALPHA));
	pk_node_set_float(node, PK_ATTR_BETA, pk_node_float(pair->act, PK_ATTR_BETA));
}

static struct pk_value *pk_qdq_zero_of(const struct pk_node *node)
{
	return node->n_inputs > 2 ? node->inputs[2] : NULL;
}

int pk_qdq_to_binary(struct pk_graph *graph, struct pk_node *quantize, struct pk_err *err)
{
	struct pk_qdq_pair pair = {0};
	if (!pk_qdq_pair_of(&pair, quantize))
		return 0;
	struct pk_value *inputs[] = {pair.a->inputs[0], pair.b->inputs[0], pair.a->inputs[1],
		pair.b->inputs[1], pk_qdq_zero_of(pair.a), pk_qdq_zero_of(pair.b),
		pk_qdq_zero_of(quantize), quantize->inputs[1]};
	struct pk_node *node =
		pk_graph_new_node(graph, PK_OP_QBINARY, pair.binary->name, inputs, 8, quantize);
	if (!node)
		return -ENOMEM;
	pk_qdq_pair_attrs(node, &pair, quantize);
	const char *name = quantize->outputs[0]->name;
	int r = pk_graph_finish_node(graph, node, &name, 1, NULL, err);
	if (r == 0)
		r = pk_rewrite_join_name(graph, node, quantize, false);
	if (r == 0)
		r = pk_rewrite_replace(graph, quantize->outputs[0], node->outputs[0], NULL);
	return r < 0 ? r : 1;
}
