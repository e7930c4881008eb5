// SPDX-License-Identifier: Apache-2.0
// ONNX model → IR: the frame around the import of the nodes.
#include "engine/onnx/import.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "engine/onnx/bind.h"
#include "engine/onnx/body.h"
#include "engine/onnx/importer.h"

#define MIB ((size_t)1 << 20)

static int check_model(const struct pk_onnx_model *model, struct pk_err *err)
{
	int64_t opset = pk_body_opset(model, (struct pk_onnx_str){0});
	if (opset > PK_ONNX_MAX_OPSET)
		return pk_fail(err, -ENOTSUP,
			"opset %lld is newer than what Picket knows; export the model with "
			"opset %d or lower",
			(long long)opset, PK_ONNX_MAX_OPSET);
	if (model->graph->n_sparse_initializers)
		return pk_fail(
			err, -ENOTSUP, "the model has sparse weights; export it with dense ones");
	if (!model->graph->n_outputs)
		return pk_fail(err, -EINVAL, "the graph has no outputs");
	return 0;
}

// A declared output keeps its name: where it is another value under that name (an input, a constant
// that was folded to an alias), a node gives it one of its own.
static int add_output(struct pk_import_state *state, const struct pk_names *names,
	struct pk_onnx_str text, struct pk_err *err)
{
	struct pk_value *value;
	int rc = pk_body_resolve(state, names, text, &value, err);
	if (rc) {
		pk_err_prefix(err, "output `%.*s`", PK_STR_ARG(text));
		return rc;
	}
	if (!value) // poisoned, stands in the report
		return 0;
	const char *name = pk_onnx_str_dup(state->scratch, text);
	if (!name)
		return pk_fail(err, -ENOMEM, "no memory for the outputs");
	if (strcmp(value->name, name) != 0) {
		struct pk_node *node =
			pk_graph_new_node(state->graph, PK_OP_IDENTITY, name, &value, 1, NULL);
		if (!node)
			return pk_fail(err, -ENOMEM, "no memory for the outputs");
		rc = pk_graph_finish_node(state->graph, node, &name, 1, NULL, err);
		if (rc)
			return rc;
		value = node->outputs[0];
	}
	if (strcmp(value->name, name) != 0)
		return pk_fail(
			err, -EINVAL, "output `%s`: the name is taken by another value", name);
	rc = pk_graph_add_output(state->graph, value);
	return rc ? pk_fail(err, rc, "no memory for the outputs") : 0;
}

// Shape takes a value's shape, not its elements: what computed them may be needed by nobody now.
static void remove_dead(struct pk_graph *graph)
{
	struct pk_list *at = graph->nodes.prev;
	while (at != &graph->nodes) {
		struct pk_node *node = pk_list_entry(at, struct pk_node, link);
		bool used = false;
		at = at->prev;
		for (int i = 0; i < node->n_outputs; i++)
			used |= node->outputs[i]->n_uses || node->outputs[i]->is_output;
		if (!used)
			pk_graph_remove_node(graph, node);
	}
}

static int import_graph(struct pk_import_state *state, struct pk_err *err)
{
	const struct pk_onnx_graph *body = state->model->graph;
	struct pk_names names = {0};
	int rc = pk_names_build(&names, body, state->scratch, err);
	if (!rc)
		rc = pk_bind_inputs(state, &names, err);
	if (!rc)
		rc = pk_body_import(state, body, &names, err);
	for (size_t i = 0; !rc && i < body->n_outputs; i++)
		rc = add_output(state, &names, body->outputs[i].name, err);
	if (rc)
		return rc;
	if (state->n_unsupported)
		return pk_fail(err, -ENOTSUP, "%zu nodes are not supported", state->n_unsupported);
	remove_dead(state->graph);
	return 0;
}

int pk_onnx_import(const struct pk_onnx_model *model, const struct pk_import_options *options,
	struct pk_graph **out, struct pk_err *err)
{
	assert(options->evaluator);
	size_t bound = options->max_graph_bytes ? options->max_graph_bytes
						: 16 * model->n_bytes + 64 * MIB;
	int rc = check_model(model, err);
	if (rc)
		return rc;
	pk_auto(pk_graph) graph = pk_graph_create(bound);
	pk_auto(pk_arena) scratch = pk_arena_create(bound);
	if (!graph || !scratch)
		return pk_fail(err, -ENOMEM, "no memory for the graph");
	struct pk_import_state state = {
		.model = model,
		.options = options,
		.graph = graph,
		.scratch = scratch,
		.max_folded_bytes =
			options->max_folded_bytes ? options->max_folded_bytes : 64 * MIB,
	};
	rc = import_graph(&state, err);
	if (rc)
		return rc;
	if (options->n_denormals)
		*options->n_denormals = state.n_denormals;
	*out = pk_steal(graph);
	return 0;
}
