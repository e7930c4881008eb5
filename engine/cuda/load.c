// SPDX-License-Identifier: Apache-2.0
// From an engine file to device memory: nothing is compiled here.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cuda/exec.h"
#include "engine/cuda/layout.h"
#include "engine/cuda/loaded.h"
#include "engine/cuda/section.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"

#define MAX_LAUNCHES     1024 // of one step
#define MAX_SHARED_BYTES (48u << 10)
#define MAX_THREADS      1024 // of one block
#define MAX_GRID_YZ      65535
#define NO_SOURCE        (-1)

static struct pk_cuda_bytes section_of(const struct pk_plan *plan, enum pk_section type)
{
	struct pk_plan_section section = pk_plan_section(plan, type);
	return (struct pk_cuda_bytes){section.data, section.size};
}

static int load_graph(struct pk_cuda_loaded *loaded, const struct pk_plan *plan, struct pk_err *err)
{
	struct pk_cuda_bytes text = section_of(plan, PK_SECTION_GRAPH);
	struct pk_cuda_bytes weights = section_of(plan, PK_SECTION_WEIGHTS);
	if (!text.data)
		return pk_fail(err, -EBADMSG, "engine lacks its graph");
	int r = pk_text_parse(text.data, text.n, weights.data, weights.n, &loaded->graph, err);
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
	return 0;
}

static int load_steps(struct pk_cuda_loaded *loaded, const struct pk_plan *plan, struct pk_err *err)
{
	struct pk_cuda_bytes section = section_of(plan, PK_SECTION_MEMPLAN);
	enum pk_dtype float_type;
	int r = pk_cuda_memory_float_type(&section, &float_type, err);
	if (r == 0)
		r = pk_cuda_steps_init(&loaded->steps, loaded->graph, float_type, err);
	if (r == 0)
		r = pk_cuda_steps_by_name(&loaded->steps, err);
	if (r == 0)
		r = pk_cuda_memory_read(&loaded->steps, &section, &loaded->memory, err);
	return r;
}

static int source_index(const char *name)
{
	for (int i = 0; pk_cuda_sources[i].name; i++) {
		if (strcmp(pk_cuda_sources[i].name, name) == 0)
			return i;
	}
	return NO_SOURCE;
}

// The cubin of a source, once for all steps that use it.
static int load_module(struct pk_cuda_loaded *loaded, const struct pk_cuda_bytes *code,
	const char *name, struct pk_cu_module **out, struct pk_err *err)
{
	int idx = source_index(name);
	struct pk_cuda_bytes cubin;
	if (idx == NO_SOURCE)
		return pk_fail(err, -EINVAL, "no source `%s` in this build", name);
	*out = loaded->modules[idx];
	if (*out)
		return 0;
	int r = pk_cuda_section_find(code, name, &cubin, err);
	if (r == 0)
		r = pk_cuda_try(loaded->cuda, err, module_load_data, out, cubin.data);
	loaded->modules[idx] = r == 0 ? *out : NULL;
	return r;
}

static bool in_range(uint64_t v, uint64_t low, uint64_t high)
{
	return v >= low && v <= high;
}

static bool pointers_fit(const struct pk_cuda_launch *launch, const struct pk_node *node)
{
	if (!in_range((uint64_t)launch->n_pointers, 0, PK_CUDA_MAX_POINTERS))
		return false;
	for (int i = 0; i < launch->n_pointers; i++) {
		const struct pk_cuda_pointer *p = &launch->pointers[i];
		if ((p->kind == PK_CUDA_INPUT && p->idx >= node->n_inputs) ||
			(p->kind == PK_CUDA_OUTPUT && p->idx >= node->n_outputs))
			return false;
	}
	return true;
}

static bool launch_fits(const struct pk_cuda_launch *launch, const struct pk_node *node)
{
	const uint32_t *block = launch->block, *grid = launch->grid;
	return in_range((uint64_t)block[0] * block[1] * block[2], 1, MAX_THREADS) &&
	       in_range(grid[0], 1, INT32_MAX) && in_range(grid[1], 1, MAX_GRID_YZ) &&
	       in_range(grid[2], 1, MAX_GRID_YZ) && launch->shared_bytes <= MAX_SHARED_BYTES &&
	       launch->params_bytes <= PK_CUDA_MAX_PARAMS && pointers_fit(launch, node);
}

static int count_launches(const struct pk_cuda_call *call, const struct pk_cuda_row *row)
{
	struct pk_cuda_launch launch;
	int n = 0;
	while (n < MAX_LAUNCHES && row->launch(call, n, &launch))
		n++;
	return n;
}

