// SPDX-License-Identifier: Apache-2.0
// Chooses rows, packs, and makes device code.
#include "engine/cuda/lower.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/kernel.h"
#include "engine/cuda/layout.h"
#include "engine/cuda/nvrtc.h"
#include "engine/cuda/section.h"

#define MAX_PIECE_BYTES (64u << 20)

static struct pk_node *insert_identity(
	struct pk_graph *graph, struct pk_value *x, struct pk_node *before, struct pk_err *err)
{
	struct pk_value *inputs[] = {x};
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_IDENTITY, x->name, inputs, 1, before);
	if (!node || pk_graph_finish_node(graph, node, NULL, 1, NULL, err) < 0)
		return NULL;
	return node;
}

// Graph outputs are dense where other values of their type and rank are not.
static bool needs_border(const struct pk_value *value)
{
	struct pk_value inner = *value;
	struct pk_cuda_tensor outside, inside;
	inner.is_input = inner.is_output = false;
	pk_cuda_tensor_of(value, PK_F32, &outside);
	pk_cuda_tensor_of(&inner, PK_F32, &inside);
	return !pk_cuda_tensor_equal(&outside, &inside);
}

// All nodes but one read y instead of x.
static void redirect(struct pk_graph *graph, const struct pk_node *except, struct pk_value *x,
	struct pk_value *y)
{
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		for (int i = 0; node != except && i < node->n_inputs; i++) {
			if (node->inputs[i] == x)
				pk_graph_set_input(node, i, y);
		}
	}
}

static int insert_input_border(struct pk_graph *graph, struct pk_value *x, struct pk_err *err)
{
	struct pk_node *first = pk_list_empty(&graph->nodes)
					? NULL
					: pk_container_of(graph->nodes.next, struct pk_node, link);
	struct pk_node *border = insert_identity(graph, x, first, err);
	if (!border)
		return -ENOMEM;
	redirect(graph, border, x, border->outputs[0]);
	return 0;
}

// y stays what its producer makes and its other users read; the border's output takes over its
// name and its place among the graph's outputs.
static int insert_output_border(struct pk_graph *graph, struct pk_value *y, struct pk_err *err)
{
	struct pk_node *border = insert_identity(graph, y, NULL, err);
	if (!border)
		return -ENOMEM;
	struct pk_value *z = border->outputs[0];
	pk_graph_replace_uses(graph, y, z);
	redirect(graph, NULL, z, y);
	return 0;
}

int pk_cuda_insert_borders(struct pk_graph *graph, struct pk_err *err)
{
	int r = 0;
	for (int i = 0; r == 0 && i < graph->n_inputs; i++) {
		struct pk_value *x = graph->inputs[i];
		if (x->n_uses > 0 && needs_border(x))
			r = insert_input_border(graph, x, err);
	}
	for (int i = 0; r == 0 && i < graph->n_outputs; i++) {
		struct pk_value *y = graph->outputs[i];
		if (y->producer && y->producer->op != PK_OP_IDENTITY && needs_border(y))
			r = insert_output_border(graph, y, err);
	}
	return r < 0 ? pk_fail(err, r, "out of memory") : 0;
}

struct lowerer {
	struct pk_runtime_build *build;
	struct pk_cuda *cuda;
	struct pk_cuda_steps *steps;
	const struct pk_cuda_chooser *chooser; // NULL: by rank
	struct pk_buf *code;
	struct pk_buf piece;
	struct pk_cuda_choice choice;
};

int pk_cuda_choose_by_rank(struct pk_cuda *cuda, const struct pk_cuda_call *call,
	struct pk_cuda_choice *choice, struct pk_err *err)
{
	const struct pk_cuda_row *row = pk_cuda_row_next(call, INT_MAX);
	int r = 0;
	pk_buf_clear(&choice->json);
	while (row && row->plan &&
		(r = row->plan->build(call, cuda, &choice->json, err)) == -ENOTSUP) {
		pk_buf_clear(&choice->json);
		row = pk_cuda_row_next(call, row->rank);
	}
	choice->row = row;
	return row && row->plan ? r : 0;
}

static int add_plan(struct lowerer *l, int at, struct pk_err *err)
{
	char name[PK_CUDA_PIECE_NAME];
	snprintf(name, sizeof(name), "#%d", at);
	int r = pk_cuda_section_add(l->code, name, l->choice.json.data, l->choice.json.len);
	return r < 0 ? pk_fail(err, r, "device code: %s", strerror(-r)) : 0;
}

static int choose_row(struct lowerer *l, int at, struct pk_err *err)
{
	struct pk_cuda_step *step = &l->steps->items[at];
	int r = l->chooser ? l->chooser->choose(l->chooser->ctx, &step->call, &l->choice, err)
			   : pk_cuda_choose_by_rank(l->cuda, &step->call, &l->choice, err);
	if (r < 0)
		return r;
	step->row = l->choice.row;
	if (!step->row)
		return 0;
	step->kind = step->row->plan ? PK_CUDA_STEP_PLAN : PK_CUDA_STEP_KERNELS;
	return step->row->plan ? add_plan(l, at, err) : 0;
}

