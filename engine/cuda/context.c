// SPDX-License-Identifier: Apache-2.0
// Running a loaded engine: one stream, slots with pinned inputs and outputs, a CUDA graph for each
// slot where the driver captures one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cuda/exec.h"
#include "engine/cuda/layout.h"
#include "engine/cuda/loaded.h"
#include "engine/engine.h"

struct slot {
	struct pk_cuda_addresses *at; // by step
	uint64_t *operands;           // what at points into
	void **args;                  // of all launches, one after the other
	void **bound;                 // by step: a plan with its addresses
	char *pinned;                 // graph inputs, then graph outputs
	uint64_t pinned_address;      // on the device; 0: not mapped, copied
	struct pk_cu_graph_exec *run; // NULL: its launches are put into the stream one by one
	struct pk_cu_event *done;
	bool pending;
};

struct context {
	struct pk_cuda_loaded *loaded;
	struct pk_cu_stream *stream;
	struct pk_cudnn_context *handle;  // NULL: no plans
	struct pk_cuda_island_run **runs; // by step
	size_t *io;                       // offsets in pinned: inputs, then outputs
	size_t io_bytes;
	uint64_t arena, workspace; // device
	int n_slots;
	struct slot slots[];
};

static size_t tensor_bytes(const struct pk_cuda_loaded *loaded, const struct pk_value *value)
{
	return pk_cuda_tensor_bytes(&loaded->steps.tensors[value->id]);
}

static const struct pk_value *io_value(const struct pk_graph *graph, int idx)
{
	return idx < graph->n_inputs ? graph->inputs[idx] : graph->outputs[idx - graph->n_inputs];
}

static int n_io(const struct pk_graph *graph)
{
	return graph->n_inputs + graph->n_outputs;
}

static void place_io(struct context *context)
{
	const struct pk_graph *graph = context->loaded->graph;
	for (int i = 0; i < n_io(graph); i++) {
		size_t bytes = tensor_bytes(context->loaded, io_value(graph, i));
		context->io[i] = context->io_bytes;
		context->io_bytes += pk_align_up(bytes ? bytes : 1, PK_CUDA_ALIGN);
	}
}

// Where a value of this slot lies on the device; 0: nowhere.
static uint64_t address_of(
	const struct context *context, const struct slot *slot, const struct pk_value *value)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	if (!value)
		return 0;
	if (value->data)
		return loaded->constants[value->id];
	int group = loaded->memory.groups[value->id];
	for (int i = 0; slot->pinned_address && i < loaded->graph->n_inputs; i++) {
		if (loaded->graph->inputs[i]->id == group)
			return slot->pinned_address + context->io[i];
	}
	return context->arena + loaded->memory.offsets[value->id];
}

static void *argument(struct pk_cuda_addresses *at, struct pk_cuda_pointer pointer)
{
	switch (pointer.kind) {
	case PK_CUDA_INPUT:
		return (void *)(uintptr_t)&at->inputs[pointer.idx];
	case PK_CUDA_OUTPUT:
		return (void *)(uintptr_t)&at->outputs[pointer.idx];
	case PK_CUDA_PACKED:
		return &at->packed;
	default:
		return &at->workspace;
	}
}

static void bind_launches(
	const struct pk_cuda_action *action, struct slot *slot, int at, void ***args)
{
	for (int i = 0; i < action->n_launches; i++) {
		struct pk_cuda_launch *launch = &action->launches[i];
		for (int k = 0; k < launch->n_pointers; k++)
			*(*args)++ = argument(&slot->at[at], launch->pointers[k]);
		*(*args)++ = launch->params; // not read by a kernel without parameters
	}
}