static int load_launches(struct pk_cuda_loaded *loaded, struct pk_cuda_action *action,
	const struct pk_cuda_bytes *code, struct pk_err *err)
{
	const struct pk_cuda_row *row = action->step->row;
	const struct pk_cuda_call *call = &action->step->call;
	struct pk_cu_module *module = NULL;
	int r = load_module(loaded, code, row->source, &module, err);
	if (r < 0)
		return r;
	size_t n = (size_t)count_launches(call, row);
	action->launches = pk_arena_array(loaded->arena, n + 1, sizeof(*action->launches));
	action->functions = pk_arena_array(loaded->arena, n + 1, sizeof(struct pk_cu_function *));
	if (!action->launches || !action->functions)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct pk_cuda_launch *launch = &action->launches[i];
		if (!row->launch(call, (int)i, launch) || !launch_fits(launch, call->node))
			return pk_fail(err, -EBADMSG, "node `%s`: launch %zu does not fit",
				call->node->name, i);
		r = pk_cuda_try(loaded->cuda, err, module_get_function, &action->functions[i],
			module, launch->function);
		loaded->n_args += launch->n_pointers + 1;
	}
	action->n_launches = (int)n;
	return r;
}

static int load_plan(struct pk_cuda_loaded *loaded, struct pk_cuda_action *action, int at,
	const struct pk_cuda_bytes *code, struct pk_err *err)
{
	const struct pk_cuda_row *row = action->step->row;
	char name[PK_CUDA_PIECE_NAME];
	struct pk_cuda_bytes json;
	snprintf(name, sizeof(name), "#%d", at);
	int r = pk_cuda_section_find(code, name, &json, err);
	if (r == 0)
		r = row->plan->open(&action->step->call, loaded->cuda, &json, &action->plan, err);
	if (r == 0 && row->plan->workspace)
		loaded->workspace_bytes =
			PK_MAX(loaded->workspace_bytes, row->plan->workspace(action->plan));
	return r;
}

static int load_action(
	struct pk_cuda_loaded *loaded, int at, const struct pk_cuda_bytes *code, struct pk_err *err)
{
	struct pk_cuda_action *action = &loaded->actions[at];
	const struct pk_cuda_row *row = action->step->row;
	if (row && row->workspace)
		loaded->workspace_bytes =
			PK_MAX(loaded->workspace_bytes, row->workspace(&action->step->call));
	switch (action->step->kind) {
	case PK_CUDA_STEP_KERNELS:
		return load_launches(loaded, action, code, err);
	case PK_CUDA_STEP_PLAN:
		return load_plan(loaded, action, at, code, err);
	case PK_CUDA_STEP_ISLAND:
		return pk_cuda_island_create(action->step, &action->island, err);
	default:
		return 0;
	}
}

static int load_actions(
	struct pk_cuda_loaded *loaded, const struct pk_plan *plan, struct pk_err *err)
{
	struct pk_cuda_bytes code = section_of(plan, PK_SECTION_KERNELS);
	size_t n = (size_t)loaded->steps.n + 1, n_values = (size_t)loaded->graph->n_values + 1;
	while (pk_cuda_sources[loaded->n_sources].name)
		loaded->n_sources++;
	loaded->arena = pk_arena_create(0);
	if (!loaded->arena)
		return pk_fail(err, -ENOMEM, "out of memory");
	loaded->actions = pk_arena_array(loaded->arena, n, sizeof(*loaded->actions));
	loaded->modules = pk_arena_array(
		loaded->arena, (size_t)loaded->n_sources + 1, sizeof(struct pk_cu_module *));
	loaded->constants = pk_arena_array(loaded->arena, n_values, sizeof(uint64_t));
	if (!loaded->actions || !loaded->modules || !loaded->constants)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (int i = 0; i < loaded->steps.n; i++) {
		const struct pk_cuda_step *step = &loaded->steps.items[i];
		loaded->actions[i].step = step;
		loaded->n_operands += step->call.node->n_inputs + step->call.node->n_outputs;
		loaded->has_plans |= step->kind == PK_CUDA_STEP_PLAN;
	}
	int r = 0;
	for (int i = 0; r == 0 && i < loaded->steps.n; i++)
		r = load_action(loaded, i, &code, err);
	return r;
}

