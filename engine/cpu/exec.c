// SPDX-License-Identifier: Apache-2.0
// The cpu executor: a list of kernel calls over one arena per slot. The host's cores are the
// device, so a submitted run is carried out by the thread that waits for it.
#include "engine/cpu/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "engine/compile/memory_plan.h"
#include "engine/cpu/float_mode.h"
#include "engine/cpu/kernel.h"
#include "engine/cpu/poison.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"

const struct pk_memory_rules pk_cpu_memory_rules = {
	.align = PK_CPU_ALIGN,
	.in_place = pk_cpu_kernel_in_place,
};

struct step {
	const struct pk_node *node;
	const struct pk_cpu_kernel *kernel; // NULL: all lies in place, nothing to do
	const void *state;
	struct pk_cpu_memory memory;
};

struct loaded {
	struct pk_graph *graph;
	struct pk_memory_plan memory;
	struct pk_arena *arena; // setup() state
	struct step *steps;
	int n_steps;
	int n_operands; // of all steps
	size_t weight_bytes;
};

// A constant whose plain bytes were left out may only stand where the kernel reads packed weights.
static bool constants_present(const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		bool elided = node->inputs[i] && node->inputs[i]->elided;
		if (elided && !(i == 1 && node->packed))
			return false;
	}
	return true;
}

static int load_step(
	struct loaded *loaded, struct pk_node *node, struct step *step, struct pk_err *err)
{
	step->node = node;
	loaded->n_operands += node->n_inputs + node->n_outputs;
	if (loaded->memory.sharing.moves_nothing[loaded->n_steps - 1])
		return 0;
	const struct pk_cpu_kernel *kernel =
		pk_cpu_kernel_by_name(node->kernel ? node->kernel : "");
	if (!kernel || !pk_cpu_kernel_supports(kernel, node))
		return pk_fail(err, -EBADMSG, "node `%s`: kernel `%s` does not fit", node->name,
			node->kernel ? node->kernel : "");
	size_t packed = kernel->pack_bytes ? kernel->pack_bytes(node) : 0;
	if (packed != node->packed_bytes || !constants_present(node))
		return pk_fail(
			err, -EBADMSG, "node `%s`: weights do not fit the kernel", node->name);
	step->memory = pk_cpu_kernel_memory(kernel, node);
	step->kernel = kernel;
	if (kernel->setup && kernel->setup(node, loaded->arena, &step->state) < 0)
		return pk_fail(err, -ENOMEM, "node `%s`: out of memory", node->name);
	return 0;
}

static int load_graph(struct loaded *loaded, const struct pk_plan *plan, struct pk_err *err)
{
	struct pk_plan_section text = pk_plan_section(plan, PK_SECTION_GRAPH);
	struct pk_plan_section weights = pk_plan_section(plan, PK_SECTION_WEIGHTS);
	struct pk_plan_section memory = pk_plan_section(plan, PK_SECTION_MEMPLAN);
	if (!text.data || !memory.data)
		return pk_fail(err, -EBADMSG, "engine lacks its graph");
	loaded->weight_bytes = weights.size;
	int r = pk_text_parse((const char *)text.data, text.size, weights.data, weights.size,
		&loaded->graph, err);
	if (r == 0)
		r = pk_verify_graph(loaded->graph, err);
	if (r < 0) {
		pk_err_prefix(err, "graph");
		return r == -ENOMEM ? r : -EBADMSG;
	}
	for (int i = 0; i < loaded->graph->n_outputs; i++) {
		if (loaded->graph->outputs[i]->elided)
			return pk_fail(err, -EBADMSG, "a graph output has no bytes");
	}
	struct pk_section_bytes section = {memory.data, memory.size};
	return pk_memory_plan_read(
		loaded->graph, &pk_cpu_memory_rules, &section, &loaded->memory, err);
}

int pk_cpu_load(const struct pk_plan *plan, void **out, struct pk_err *err)
{
	struct loaded *loaded = calloc(1, sizeof(*loaded));
	if (!loaded)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = load_graph(loaded, plan, err);
	if (r < 0)
		goto fail;
	loaded->arena = pk_arena_create(0);
	loaded->steps = calloc((size_t)loaded->graph->n_nodes + 1, sizeof(*loaded->steps));
	if (!loaded->arena || !loaded->steps) {
		r = pk_fail(err, -ENOMEM, "out of memory");
		goto fail;
	}
	struct pk_node *node;
	pk_graph_each_node (node, loaded->graph) {
		struct step *step = &loaded->steps[loaded->n_steps++];
		r = load_step(loaded, node, step, err);
		if (r < 0)
			goto fail;
	}
	*out = loaded;
	return 0;
fail:
	pk_cpu_unload(loaded);
	return r;
}

