// SPDX-License-Identifier: Apache-2.0
// Runs a node by its cpu kernel within a stream.
#include "engine/cuda/island.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "engine/cpu/kernel.h"
#include "engine/cuda/layout.h"

struct pk_cuda_island {
	const struct pk_cuda_step *step;
	const struct pk_cpu_kernel *kernel;
	struct pk_arena *arena; // setup() state
	const void *state;
	struct pk_cpu_memory memory; // workspace and scratch
	void *packed;
};

static void *aligned(size_t bytes)
{
	size_t size = pk_align_up(bytes ? bytes : 1, PK_CPU_ALIGN);
	return size == SIZE_MAX ? NULL : aligned_alloc(PK_CPU_ALIGN, size);
}

int pk_cuda_island_create(
	const struct pk_cuda_step *step, struct pk_cuda_island **out, struct pk_err *err)
{
	const struct pk_node *node = step->call.node;
	struct pk_cuda_island *island = calloc(1, sizeof(*island));
	if (!island)
		return pk_fail(err, -ENOMEM, "out of memory");
	island->step = step;
	island->kernel = pk_cpu_kernel_default(node);
	island->arena = pk_arena_create(0);
	island->memory = pk_cpu_kernel_memory(island->kernel, node);
	size_t packed = island->kernel->pack_bytes ? island->kernel->pack_bytes(node) : 0;
	if (packed)
		island->packed = aligned(packed);
	if (!island->arena || (packed && !island->packed))
		goto fail;
	if (packed)
		island->kernel->pack(node, island->packed);
	if (island->kernel->setup && island->kernel->setup(node, island->arena, &island->state) < 0)
		goto fail;
	*out = island;
	return 0;
fail:
	pk_cuda_island_destroy(island);
	return pk_fail(err, -ENOMEM, "node `%s`: out of memory", node->name);
}

void pk_cuda_island_destroy(struct pk_cuda_island *island)
{
	if (!island)
		return;
	pk_arena_destroy(island->arena);
	free(island->packed);
	free(island);
}

// One operand or result: as it comes from or goes to the device, and as the kernel sees it.
struct side {
	const struct pk_value *value; // NULL: left out
	const struct pk_cuda_tensor *tensor;
	void *staging; // pinned; NULL for constants
	void *dense;   // equals staging when the layout is dense
	bool owned;    // dense is
};

struct pk_cuda_island_run {
	const struct pk_cuda_island *island;
	struct pk_cuda *cuda;
	void *pinned;
	struct side *sides; // inputs, then outputs
	void **operands;    // what call points into
	void *workspace;
	struct pk_cpu_call call;
};

static int n_sides(const struct pk_node *node)
{
	return node->n_inputs + node->n_outputs;
}

static size_t staging_bytes(const struct side *side)
{
	return side->value && !side->value->data
		       ? pk_align_up(pk_cuda_tensor_bytes(side->tensor), PK_CUDA_ALIGN)
		       : 0;
}

static void name_sides(struct pk_cuda_island_run *run)
{
	const struct pk_cuda_call *call = &run->island->step->call;
	int n_in = call->node->n_inputs;
	for (int i = 0; i < n_sides(call->node); i++) {
		run->sides[i].value =
			i < n_in ? call->node->inputs[i] : call->node->outputs[i - n_in];
		run->sides[i].tensor = i < n_in ? &call->inputs[i] : &call->outputs[i - n_in];
	}
}

static int give_buffers(struct pk_cuda_island_run *run, struct side *side, char **at)
{
	if (!side->value)
		return 0;
	side->dense = (void *)(uintptr_t)side->value->data;
	if (side->value->data)
		return 0;
	side->dense = side->staging = *at;
	*at += staging_bytes(side);
	if (side->tensor->layout == PK_CUDA_DENSE)
		return 0;
	side->owned = true;
	side->dense = aligned(pk_tensor_bytes(side->value->dtype, &side->value->shape));
	return side->dense ? 0 : -ENOMEM;
}