static int bind_slot(struct context *context, struct slot *slot, struct pk_err *err)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	uint64_t *operand = slot->operands;
	void **args = slot->args;
	int r = 0;
	for (int i = 0; r == 0 && i < loaded->steps.n; i++) {
		const struct pk_cuda_action *action = &loaded->actions[i];
		const struct pk_node *node = action->step->call.node;
		slot->at[i] = (struct pk_cuda_addresses){
			.inputs = operand,
			.outputs = operand + node->n_inputs,
			.packed = action->packed,
			.workspace = context->workspace,
		};
		for (int k = 0; k < node->n_inputs; k++)
			*operand++ = address_of(context, slot, node->inputs[k]);
		for (int k = 0; k < node->n_outputs; k++)
			*operand++ = address_of(context, slot, node->outputs[k]);
		bind_launches(action, slot, i, &args);
		if (action->plan)
			r = action->step->row->plan->bind(
				action->plan, &slot->at[i], &slot->bound[i], err);
	}
	return r;
}

static int alloc_pinned(struct context *context, struct slot *slot, struct pk_err *err)
{
	struct pk_cuda *cuda = context->loaded->cuda;
	const struct pk_graph *graph = context->loaded->graph;
	void *block = NULL;
	unsigned flags = PK_CU_HOST_PORTABLE;
	if (cuda->device.integrated)
		flags |= PK_CU_HOST_DEVICEMAP;
	int r = pk_cuda_try(cuda, err, mem_host_alloc, &block,
		PK_MAX(context->io_bytes, (size_t)PK_CUDA_ALIGN), flags);
	if (r < 0)
		return r;
	slot->pinned = block;
	memset(slot->pinned, 0, context->io_bytes);
	for (int i = graph->n_inputs; i < n_io(graph); i++) {
		const struct pk_value *value = io_value(graph, i);
		if (value->data)
			memcpy(slot->pinned + context->io[i], value->data,
				tensor_bytes(context->loaded, value));
	}
	return cuda->device.integrated ? pk_cuda_try(cuda, err, mem_host_get_device_pointer,
						 &slot->pinned_address, block, 0)
				       : 0;
}

static int slot_init(struct context *context, struct slot *slot, struct pk_err *err)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	size_t n_steps = (size_t)loaded->steps.n + 1;
	slot->at = calloc(n_steps, sizeof(*slot->at));
	slot->bound = calloc(n_steps, sizeof(*slot->bound));
	slot->operands = calloc((size_t)loaded->n_operands + 1, sizeof(*slot->operands));
	slot->args = calloc((size_t)loaded->n_args + 1, sizeof(*slot->args));
	if (!slot->at || !slot->bound || !slot->operands || !slot->args)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = alloc_pinned(context, slot, err);
	if (r == 0)
		r = pk_cuda_try(loaded->cuda, err, event_create, &slot->done,
			PK_CU_EVENT_BLOCKING_SYNC | PK_CU_EVENT_DISABLE_TIMING);
	return r < 0 ? r : bind_slot(context, slot, err);
}

static int enqueue_launches(const struct context *context, const struct pk_cuda_action *action,
	void ***args, struct pk_err *err)
{
	int r = 0;
	for (int i = 0; r == 0 && i < action->n_launches; i++) {
		const struct pk_cuda_launch *launch = &action->launches[i];
		const uint32_t *grid = launch->grid, *block = launch->block;
		r = pk_cuda_try(context->loaded->cuda, err, launch_kernel, action->functions[i],
			grid[0], grid[1], grid[2], block[0], block[1], block[2],
			launch->shared_bytes, context->stream, *args, NULL);
		*args += launch->n_pointers + 1;
	}
	return r;
}

// args moves on over the step's launches.
static int enqueue_step(const struct context *context, const struct slot *slot, int at,
	void ***args, struct pk_err *err)
{
	const struct pk_cuda_action *action = &context->loaded->actions[at];
	int r = 0;
	switch (action->step->kind) {
	case PK_CUDA_STEP_KERNELS:
		r = enqueue_launches(context, action, args, err);
		break;
	case PK_CUDA_STEP_PLAN:
		r = action->step->row->plan->execute(
			context->loaded->cuda, context->handle, slot->bound[at], err);
		break;
	case PK_CUDA_STEP_ISLAND:
		r = pk_cuda_island_enqueue(context->runs[at], &slot->at[at], context->stream, err);
		break;
	default:
		break;
	}
	if (r < 0)
		pk_err_prefix(err, "node `%s`", action->step->call.node->name);
	return r;
}