// Places of constants and packed weights, from the start of the device block; constants that no
// step reads on the device get none.
static void place_weights(struct pk_cuda_loaded *loaded)
{
	size_t at = 0;
	for (int i = 0; i < loaded->steps.n; i++) {
		struct pk_cuda_action *action = &loaded->actions[i];
		const struct pk_node *node = action->step->call.node;
		action->packed = at;
		at += pk_align_up(node->packed_bytes, PK_CUDA_ALIGN);
		for (int k = 0; action->step->row && k < node->n_inputs; k++) {
			const struct pk_value *value = node->inputs[k];
			if (!pk_cuda_step_reads(action->step, k) || !value->data ||
				loaded->constants[value->id])
				continue;
			loaded->constants[value->id] = at + 1; // 0 stands for none
			at += pk_align_up(pk_cuda_tensor_bytes(&loaded->steps.tensors[value->id]),
				PK_CUDA_ALIGN);
		}
	}
	loaded->weight_bytes = at;
}

static int upload_constant(
	struct pk_cuda_loaded *loaded, const struct pk_value *value, struct pk_err *err)
{
	const struct pk_cuda_tensor *tensor = &loaded->steps.tensors[value->id];
	uint64_t *address = &loaded->constants[value->id];
	size_t bytes = pk_cuda_tensor_bytes(tensor);
	if (!*address)
		return 0;
	*address += loaded->weights - 1;
	pk_auto_free void *form = malloc(bytes ? bytes : 1);
	if (!form)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_cuda_to_device_form(value, tensor, value->data, form);
	return bytes ? pk_cuda_try(loaded->cuda, err, memcpy_htod, *address, form, bytes) : 0;
}

static int upload_weights(struct pk_cuda_loaded *loaded, struct pk_err *err)
{
	place_weights(loaded);
	int r = pk_cuda_try(loaded->cuda, err, mem_alloc, &loaded->weights,
		PK_MAX(loaded->weight_bytes, (size_t)PK_CUDA_ALIGN));
	for (int i = 0; r == 0 && i < loaded->steps.n; i++) {
		struct pk_cuda_action *action = &loaded->actions[i];
		const struct pk_node *node = action->step->call.node;
		action->packed = node->packed_bytes ? loaded->weights + action->packed : 0;
		if (node->packed_bytes)
			r = pk_cuda_try(loaded->cuda, err, memcpy_htod, action->packed,
				node->packed, node->packed_bytes);
	}
	for (int i = 0; r == 0 && i < loaded->graph->n_values; i++)
		r = upload_constant(loaded, loaded->graph->values[i], err);
	return r;
}

int pk_cuda_load(const struct pk_plan *plan, void **out, struct pk_err *err)
{
	struct pk_cuda_loaded *loaded = calloc(1, sizeof(*loaded));
	if (!loaded)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = load_graph(loaded, plan, err);
	if (r == 0)
		r = load_steps(loaded, plan, err);
	if (r == 0)
		r = pk_cuda_open(&loaded->cuda, err);
	if (r == 0)
		r = pk_cuda_retain(loaded->cuda, err);
	if (r == 0)
		r = load_actions(loaded, plan, err);
	if (r == 0)
		r = upload_weights(loaded, err);
	if (r == 0)
		*out = loaded;
	else
		pk_cuda_unload(loaded);
	return r;
}

const struct pk_graph *pk_cuda_describe(const void *opaque, struct pk_loaded_info *info)
{
	const struct pk_cuda_loaded *loaded = opaque;
	if (info)
		*info = (struct pk_loaded_info){
			.weight_bytes = loaded->weight_bytes,
			.activation_bytes = loaded->memory.arena_bytes,
			.lower_bound_bytes = loaded->memory.lower_bound_bytes,
		};
	return loaded->graph;
}

static void unload_device(struct pk_cuda_loaded *loaded)
{
	const struct pk_cuda_driver *driver = &loaded->cuda->driver;
	if (loaded->cuda->context)
		(void)pk_cuda_enter(loaded->cuda, NULL);
	for (int i = 0; loaded->actions && i < loaded->steps.n; i++) {
		struct pk_cuda_action *action = &loaded->actions[i];
		if (action->plan)
			action->step->row->plan->close(action->plan);
		pk_cuda_island_destroy(action->island);
	}
	if (loaded->weights)
		(void)driver->mem_free(loaded->weights);
	for (int i = 0; loaded->modules && i < loaded->n_sources; i++) {
		if (loaded->modules[i])
			(void)driver->module_unload(loaded->modules[i]);
	}
	pk_cuda_close(loaded->cuda);
}

void pk_cuda_unload(void *opaque)
{
	struct pk_cuda_loaded *loaded = opaque;
	if (!loaded)
		return;
	if (loaded->cuda)
		unload_device(loaded);
	pk_arena_destroy(loaded->arena);
	pk_cuda_memory_finish(&loaded->memory);
	pk_cuda_steps_finish(&loaded->steps);
	pk_graph_destroy(loaded->graph);
	free(loaded);
}