static int choose_island(struct pk_cuda_step *step, struct pk_err *err)
{
	const struct pk_node *node = step->call.node;
	if (!pk_cpu_kernel_default(node))
		return pk_fail(err, -ENOTSUP, "node `%s` (%s): no kernel for it, nor for the cpu",
			node->name, pk_op_info(node->op)->name);
	step->kind = PK_CUDA_STEP_ISLAND;
	return 0;
}

static int pack(struct pk_graph *graph, const struct pk_cuda_step *step, struct pk_node *node,
	struct pk_err *err)
{
	size_t bytes = step->row->pack_bytes ? step->row->pack_bytes(&step->call) : 0;
	node->packed = NULL;
	node->packed_bytes = bytes;
	if (!bytes)
		return 0;
	char *raw = bytes <= SIZE_MAX - PK_CUDA_ALIGN
			    ? pk_arena_alloc(graph->arena, bytes + PK_CUDA_ALIGN)
			    : NULL;
	if (!raw)
		return pk_fail(err, -ENOMEM, "out of memory packing weights of `%s`", node->name);
	void *packed = (void *)pk_align_up((size_t)raw, PK_CUDA_ALIGN);
	step->row->pack(&step->call, packed);
	node->packed = packed;
	return 0;
}

static int lower_step(struct lowerer *l, int at, struct pk_node *node, struct pk_err *err)
{
	struct pk_cuda_step *step = &l->steps->items[at];
	if (step->kind == PK_CUDA_STEP_VIEW) {
		node->kernel = PK_CUDA_VIEW_NAME;
		return 0;
	}
	int r = choose_row(l, at, err);
	if (r == 0 && !step->row)
		r = choose_island(step, err);
	if (r < 0)
		return r;
	node->kernel = step->row ? step->row->name : PK_CUDA_ISLAND_NAME;
	l->build->n_islands += step->kind == PK_CUDA_STEP_ISLAND;
	return step->row ? pack(l->steps->graph, step, node, err) : 0;
}

static bool is_used(const struct pk_cuda_steps *steps, const struct pk_cuda_source *source)
{
	for (int i = 0; i < steps->n; i++) {
		const struct pk_cuda_step *step = &steps->items[i];
		if (step->kind == PK_CUDA_STEP_KERNELS &&
			strcmp(step->row->source, source->name) == 0)
			return true;
	}
	return false;
}

// As compiled before on this device, or now.
static int cubin_of(struct lowerer *l, const struct pk_cuda_source *source,
	const struct pk_buf **out, struct pk_err *err)
{
	ptrdiff_t at = source - pk_cuda_sources;
	struct pk_buf *cubin = at < PK_CUDA_MAX_SOURCES ? &l->cuda->cubins[at] : &l->piece;
	*out = cubin;
	if (cubin != &l->piece && cubin->len > 0)
		return 0;
	pk_buf_finish(cubin);
	pk_buf_init(cubin, MAX_PIECE_BYTES);
	return pk_nvrtc_compile(l->cuda, source, cubin, err);
}

static int add_cubins(struct lowerer *l, struct pk_err *err)
{
	int r = 0;
	for (const struct pk_cuda_source *source = pk_cuda_sources; r == 0 && source->name;
		source++) {
		const struct pk_buf *cubin = NULL;
		if (!is_used(l->steps, source))
			continue;
		r = cubin_of(l, source, &cubin, err);
		if (r == 0 &&
			pk_cuda_section_add(l->code, source->name, cubin->data, cubin->len) < 0)
			r = pk_fail(err, -ENOMEM, "out of memory");
	}
	return r;
}

// Constants that only pack has read are not stored a second time.
static void elide_packed(const struct pk_cuda_steps *steps)
{
	for (int i = 0; i < steps->graph->n_values; i++) {
		struct pk_value *value = steps->graph->values[i];
		value->elided = value->data && value->n_uses > 0 && !value->is_output;
	}
	for (int i = 0; i < steps->n; i++) {
		const struct pk_node *node = steps->items[i].call.node;
		for (int k = 0; k < node->n_inputs; k++) {
			if (pk_cuda_step_reads(&steps->items[i], k))
				node->inputs[k]->elided = false;
		}
	}
}

static int tell(const struct lowerer *l, int done, const char *what, struct pk_err *err)
{
	struct pk_runtime_build *build = l->build;
	if (build->progress && build->progress(build->ctx, done, l->steps->n, what))
		return pk_fail(err, -ECANCELED, "canceled");
	return 0;
}

int pk_cuda_lower(struct pk_runtime_build *build, struct pk_cuda *cuda,
	const struct pk_cuda_chooser *chooser, struct pk_cuda_steps *steps, struct pk_buf *code,
	struct pk_err *err)
{
	struct lowerer l = {
		.build = build, .cuda = cuda, .steps = steps, .chooser = chooser, .code = code};
	pk_buf_init(&l.piece, MAX_PIECE_BYTES);
	pk_buf_init(&l.choice.json, MAX_PIECE_BYTES);
	int at = 0, r = 0;
	struct pk_node *node;
	pk_graph_each_node (node, steps->graph) {
		r = lower_step(&l, at++, node, err);
		if (r == 0)
			r = tell(&l, at, node->name, err);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = add_cubins(&l, err);
	if (r == 0)
		elide_packed(steps);
	pk_buf_finish(&l.piece);
	pk_buf_finish(&l.choice.json);
	return r;
}