static int enqueue_inputs(
	const struct context *context, const struct slot *slot, struct pk_err *err)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	int r = 0;
	for (int i = 0; r == 0 && !slot->pinned_address && i < loaded->graph->n_inputs; i++) {
		const struct pk_value *value = loaded->graph->inputs[i];
		size_t bytes = tensor_bytes(loaded, value);
		if (bytes)
			r = pk_cuda_try(loaded->cuda, err, memcpy_htod_async,
				address_of(context, slot, value), slot->pinned + context->io[i],
				bytes, context->stream);
	}
	return r;
}

static int enqueue_outputs(
	const struct context *context, const struct slot *slot, struct pk_err *err)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	int r = 0;
	for (int i = loaded->graph->n_inputs; r == 0 && i < n_io(loaded->graph); i++) {
		const struct pk_value *value = io_value(loaded->graph, i);
		size_t bytes = tensor_bytes(loaded, value);
		if (bytes && !value->data)
			r = pk_cuda_try(loaded->cuda, err, memcpy_dtoh_async,
				slot->pinned + context->io[i], address_of(context, slot, value),
				bytes, context->stream);
	}
	return r;
}

static int enqueue_run(const struct context *context, const struct slot *slot, struct pk_err *err)
{
	void **args = slot->args;
	int r = enqueue_inputs(context, slot, err);
	for (int i = 0; r == 0 && i < context->loaded->steps.n; i++)
		r = enqueue_step(context, slot, i, &args, err);
	return r < 0 ? r : enqueue_outputs(context, slot, err);
}

// Once without capture: libraries load what they need at their first run.
static int warm_up(const struct context *context, const struct slot *slot, struct pk_err *err)
{
	int r = enqueue_run(context, slot, err);
	int r_sync = pk_cuda_try(
		context->loaded->cuda, r < 0 ? NULL : err, stream_synchronize, context->stream);
	return r < 0 ? r : r_sync;
}

static int capture(const struct context *context, struct slot *slot, struct pk_err *err)
{
	struct pk_cuda *cuda = context->loaded->cuda;
	struct pk_cu_graph *graph = NULL;
	int r = pk_cuda_try(
		cuda, err, stream_begin_capture, context->stream, PK_CU_CAPTURE_THREAD_LOCAL);
	if (r < 0)
		return r;
	r = enqueue_run(context, slot, err);
	int r_end =
		pk_cuda_try(cuda, r < 0 ? NULL : err, stream_end_capture, context->stream, &graph);
	if (r == 0)
		r = r_end;
	if (r == 0)
		r = pk_cuda_try(cuda, err, graph_instantiate, &slot->run, graph, 0);
	if (graph)
		(void)cuda->driver.graph_destroy(graph);
	return r;
}

// A driver or library that cannot capture costs speed, not the engine.
static int capture_runs(struct context *context, struct pk_err *err)
{
	for (int i = 0; i < context->n_slots; i++) {
		struct slot *slot = &context->slots[i];
		int r = capture(context, slot, err);
		if (pk_engine_is_lost(r))
			return r;
		if (r < 0)
			slot->run = NULL;
	}
	return 0;
}

static int alloc_device(struct context *context, struct pk_err *err)
{
	struct pk_cuda_loaded *loaded = context->loaded;
	size_t arena = PK_MAX(loaded->memory.arena_bytes, (size_t)PK_CUDA_ALIGN);
	int r = pk_cuda_try(loaded->cuda, err, mem_alloc, &context->arena, arena);
	if (r == 0 && loaded->workspace_bytes)
		r = pk_cuda_try(
			loaded->cuda, err, mem_alloc, &context->workspace, loaded->workspace_bytes);
	if (r == -ENOMEM)
		pk_err_prefix(err, "out of memory for %zu bytes of activations", arena);
	return r < 0 ? r
		     : pk_cuda_try(loaded->cuda, err, memset_async, context->arena, 0, arena,
			       context->stream);
}

