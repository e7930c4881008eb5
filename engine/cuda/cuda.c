// SPDX-License-Identifier: Apache-2.0
// The cuda runtime's row: what this machine is, and how an engine is put together.
#include <errno.h>
#include <string.h>

#include "engine/compile/timing_cache.h"
#include "engine/compile/weights.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/exec.h"
#include "engine/cuda/lab.h"
#include "engine/cuda/lower.h"
#include "engine/cuda/memory.h"
#include "engine/cuda/tune.h"
#include "engine/runtime.h"

#define MAX_PLAN_BYTES (64u << 20)
#define MAX_CODE_BYTES (256u << 20)
#define FILE_ALIGN     64 // of constants and packed weights in the file

static int cuda_probe(struct pk_target *target, struct pk_err *err)
{
	pk_auto(pk_cuda) cuda = NULL;
	int r = pk_cuda_open(&cuda, err);
	return r < 0 ? r : pk_cuda_target(cuda, target, err);
}

static int write_memory_plan(
	enum pk_dtype float_type, struct pk_plan_writer *writer, struct pk_err *err)
{
	// Planned on the graph as it will be loaded: value ids are those of the text.
	pk_auto(pk_graph) graph = NULL;
	pk_cleanup(pk_cuda_steps_finish) struct pk_cuda_steps steps = {0};
	pk_cleanup(pk_cuda_memory_finish) struct pk_cuda_memory memory = {0};
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_PLAN_BYTES);
	int r = pk_weights_reload(writer, &graph, err);
	if (r == 0)
		r = pk_cuda_steps_init(&steps, graph, float_type, err);
	if (r == 0)
		r = pk_cuda_steps_by_name(&steps, err);
	if (r == 0)
		r = pk_cuda_memory_plan(&steps, &memory, err);
	if (r < 0)
		return r;
	r = pk_cuda_memory_write(&steps, &memory, &bytes);
	if (r == 0)
		r = pk_plan_writer_add(writer, PK_SECTION_MEMPLAN, bytes.data, bytes.len);
	return r < 0 ? pk_fail(err, r, "memory plan: %s", strerror(-r)) : 0;
}

static int lower_graph(struct pk_runtime_build *build, struct pk_cuda *cuda,
	const struct pk_cuda_chooser *chooser, struct pk_plan_writer *writer, struct pk_err *err)
{
	pk_cleanup(pk_cuda_steps_finish) struct pk_cuda_steps steps = {0};
	pk_auto_buf struct pk_buf code;
	pk_buf_init(&code, MAX_CODE_BYTES);
	int r = pk_cuda_insert_borders(build->graph, err);
	if (r == 0)
		r = pk_cuda_steps_init(&steps, build->graph, build->float_type, err);
	if (r == 0)
		r = pk_cuda_lower(build, cuda, chooser, &steps, &code, err);
	if (r == 0 && pk_plan_writer_add(writer, PK_SECTION_KERNELS, code.data, code.len) < 0)
		r = pk_fail(err, -ENOMEM, "out of memory");
	return r < 0 ? r : pk_weights_write(build->graph, FILE_ALIGN, writer, err);
}

int pk_cuda_build_by(struct pk_runtime_build *build, struct pk_cuda *cuda,
	const struct pk_cuda_chooser *chooser, struct pk_plan_writer *writer, struct pk_err *err)
{
	int r = lower_graph(build, cuda, chooser, writer, err);
	return r < 0 ? r : write_memory_plan(build->float_type, writer, err);
}

static int choose_by_trial(void *ctx, const struct pk_cuda_call *call,
	struct pk_cuda_choice *choice, struct pk_err *err)
{
	return pk_cuda_tune(ctx, call, choice, err);
}

static int cuda_build(
	struct pk_runtime_build *build, struct pk_plan_writer *writer, struct pk_err *err)
{
	pk_auto(pk_cuda) cuda = NULL;
	int r = pk_cuda_open(&cuda, err);
	if (r == 0)
		r = pk_cuda_retain(cuda, err);
	if (r < 0)
		return r;
	struct pk_cuda_lab *lab = pk_cuda_lab_create(cuda);
	struct pk_cuda_tuner tuner = {.lab = lab, .build = build};
	const struct pk_cuda_chooser chooser = {choose_by_trial, &tuner};
	if (!lab)
		return pk_fail(err, -ENOMEM, "out of memory");
	r = pk_cuda_build_by(build, cuda, build->opt_level > 0 ? &chooser : NULL, writer, err);
	pk_cuda_lab_destroy(lab);
	(void)pk_timing_cache_save(build->timing, NULL);
	return r;
}

const struct pk_runtime_ops pk_cuda_runtime = {
	.abi = PK_RUNTIME_ABI,
	.name = "cuda",
	.caps = PK_RUNTIME_PINNED_INPUT | PK_RUNTIME_ACCELERATOR | PK_RUNTIME_FP16,
	.probe = cuda_probe,
	.build = cuda_build,
	.load = pk_cuda_load,
	.describe = pk_cuda_describe,
	.context_create = pk_cuda_context_create,
	.input = pk_cuda_input,
	.submit = pk_cuda_submit,
	.wait = pk_cuda_wait,
	.output = pk_cuda_output,
	.profile = pk_cuda_profile,
	.context_destroy = pk_cuda_context_destroy,
	.unload = pk_cuda_unload,
};
