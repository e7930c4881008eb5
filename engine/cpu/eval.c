// SPDX-License-Identifier: Apache-2.0
// Runs single nodes and whole graphs with the reference kernels.
#include "engine/cpu/eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "engine/cpu/kernel.h"
#include "engine/ir/layout.h"

static void *aligned(size_t bytes)
{
	size_t rounded = pk_align_up(bytes ? bytes : 1, PK_CPU_ALIGN);
	return rounded == SIZE_MAX ? NULL : aligned_alloc(PK_CPU_ALIGN, rounded);
}

// What one node needs while it runs.
struct scratch {
	const void **inputs;
	void **copies; // of misaligned operands, or NULL
	int n_inputs;
	void *packed, *workspace;
	struct pk_cpu_memory memory;
	struct pk_arena *arena;
};

static void scratch_finish(struct scratch *s)
{
	for (int i = 0; s->copies && i < s->n_inputs; i++)
		free(s->copies[i]);
	free(s->copies);
	free(s->inputs);
	free(s->packed);
	free(s->workspace);
	pk_arena_destroy(s->arena);
}

// Constants lie in the model file wherever protobuf put them: misaligned ones are copied.
static int set_operand(struct scratch *s, int idx, const struct pk_value *value, const void *data)
{
	if ((uintptr_t)data % PK_CPU_ALIGN == 0 || !data) {
		s->inputs[idx] = data;
		return 0;
	}
	size_t bytes = pk_layout_bytes(value);
	s->copies[idx] = bytes == SIZE_MAX ? NULL : aligned(bytes);
	if (!s->copies[idx])
		return -ENOMEM;
	memcpy(s->copies[idx], data, bytes);
	s->inputs[idx] = s->copies[idx];
	return 0;
}

static int scratch_init(struct scratch *s, const struct pk_cpu_kernel *kernel,
	const struct pk_node *node, const void *const *operands)
{
	size_t n = (size_t)node->n_inputs + 1;
	s->n_inputs = node->n_inputs;
	s->inputs = calloc(n, sizeof(*s->inputs));
	s->copies = calloc(n, sizeof(*s->copies));
	s->arena = pk_arena_create(0);
	if (!s->inputs || !s->copies || !s->arena)
		return -ENOMEM;
	for (int i = 0; i < node->n_inputs; i++) {
		int r = node->inputs[i] ? set_operand(s, i, node->inputs[i], operands[i]) : 0;
		if (r < 0)
			return r;
	}
	s->memory = pk_cpu_kernel_memory(kernel, node);
	s->workspace = aligned(pk_cpu_memory_bytes(&s->memory, 1));
	if (!s->workspace)
		return -ENOMEM;
	if (kernel->pack_bytes) {
		s->packed = aligned(kernel->pack_bytes(node));
		if (!s->packed)
			return -ENOMEM;
		kernel->pack(node, s->packed);
	}
	return 0;
}

// operands: one per node input, NULL for those left out.
static int run_row(const struct pk_cpu_kernel *kernel, const struct pk_node *node,
	const void *const *operands, void *const *outputs, struct pk_err *err)
{
	struct scratch s = {0};
	const void *state = NULL;
	int r = scratch_init(&s, kernel, node, operands);
	if (r == 0 && kernel->setup)
		r = kernel->setup(node, s.arena, &state);
	if (r == 0) {
		struct pk_cpu_call call = {
			.inputs = s.inputs,
			.outputs = outputs,
			.packed = s.packed,
			.state = state,
		};
		pk_cpu_call_set_memory(&call, &s.memory, s.workspace);
		kernel->run(&call);
	} else {
		pk_fail(err, r, "node `%s`: out of memory", node->name);
	}
	scratch_finish(&s);
	return r;
}

// kernel NULL: no row takes the node.
static int run_node(const struct pk_node *node, const struct pk_cpu_kernel *kernel,
	const void *const *operands, void *const *outputs, struct pk_err *err)
{
	if (!kernel)
		return pk_fail(err, -ENOTSUP, "node `%s`: no cpu kernel for this %s", node->name,
			pk_op_info(node->op)->name);
	return run_row(kernel, node, operands, outputs, err);
}

const char *pk_cpu_kernel_name(const struct pk_cpu_kernel *row)
{
	return row->name;
}

int pk_cpu_eval_row(const struct pk_cpu_kernel *row, const struct pk_node *node,
	const void *const *operands, void *const *outputs, struct pk_err *err)
{
	if (!pk_cpu_kernel_supports(row, node))
		return 0;
	int r = run_row(row, node, operands, outputs, err);
	return r < 0 ? r : 1;
}

static int eval_const_node(const struct pk_node *node, void *const *outputs, struct pk_err *err)
{
	const void **operands = calloc((size_t)node->n_inputs + 1, sizeof(*operands));
	int r = 0;
	if (!operands)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (int i = 0; i < node->n_inputs; i++) {
		operands[i] = node->inputs[i] ? node->inputs[i]->data : NULL;
		if (node->inputs[i] && !operands[i])
			r = pk_fail(err, -EINVAL, "node `%s`: operand %d is not constant",
				node->name, i);
	}
	if (r == 0)
		r = run_node(node, pk_cpu_kernel_reference(node), operands, outputs, err);
	free(operands);
	return r;
}

const struct pk_evaluator pk_cpu_evaluator = {.eval = eval_const_node};

// Buffers of a whole graph by value id: owned ones apart, freed after their last use unless all are
// kept for the caller.
struct pk_cpu_values {
	const void **data;
	void **owned;
	int *n_uses; // reads still to come, graph outputs included
	int n;
	bool keep_all;
};