static int create_islands(struct context *context, struct pk_err *err)
{
	const struct pk_cuda_loaded *loaded = context->loaded;
	int r = 0;
	for (int i = 0; r == 0 && i < loaded->steps.n; i++) {
		if (loaded->actions[i].island)
			r = pk_cuda_island_run_create(
				loaded->actions[i].island, loaded->cuda, &context->runs[i], err);
	}
	return r;
}

static int create_handle(struct context *context, struct pk_err *err)
{
	const struct pk_cudnn_functions *cudnn = &context->loaded->cuda->cudnn;
	if (!context->loaded->has_plans)
		return 0;
	int status = cudnn->create(&context->handle);
	if (status != 0)
		context->handle = NULL;
	else
		status = cudnn->set_stream(context->handle, context->stream);
	return status == 0
		       ? 0
		       : pk_fail(err, -ENODEV, "cuDNN handle: %s", cudnn->get_error_string(status));
}

static int context_init(struct context *context, struct pk_err *err)
{
	struct pk_cuda *cuda = context->loaded->cuda;
	int r = pk_cuda_enter(cuda, err);
	if (r == 0)
		r = pk_cuda_try(
			cuda, err, stream_create, &context->stream, PK_CU_STREAM_NON_BLOCKING);
	if (r == 0)
		r = create_handle(context, err);
	if (r == 0)
		r = alloc_device(context, err);
	if (r == 0)
		r = create_islands(context, err);
	for (int i = 0; r == 0 && i < context->n_slots; i++)
		r = slot_init(context, &context->slots[i], err);
	if (r == 0)
		r = warm_up(context, &context->slots[0], err);
	return r < 0 ? r : capture_runs(context, err);
}

int pk_cuda_context_create(void *opaque, int n_slots, void **out, struct pk_err *err)
{
	struct pk_cuda_loaded *loaded = opaque;
	struct context *context =
		calloc(1, sizeof(*context) + (size_t)n_slots * sizeof(context->slots[0]));
	if (!context)
		return pk_fail(err, -ENOMEM, "out of memory");
	context->loaded = loaded;
	context->n_slots = n_slots;
	context->io = calloc((size_t)n_io(loaded->graph) + 1, sizeof(*context->io));
	context->runs = calloc((size_t)loaded->steps.n + 1, sizeof(struct pk_cuda_island_run *));
	int r = context->io && context->runs ? 0 : pk_fail(err, -ENOMEM, "out of memory");
	if (r == 0) {
		place_io(context);
		r = context_init(context, err);
	}
	if (r == 0)
		*out = context;
	else
		pk_cuda_context_destroy(context);
	return r;
}

static void slot_finish(struct context *context, struct slot *slot)
{
	const struct pk_cuda_driver *driver = &context->loaded->cuda->driver;
	for (int i = 0; slot->bound && i < context->loaded->steps.n; i++) {
		if (slot->bound[i])
			context->loaded->actions[i].step->row->plan->unbind(slot->bound[i]);
	}
	if (slot->run)
		(void)driver->graph_exec_destroy(slot->run);
	if (slot->done)
		(void)driver->event_destroy(slot->done);
	if (slot->pinned)
		(void)driver->mem_free_host(slot->pinned);
	free(slot->at);
	free(slot->bound);
	free(slot->operands);
	free(slot->args);
}

void pk_cuda_context_destroy(void *opaque)
{
	struct context *context = opaque;
	if (!context)
		return;
	struct pk_cuda *cuda = context->loaded->cuda;
	(void)pk_cuda_enter(cuda, NULL);
	if (context->stream)
		(void)cuda->driver.stream_synchronize(context->stream);
	for (int i = 0; i < context->n_slots; i++)
		slot_finish(context, &context->slots[i]);
	for (int i = 0; context->runs && i < context->loaded->steps.n; i++)
		pk_cuda_island_run_destroy(context->runs[i]);
	if (context->arena)
		(void)cuda->driver.mem_free(context->arena);
	if (context->workspace)
		(void)cuda->driver.mem_free(context->workspace);
	if (context->handle)
		(void)cuda->cudnn.destroy(context->handle);
	if (context->stream)
		(void)cuda->driver.stream_destroy(context->stream);
	free(context->runs);
	free(context->io);
	free(context);
}

