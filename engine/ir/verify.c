// SPDX-License-Identifier: Apache-2.0
// Checks the whole graph rule by rule; trusts nothing but the pointers.
#include "engine/ir/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/ir/infer.h"
#include "engine/ir/layout.h"

#define PK_VERIFY_MAX_OUTPUTS 8

struct pk_verify {
	const struct pk_graph *graph;
	struct pk_err *err;
	bool *defined; // by value id: may be used from here on
	int *n_uses;   // by value id: counted so far
};

static bool pk_verify_owns(const struct pk_verify *v, const struct pk_value *value)
{
	return value->id >= 0 && value->id < v->graph->n_values &&
	       v->graph->values[value->id] == value;
}

static int pk_verify_type(struct pk_verify *v, const struct pk_value *value)
{
	if (pk_dtype_bytes(value->dtype) == 0)
		return pk_fail(v->err, -EINVAL, "%%%s has no element type", value->name);
	if (pk_shape_elements(&value->shape) < 0)
		return pk_fail(v->err, -EINVAL, "%%%s has a bad shape", value->name);
	if (!value->block)
		return 0;
	if (!value->producer || value->is_output ||
		!pk_layout_block_fits(value->dtype, &value->shape, value->block))
		return pk_fail(v->err, -EINVAL, "%%%s cannot have blocks of %d channels",
			value->name, value->block);
	return 0;
}

// Names, ids and that a value comes from one place only. Dead values need no type.
static int pk_verify_value(struct pk_verify *v, int id)
{
	const struct pk_value *value = v->graph->values[id];
	if (!value->name || !*value->name)
		return pk_fail(v->err, -EINVAL, "value %d has no name", id);
	if (value->id != id)
		return pk_fail(v->err, -EINVAL, "%%%s: id %d is not its index %d", value->name,
			value->id, id);
	if (pk_graph_find_value(v->graph, value->name) != value)
		return pk_fail(v->err, -EINVAL, "%%%s: name is not unique", value->name);
	if (value->is_input + (value->data != NULL) + (value->producer != NULL) > 1)
		return pk_fail(v->err, -EINVAL, "%%%s has more than one source", value->name);
	if (value->elided && !value->data)
		return pk_fail(v->err, -EINVAL, "%%%s is elided but no constant", value->name);
	if (!value->data)
		return 0;
	v->defined[id] = true;
	return pk_verify_type(v, value);
}

static int pk_verify_inputs(struct pk_verify *v)
{
	int n_flagged = 0;
	for (int i = 0; i < v->graph->n_values; i++)
		n_flagged += v->graph->values[i]->is_input;
	for (int i = 0; i < v->graph->n_inputs; i++) {
		const struct pk_value *value = v->graph->inputs[i];
		if (!pk_verify_owns(v, value) || !value->is_input || v->defined[value->id])
			return pk_fail(v->err, -EINVAL, "input %d is not an input value", i);
		v->defined[value->id] = true;
		int r = pk_verify_type(v, value);
		if (r < 0)
			return r;
	}
	if (n_flagged != v->graph->n_inputs)
		return pk_fail(v->err, -EINVAL, "%d values are marked as inputs, there are %d",
			n_flagged, v->graph->n_inputs);
	return 0;
}

static int pk_verify_operands(struct pk_verify *v, const struct pk_node *node)
{
	if (node->n_inputs < 0 || node->n_inputs > node->cap_inputs)
		return pk_fail(v->err, -EINVAL, "`%s`: %d operands", node->name, node->n_inputs);
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *value = node->inputs[i];
		if (!value)
			continue;
		if (!pk_verify_owns(v, value))
			return pk_fail(v->err, -EINVAL, "`%s`: operand %d is of another graph",
				node->name, i);
		if (!v->defined[value->id])
			return pk_fail(v->err, -EINVAL, "`%s`: %%%s is used before it is defined",
				node->name, value->name);
		v->n_uses[value->id]++;
	}
	return 0;
}

static int pk_verify_outputs_of(struct pk_verify *v, const struct pk_node *node)
{
	const struct pk_op_info *info = pk_op_info(node->op);
	if (node->n_outputs < info->n_outputs_min || node->n_outputs > PK_VERIFY_MAX_OUTPUTS)
		return pk_fail(v->err, -EINVAL, "`%s`: %d outputs", node->name, node->n_outputs);
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		if (!value || !pk_verify_owns(v, value) || value->producer != node ||
			value->output_idx != i)
			return pk_fail(
				v->err, -EINVAL, "`%s`: output %d is not its own", node->name, i);
		v->defined[value->id] = true;
		int r = pk_verify_type(v, value);
		if (r < 0)
			return r;
	}
	return 0;
}

