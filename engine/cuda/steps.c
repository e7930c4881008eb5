// SPDX-License-Identifier: Apache-2.0
// Steps from nodes.
#include "engine/cuda/steps.h"

#include <errno.h>
#include <string.h>

#include "engine/cpu/kernel.h"
#include "engine/cuda/layout.h"

static bool is_view(const struct pk_node *node, const struct pk_cuda_tensor *tensors)
{
	if (!(pk_op_info(node->op)->flags & PK_OP_VIEW) || node->inputs[0]->data)
		return false;
	const struct pk_cuda_tensor *x = &tensors[node->inputs[0]->id];
	const struct pk_cuda_tensor *y = &tensors[node->outputs[0]->id];
	if (x->layout == PK_CUDA_DENSE && y->layout == PK_CUDA_DENSE)
		return x->dtype == y->dtype && x->elements == y->elements;
	return pk_cuda_tensor_equal(x, y);
}

static int step_init(struct pk_cuda_steps *steps, struct pk_cuda_step *step, struct pk_node *node)
{
	size_t n_in = (size_t)node->n_inputs, n_out = (size_t)node->n_outputs;
	struct pk_cuda_tensor *at = pk_arena_array(steps->arena, n_in + n_out + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < n_in; i++) {
		if (node->inputs[i])
			at[i] = steps->tensors[node->inputs[i]->id];
	}
	for (size_t i = 0; i < n_out; i++)
		at[n_in + i] = steps->tensors[node->outputs[i]->id];
	step->call = (struct pk_cuda_call){
		.node = node,
		.inputs = at,
		.outputs = at + n_in,
		.float_type = steps->float_type,
	};
	if (is_view(node, steps->tensors))
		step->kind = PK_CUDA_STEP_VIEW;
	return 0;
}

int pk_cuda_steps_init(struct pk_cuda_steps *steps, struct pk_graph *graph,
	enum pk_dtype float_type, struct pk_err *err)
{
	*steps = (struct pk_cuda_steps){.graph = graph, .float_type = float_type};
	size_t n_values = (size_t)graph->n_values + 1, n_nodes = (size_t)graph->n_nodes + 1;
	int r = -ENOMEM;
	steps->arena = pk_arena_create(0);
	if (!steps->arena)
		goto fail;
	steps->tensors = pk_arena_array(steps->arena, n_values, sizeof(*steps->tensors));
	steps->items = pk_arena_array(steps->arena, n_nodes, sizeof(*steps->items));
	if (!steps->tensors || !steps->items)
		goto fail;
	for (int i = 0; i < graph->n_values; i++)
		pk_cuda_tensor_of(graph->values[i], float_type, &steps->tensors[i]);
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		r = step_init(steps, &steps->items[steps->n++], node);
		if (r < 0)
			goto fail;
	}
	return 0;
fail:
	pk_cuda_steps_finish(steps);
	return pk_fail(err, r, "out of memory");
}

void pk_cuda_steps_finish(struct pk_cuda_steps *steps)
{
	pk_arena_destroy(steps->arena);
	*steps = (struct pk_cuda_steps){0};
}

// A constant without its bytes may only stand where the row's pack has read it.
static bool constants_present(const struct pk_cuda_step *step)
{
	const struct pk_node *node = step->call.node;
	for (int i = 0; i < node->n_inputs; i++) {
		if (node->inputs[i] && node->inputs[i]->elided && pk_cuda_step_reads(step, i))
			return false;
	}
	return true;
}

static bool find_by_name(struct pk_cuda_step *step)
{
	const struct pk_node *node = step->call.node;
	const char *name = node->kernel ? node->kernel : "";
	if (step->kind == PK_CUDA_STEP_VIEW)
		return strcmp(name, PK_CUDA_VIEW_NAME) == 0;
	if (strcmp(name, PK_CUDA_ISLAND_NAME) == 0) {
		step->kind = PK_CUDA_STEP_ISLAND;
		return pk_cpu_kernel_default(node) != NULL && node->packed_bytes == 0;
	}
	step->row = pk_cuda_row_by_name(name);
	if (!step->row || step->row->op != node->op || !step->row->supports(&step->call))
		return false;
	step->kind = step->row->plan ? PK_CUDA_STEP_PLAN : PK_CUDA_STEP_KERNELS;
	size_t packed = step->row->pack_bytes ? step->row->pack_bytes(&step->call) : 0;
	return packed == node->packed_bytes;
}

int pk_cuda_steps_by_name(struct pk_cuda_steps *steps, struct pk_err *err)
{
	for (int i = 0; i < steps->n; i++) {
		const struct pk_node *node = steps->items[i].call.node;
		if (!find_by_name(&steps->items[i]) || !constants_present(&steps->items[i]))
			return pk_fail(err, -EBADMSG, "node `%s`: kernel `%s` does not fit",
				node->name, node->kernel ? node->kernel : "");
	}
	return 0;
}

bool pk_cuda_step_reads(const struct pk_cuda_step *step, int idx)
{
	const struct pk_value *value = step->call.node->inputs[idx];
	bool packed = step->row && idx < 32 && (step->row->host_inputs >> idx & 1);
	return value && !(packed && value->data);
}