void *pk_cuda_input(void *opaque, int slot, int input_idx)
{
	struct context *context = opaque;
	return context->slots[slot].pinned + context->io[input_idx];
}

const void *pk_cuda_output(void *opaque, int slot, int output_idx)
{
	struct context *context = opaque;
	return context->slots[slot].pinned +
	       context->io[context->loaded->graph->n_inputs + output_idx];
}

int pk_cuda_submit(void *opaque, int slot_idx, struct pk_err *err)
{
	struct context *context = opaque;
	struct slot *slot = &context->slots[slot_idx];
	struct pk_cuda *cuda = context->loaded->cuda;
	if (slot->pending)
		return pk_fail(err, -EBUSY, "slot %d is in flight", slot_idx);
	int r = pk_cuda_enter(cuda, err);
	if (r == 0)
		r = slot->run ? pk_cuda_try(cuda, err, graph_launch, slot->run, context->stream)
			      : enqueue_run(context, slot, err);
	if (r == 0)
		r = pk_cuda_try(cuda, err, event_record, slot->done, context->stream);
	slot->pending = r == 0;
	return r;
}

int pk_cuda_wait(void *opaque, int slot_idx, struct pk_err *err)
{
	struct context *context = opaque;
	struct slot *slot = &context->slots[slot_idx];
	if (!slot->pending)
		return pk_fail(err, -EINVAL, "slot %d was not submitted", slot_idx);
	slot->pending = false;
	int r = pk_cuda_enter(context->loaded->cuda, err);
	return r < 0 ? r : pk_cuda_try(context->loaded->cuda, err, event_synchronize, slot->done);
}

static int profile_run(const struct context *context, const struct slot *slot,
	struct pk_cu_event **events, struct pk_err *err)
{
	struct pk_cuda *cuda = context->loaded->cuda;
	void **args = slot->args;
	int n = context->loaded->steps.n;
	int r = pk_cuda_enter(cuda, err);
	for (int i = 0; r == 0 && i <= n; i++)
		r = pk_cuda_try(cuda, err, event_create, &events[i], PK_CU_EVENT_BLOCKING_SYNC);
	if (r == 0)
		r = enqueue_inputs(context, slot, err);
	for (int i = 0; r == 0 && i <= n; i++) {
		r = pk_cuda_try(cuda, err, event_record, events[i], context->stream);
		if (r == 0 && i < n)
			r = enqueue_step(context, slot, i, &args, err);
	}
	if (r == 0)
		r = enqueue_outputs(context, slot, err);
	return r < 0 ? r : pk_cuda_try(cuda, err, stream_synchronize, context->stream);
}

int pk_cuda_profile(void *opaque, int slot_idx, int64_t *ns, int n_nodes, struct pk_err *err)
{
	struct context *context = opaque;
	struct pk_cuda *cuda = context->loaded->cuda;
	int n = context->loaded->steps.n;
	if (n_nodes != n)
		return pk_fail(err, -EINVAL, "the engine has %d steps", n);
	struct pk_cu_event **events = calloc((size_t)n + 1, sizeof(struct pk_cu_event *));
	if (!events)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = profile_run(context, &context->slots[slot_idx], events, err);
	for (int i = 0; r == 0 && i < n; i++) {
		float ms = 0;
		r = pk_cuda_try(cuda, err, event_elapsed_time, &ms, events[i], events[i + 1]);
		ns[i] = (int64_t)((double)ms * 1e6);
	}
	for (int i = 0; i <= n; i++) {
		if (events[i])
			(void)cuda->driver.event_destroy(events[i]);
	}
	free(events);
	return r;
}