const struct pk_graph *pk_cpu_describe(const void *opaque, struct pk_loaded_info *info)
{
	const struct loaded *loaded = opaque;
	if (info)
		*info = (struct pk_loaded_info){
			.weight_bytes = loaded->weight_bytes,
			.activation_bytes = loaded->memory.arena_bytes,
			.lower_bound_bytes = loaded->memory.lower_bound_bytes,
		};
	return loaded->graph;
}

void pk_cpu_unload(void *opaque)
{
	struct loaded *loaded = opaque;
	if (!loaded)
		return;
	free(loaded->steps);
	pk_arena_destroy(loaded->arena);
	pk_memory_plan_finish(&loaded->memory);
	pk_graph_destroy(loaded->graph);
	free(loaded);
}

struct slot {
	unsigned char *arena;
	struct pk_cpu_call *calls; // one per step
	void **operands;           // what the calls point into
	bool pending;
};

struct context {
	const struct loaded *loaded;
	struct pk_cpu_pool *pool; // borrowed; NULL: all on the caller
	void *workspace;          // and scratch; shared: slots run one after the other
	size_t workspace_bytes;
	struct pk_poison *poison; // NULL: off
	int n_slots;
	struct slot slots[];
};

static void *value_address(
	const struct loaded *loaded, const struct slot *slot, const struct pk_value *value)
{
	if (!value)
		return NULL;
	if (value->data)
		return (void *)(uintptr_t)value->data;
	return slot->arena + loaded->memory.offsets[value->id];
}

static void bind_step(const struct context *context, struct slot *slot, int step_idx, void **at)
{
	const struct loaded *loaded = context->loaded;
	const struct step *step = &loaded->steps[step_idx];
	const struct pk_node *node = step->node;
	for (int i = 0; i < node->n_inputs; i++)
		at[i] = value_address(loaded, slot, node->inputs[i]);
	for (int i = 0; i < node->n_outputs; i++)
		at[node->n_inputs + i] = value_address(loaded, slot, node->outputs[i]);
	slot->calls[step_idx] = (struct pk_cpu_call){
		.inputs = (const void *const *)at,
		.outputs = at + node->n_inputs,
		.packed = node->packed,
		.state = step->state,
		.pool = context->pool,
	};
	pk_cpu_call_set_memory(&slot->calls[step_idx], &step->memory, context->workspace);
}

static void *alloc_zeroed(size_t bytes)
{
	size_t size = pk_align_up(bytes ? bytes : 1, PK_CPU_ALIGN);
	void *p = size == SIZE_MAX ? NULL : aligned_alloc(PK_CPU_ALIGN, size);
	if (p)
		memset(p, 0, size);
	return p;
}

static int slot_init(struct context *context, struct slot *slot)
{
	const struct loaded *loaded = context->loaded;
	slot->arena = alloc_zeroed(loaded->memory.arena_bytes);
	slot->calls = calloc((size_t)loaded->n_steps + 1, sizeof(*slot->calls));
	slot->operands = calloc((size_t)loaded->n_operands + 1, sizeof(*slot->operands));
	if (!slot->arena || !slot->calls || !slot->operands)
		return -ENOMEM;
	void **at = slot->operands;
	for (int i = 0; i < loaded->n_steps; i++) {
		bind_step(context, slot, i, at);
		at += loaded->steps[i].node->n_inputs + loaded->steps[i].node->n_outputs;
	}
	return 0;
}

// For as many threads as the pool has, in place of what there was.
static int make_workspace(struct context *context, struct pk_cpu_pool *pool)
{
	const struct loaded *loaded = context->loaded;
	size_t bytes = 0;
	for (int i = 0; i < loaded->n_steps; i++)
		bytes = PK_MAX(bytes,
			pk_cpu_memory_bytes(&loaded->steps[i].memory, pk_cpu_pool_threads(pool)));
	void *workspace = alloc_zeroed(bytes);
	if (!workspace)
		return -ENOMEM;
	free(context->workspace);
	context->workspace = workspace;
	context->workspace_bytes = bytes;
	context->pool = pool;
	return 0;
}

int pk_cpu_set_pool(void *opaque, struct pk_cpu_pool *pool, struct pk_err *err)
{
	struct context *context = opaque;
	if (make_workspace(context, pool) < 0)
		return pk_fail(
			err, -ENOMEM, "out of memory for %d threads", pk_cpu_pool_threads(pool));
	for (int slot_idx = 0; slot_idx < context->n_slots; slot_idx++) {
		struct pk_cpu_call *calls = context->slots[slot_idx].calls;
		for (int i = 0; i < context->loaded->n_steps; i++) {
			calls[i].pool = pool;
			pk_cpu_call_set_memory(
				&calls[i], &context->loaded->steps[i].memory, context->workspace);
		}
	}
	return 0;
}