static int run_init(struct pk_cuda_island_run *run, struct pk_err *err)
{
	const struct pk_cuda_island *island = run->island;
	const struct pk_node *node = island->step->call.node;
	size_t n = (size_t)n_sides(node) + 1, pinned = PK_CUDA_ALIGN;
	run->sides = calloc(n, sizeof(*run->sides));
	run->operands = calloc(n, sizeof(*run->operands));
	run->workspace = aligned(pk_cpu_memory_bytes(&island->memory, 1));
	if (!run->sides || !run->operands || !run->workspace)
		return pk_fail(err, -ENOMEM, "node `%s`: out of memory", node->name);
	name_sides(run);
	for (int i = 0; i < n_sides(node); i++)
		pinned += staging_bytes(&run->sides[i]);
	int r = pk_cuda_try(
		run->cuda, err, mem_host_alloc, &run->pinned, pinned, PK_CU_HOST_PORTABLE);
	char *at = run->pinned;
	for (int i = 0; r == 0 && i < n_sides(node); i++) {
		r = give_buffers(run, &run->sides[i], &at);
		run->operands[i] = run->sides[i].dense;
		if (r < 0)
			(void)pk_fail(err, r, "node `%s`: out of memory", node->name);
	}
	run->call = (struct pk_cpu_call){
		.inputs = (const void *const *)run->operands,
		.outputs = run->operands + node->n_inputs,
		.packed = island->packed,
		.state = island->state,
	};
	pk_cpu_call_set_memory(&run->call, &island->memory, run->workspace);
	return r;
}

int pk_cuda_island_run_create(const struct pk_cuda_island *island, struct pk_cuda *cuda,
	struct pk_cuda_island_run **out, struct pk_err *err)
{
	struct pk_cuda_island_run *run = calloc(1, sizeof(*run));
	if (!run)
		return pk_fail(err, -ENOMEM, "out of memory");
	run->island = island;
	run->cuda = cuda;
	int r = run_init(run, err);
	if (r < 0) {
		pk_cuda_island_run_destroy(run);
		return r;
	}
	*out = run;
	return 0;
}

void pk_cuda_island_run_destroy(struct pk_cuda_island_run *run)
{
	if (!run)
		return;
	for (int i = 0; run->sides && i < n_sides(run->island->step->call.node); i++) {
		if (run->sides[i].owned)
			free(run->sides[i].dense);
	}
	if (run->pinned)
		(void)run->cuda->driver.mem_free_host(run->pinned);
	free(run->sides);
	free(run->operands);
	free(run->workspace);
	free(run);
}

// Called by the driver in the stream's order; may not call it back.
static void run_on_host(void *ctx)
{
	struct pk_cuda_island_run *run = ctx;
	const struct pk_node *node = run->island->step->call.node;
	for (int i = 0; i < node->n_inputs; i++) {
		const struct side *side = &run->sides[i];
		if (side->owned)
			pk_cuda_to_host_form(side->value, side->tensor, side->staging, side->dense);
	}
	run->island->kernel->run(&run->call);
	for (int i = node->n_inputs; i < n_sides(node); i++) {
		const struct side *side = &run->sides[i];
		if (side->owned)
			pk_cuda_to_device_form(
				side->value, side->tensor, side->dense, side->staging);
	}
}

int pk_cuda_island_enqueue(struct pk_cuda_island_run *run, const struct pk_cuda_addresses *at,
	struct pk_cu_stream *stream, struct pk_err *err)
{
	const struct pk_node *node = run->island->step->call.node;
	int r = 0;
	for (int i = 0; r == 0 && i < node->n_inputs; i++) {
		const struct side *side = &run->sides[i];
		if (side->staging)
			r = pk_cuda_try(run->cuda, err, memcpy_dtoh_async, side->staging,
				at->inputs[i], pk_cuda_tensor_bytes(side->tensor), stream);
	}
	if (r == 0)
		r = pk_cuda_try(run->cuda, err, launch_host_func, stream, run_on_host, run);
	for (int i = 0; r == 0 && i < node->n_outputs; i++) {
		const struct side *side = &run->sides[node->n_inputs + i];
		r = pk_cuda_try(run->cuda, err, memcpy_htod_async, at->outputs[i], side->staging,
			pk_cuda_tensor_bytes(side->tensor), stream);
	}
	return r;
}