// Infers into copies, so that the graph stays as it is.
static int pk_verify_inferred(struct pk_verify *v, const struct pk_node *node)
{
	struct pk_value types[PK_VERIFY_MAX_OUTPUTS] = {0};
	struct pk_value *outputs[PK_VERIFY_MAX_OUTPUTS];
	struct pk_node copy = *node;
	for (int i = 0; i < node->n_outputs; i++)
		outputs[i] = &types[i];
	copy.outputs = outputs;
	int r = pk_infer_node(&copy, &node->outputs[0]->shape, v->err);
	if (r < 0)
		return -EINVAL;
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		char have[PK_SHAPE_TEXT_MAX], want[PK_SHAPE_TEXT_MAX];
		if (types[i].dtype == value->dtype &&
			pk_shape_equal(&types[i].shape, &value->shape))
			continue;
		pk_shape_format(&value->shape, have);
		pk_shape_format(&types[i].shape, want);
		return pk_fail(v->err, -EINVAL, "`%s`: %%%s is %s%s, inference gives %s%s",
			node->name, value->name, pk_dtype_name(value->dtype), have,
			pk_dtype_name(types[i].dtype), want);
	}
	return 0;
}

static int pk_verify_node(struct pk_verify *v, const struct pk_node *node)
{
	if (!node->name)
		return pk_fail(v->err, -EINVAL, "a node has no name");
	if ((int)node->op <= PK_OP_NONE || (int)node->op >= PK_N_OPS)
		return pk_fail(v->err, -EINVAL, "`%s`: operator %d does not exist", node->name,
			(int)node->op);
	if (!node->packed && node->packed_bytes > 0)
		return pk_fail(v->err, -EINVAL, "`%s`: packed size without bytes", node->name);
	int r = pk_verify_operands(v, node);
	if (r == 0)
		r = pk_verify_outputs_of(v, node);
	return r < 0 ? r : pk_verify_inferred(v, node);
}

static int pk_verify_nodes(struct pk_verify *v)
{
	const struct pk_node *node;
	int n_nodes = 0;
	pk_graph_each_node (node, v->graph) {
		int r = pk_verify_node(v, node);
		if (r < 0)
			return r;
		n_nodes++;
	}
	if (n_nodes != v->graph->n_nodes)
		return pk_fail(v->err, -EINVAL, "%d nodes counted, %d recorded", n_nodes,
			v->graph->n_nodes);
	return 0;
}

static int pk_verify_graph_outputs(struct pk_verify *v)
{
	for (int i = 0; i < v->graph->n_outputs; i++) {
		const struct pk_value *value = v->graph->outputs[i];
		if (!pk_verify_owns(v, value) || !v->defined[value->id])
			return pk_fail(v->err, -EINVAL, "output %d is not defined", i);
		if (!value->is_output)
			return pk_fail(
				v->err, -EINVAL, "%%%s is not marked as output", value->name);
	}
	return 0;
}

static bool pk_verify_is_listed(const struct pk_graph *graph, const struct pk_value *value)
{
	for (int i = 0; i < graph->n_outputs; i++)
		if (graph->outputs[i] == value)
			return true;
	return false;
}

static int pk_verify_counts(struct pk_verify *v)
{
	for (int i = 0; i < v->graph->n_values; i++) {
		const struct pk_value *value = v->graph->values[i];
		if (value->n_uses != v->n_uses[i])
			return pk_fail(v->err, -EINVAL, "%%%s has %d uses, not %d", value->name,
				v->n_uses[i], value->n_uses);
		if (value->producer && !v->defined[i])
			return pk_fail(v->err, -EINVAL, "%%%s: its producer is not in the graph",
				value->name);
		if (value->is_output && !pk_verify_is_listed(v->graph, value))
			return pk_fail(v->err, -EINVAL, "%%%s is marked as output but is none",
				value->name);
	}
	return 0;
}

int pk_verify_graph(const struct pk_graph *graph, struct pk_err *err)
{
	size_t n = (size_t)PK_MAX(graph->n_values, 1);
	pk_auto_free bool *defined = calloc(n, sizeof(*defined));
	pk_auto_free int *n_uses = calloc(n, sizeof(*n_uses));
	if (!defined || !n_uses)
		return pk_fail(err, -ENOMEM, "no memory");
	struct pk_verify v = {graph, err, defined, n_uses};
	int r = 0;
	for (int i = 0; i < graph->n_values && r == 0; i++)
		r = pk_verify_value(&v, i);
	if (r == 0)
		r = pk_verify_inputs(&v);
	if (r == 0)
		r = pk_verify_nodes(&v);
	if (r == 0)
		r = pk_verify_graph_outputs(&v);
	return r < 0 ? r : pk_verify_counts(&v);
}