int pk_cpu_context_create(void *opaque, int n_slots, void **out, struct pk_err *err)
{
	const struct loaded *loaded = opaque;
	struct context *context =
		calloc(1, sizeof(*context) + (size_t)n_slots * sizeof(context->slots[0]));
	if (!context)
		return pk_fail(err, -ENOMEM, "out of memory");
	context->loaded = loaded;
	context->n_slots = n_slots;
	int r = make_workspace(context, NULL);
	for (int i = 0; r == 0 && i < n_slots; i++)
		r = slot_init(context, &context->slots[i]);
	if (r < 0) {
		pk_cpu_context_destroy(context);
		return pk_fail(err, r, "out of memory for %zu bytes of activations",
			loaded->memory.arena_bytes);
	}
	*out = context;
	return 0;
}

void pk_cpu_context_destroy(void *opaque)
{
	struct context *context = opaque;
	if (!context)
		return;
	for (int i = 0; i < context->n_slots; i++) {
		free(context->slots[i].arena);
		free(context->slots[i].calls);
		free(context->slots[i].operands);
	}
	pk_poison_destroy(context->poison);
	free(context->workspace);
	free(context);
}

void *pk_cpu_input(void *opaque, int slot, int input_idx)
{
	struct context *context = opaque;
	return value_address(
		context->loaded, &context->slots[slot], context->loaded->graph->inputs[input_idx]);
}

const void *pk_cpu_output(void *opaque, int slot, int output_idx)
{
	struct context *context = opaque;
	return value_address(context->loaded, &context->slots[slot],
		context->loaded->graph->outputs[output_idx]);
}

int pk_cpu_submit(void *opaque, int slot, struct pk_err *err)
{
	struct context *context = opaque;
	if (context->slots[slot].pending)
		return pk_fail(err, -EBUSY, "slot %d is in flight", slot);
	context->slots[slot].pending = true;
	return 0;
}

int pk_cpu_set_poison(void *opaque, bool on, struct pk_err *err)
{
	struct context *context = opaque;
	const struct loaded *loaded = context->loaded;
	pk_poison_destroy(context->poison);
	context->poison = on ? pk_poison_create(loaded->graph, &loaded->memory) : NULL;
	return on && !context->poison ? pk_fail(err, -ENOMEM, "out of memory") : 0;
}

static void run_step(const struct context *context, const struct slot *slot, int step_idx)
{
	const struct pk_cpu_kernel *kernel = context->loaded->steps[step_idx].kernel;
	if (context->poison) {
		pk_poison_fill(context->poison, step_idx, slot->arena);
		memset(context->workspace, PK_POISON_BYTE, context->workspace_bytes);
	}
	if (kernel)
		kernel->run(&slot->calls[step_idx]);
}

int pk_cpu_wait(void *opaque, int slot_idx, struct pk_err *err)
{
	struct context *context = opaque;
	struct slot *slot = &context->slots[slot_idx];
	if (!slot->pending)
		return pk_fail(err, -EINVAL, "slot %d was not submitted", slot_idx);
	slot->pending = false;
	uint64_t mode = pk_float_mode_flush();
	for (int i = 0; i < context->loaded->n_steps; i++)
		run_step(context, slot, i);
	if (context->poison)
		pk_poison_fill(context->poison, context->loaded->n_steps, slot->arena);
	pk_float_mode_restore(mode);
	return 0;
}

// Alone, what other processes take from this one does not count; threads together are timed by the
// wall.
static int64_t profile_now_ns(const struct context *context)
{
	return context->pool ? pk_now_ns() : pk_thread_cpu_ns();
}

int pk_cpu_profile(void *opaque, int slot_idx, int64_t *ns, int n_nodes, struct pk_err *err)
{
	struct context *context = opaque;
	struct slot *slot = &context->slots[slot_idx];
	if (n_nodes != context->loaded->n_steps)
		return pk_fail(err, -EINVAL, "the engine has %d steps", context->loaded->n_steps);
	uint64_t mode = pk_float_mode_flush();
	for (int i = 0; i < n_nodes; i++) {
		const struct pk_cpu_kernel *kernel = context->loaded->steps[i].kernel;
		int64_t start = profile_now_ns(context);
		if (kernel)
			kernel->run(&slot->calls[i]);
		ns[i] = profile_now_ns(context) - start;
	}
	pk_float_mode_restore(mode);
	return 0;
}