static void values_finish(struct pk_cpu_values *v)
{
	for (int i = 0; v->owned && i < v->n; i++)
		free(v->owned[i]);
	free(v->owned);
	free(v->data);
	free(v->n_uses);
}

static void count_uses(struct pk_cpu_values *v, const struct pk_graph *graph)
{
	const struct pk_node *node;
	pk_graph_each_node (node, graph) {
		for (int i = 0; i < node->n_inputs; i++) {
			if (node->inputs[i])
				v->n_uses[node->inputs[i]->id]++;
		}
	}
	for (int i = 0; i < graph->n_outputs; i++)
		v->n_uses[graph->outputs[i]->id]++;
}

static int values_init(
	struct pk_cpu_values *v, const struct pk_graph *graph, const void *const *inputs)
{
	v->n = graph->n_values;
	v->data = calloc((size_t)v->n + 1, sizeof(*v->data));
	v->owned = calloc((size_t)v->n + 1, sizeof(*v->owned));
	v->n_uses = calloc((size_t)v->n + 1, sizeof(*v->n_uses));
	if (!v->data || !v->owned || !v->n_uses)
		return -ENOMEM;
	count_uses(v, graph);
	for (int i = 0; i < graph->n_values; i++)
		v->data[i] = graph->values[i]->data;
	for (int i = 0; i < graph->n_inputs; i++)
		v->data[graph->inputs[i]->id] = inputs[i];
	return 0;
}

static int eval_node(struct pk_cpu_values *v, const struct pk_node *node,
	const struct pk_eval_options *options, struct pk_err *err)
{
	const struct pk_cpu_kernel *kernel =
		options->fast ? pk_cpu_kernel_default(node) : pk_cpu_kernel_reference(node);
	size_t n_in = (size_t)node->n_inputs, n_out = (size_t)node->n_outputs;
	const void **operands = calloc(n_in + 1, sizeof(*operands));
	void **outputs = calloc(n_out + 1, sizeof(*outputs));
	int r = operands && outputs ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n_in; i++)
		operands[i] = node->inputs[i] ? v->data[node->inputs[i]->id] : NULL;
	for (size_t i = 0; r == 0 && i < n_out; i++) {
		const struct pk_value *value = node->outputs[i];
		size_t bytes = pk_layout_bytes(value);
		outputs[i] = bytes == SIZE_MAX ? NULL : aligned(bytes);
		if (!outputs[i])
			r = -ENOMEM;
		v->owned[value->id] = outputs[i];
		v->data[value->id] = outputs[i];
	}
	r = r ? pk_fail(err, r, "node `%s`: out of memory", node->name)
	      : run_node(node, kernel, operands, outputs, err);
	for (size_t i = 0; r == 0 && options->watch && i < n_out; i++)
		options->watch(options->ctx, node->outputs[i], outputs[i]);
	free(operands);
	free(outputs);
	return r;
}

static void drop_if_dead(struct pk_cpu_values *v, const struct pk_value *value)
{
	if (v->n_uses[value->id] > 0 || !v->owned[value->id])
		return;
	free(v->owned[value->id]);
	v->owned[value->id] = NULL;
	v->data[value->id] = NULL;
}

// What nobody reads after this node: a gate of a large model must not hold all of its activations.
static void drop_dead(struct pk_cpu_values *v, const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		if (!node->inputs[i])
			continue;
		v->n_uses[node->inputs[i]->id]--;
		drop_if_dead(v, node->inputs[i]);
	}
	for (int i = 0; i < node->n_outputs; i++)
		drop_if_dead(v, node->outputs[i]);
}

static int eval_all(struct pk_cpu_values *v, const struct pk_graph *graph,
	const struct pk_eval_options *options, const void *const *inputs, struct pk_err *err)
{
	const struct pk_node *node;
	int r = values_init(v, graph, inputs);
	if (r < 0)
		pk_fail(err, r, "out of memory");
	pk_graph_each_node (node, graph) {
		if (r < 0)
			break;
		r = eval_node(v, node, options, err);
		if (!v->keep_all)
			drop_dead(v, node);
	}
	return r;
}

int pk_cpu_eval_graph(const struct pk_graph *graph, const void *const *inputs, void *const *outputs,
	struct pk_err *err)
{
	struct pk_eval_options options = {0};
	return pk_cpu_eval_with(graph, &options, inputs, outputs, err);
}

int pk_cpu_eval_with(const struct pk_graph *graph, const struct pk_eval_options *options,
	const void *const *inputs, void *const *outputs, struct pk_err *err)
{
	struct pk_cpu_values v = {0};
	int r = eval_all(&v, graph, options, inputs, err);
	for (int i = 0; r == 0 && i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		memcpy(outputs[i], v.data[value->id], pk_layout_bytes(value));
	}
	values_finish(&v);
	return r;
}

int pk_cpu_values_compute(const struct pk_graph *graph, const void *const *inputs,
	struct pk_cpu_values **out, struct pk_err *err)
{
	pk_auto(pk_cpu_values) v = calloc(1, sizeof(*v));
	if (!v)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_eval_options options = {0};
	v->keep_all = true;
	int r = eval_all(v, graph, &options, inputs, err);
	if (r == 0)
		*out = pk_steal(v);
	return r;
}

const void *pk_cpu_values_get(const struct pk_cpu_values *values, const struct pk_value *value)
{
	return values->data[value->id];
}

void pk_cpu_values_destroy(struct pk_cpu_values *values)
{
	if (!values)
		return;
	values_finish(values);
	free(values);
}
