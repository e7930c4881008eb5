// SPDX-License-Identifier: Apache-2.0
// The cpu tuner: candidates from the kernel table, times from the timing cache or measured now.
#include "engine/cpu/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "engine/compile/measure.h"
#include "engine/compile/op_key.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/kernel.h"
#include "engine/ir/layout.h"

#define TACTIC_BUDGET (30 * PK_NS_PER_MS)
#define MAX_KEY_BYTES 8192
#define SAVE_EVERY    8 // measurements between saves, so that a killed build resumes cheaply

int pk_cpu_tactics(
	const struct pk_node *node, const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS])
{
	int n = 0;
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k && n < PK_CPU_MAX_TACTICS;
		k++) {
		if (pk_cpu_kernel_supports(*k, node))
			tactics[n++] = *k;
	}
	// The plain reference is the last resort, not a rival.
	if (n > 1 && tactics[n - 1]->rank == 0)
		n--;
	return n;
}

// A node alone with buffers of its own, to be run in isolation.
struct trial {
	struct pk_cpu_call call;
	const struct pk_cpu_kernel *kernel;
	const void **inputs;
	void **outputs;
	void **owned; // everything to free
	int n_owned;
	struct pk_arena *arena;
};

static void trial_finish(struct trial *trial)
{
	for (int i = 0; i < trial->n_owned; i++)
		free(trial->owned[i]);
	free(trial->owned);
	free(trial->inputs);
	free(trial->outputs);
	pk_arena_destroy(trial->arena);
}

static void *trial_buffer(struct trial *trial, size_t bytes)
{
	size_t size = pk_align_up(bytes ? bytes : 1, PK_CPU_ALIGN);
	void *p = size == SIZE_MAX ? NULL : aligned_alloc(PK_CPU_ALIGN, size);
	if (p) {
		memset(p, 0, size);
		trial->owned[trial->n_owned++] = p;
	}
	return p;
}

// Values in 0.1..1.1: no denormals, no branches that noise would not take.
static void fill_noise(const struct pk_value *value, void *data)
{
	if (value->dtype != PK_F32)
		return;
	float *f = data;
	size_t n = pk_layout_bytes(value) / sizeof(*f);
	uint32_t seed = 12345;
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		f[i] = 0.1f + (float)(seed >> 8) / 16777216.0f;
	}
}

static int trial_operands(struct trial *trial, const struct pk_node *node)
{
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *value = node->inputs[i];
		if (!value || value->data) {
			trial->inputs[i] = value ? value->data : NULL;
			continue;
		}
		void *data = trial_buffer(trial, pk_layout_bytes(value));
		if (!data)
			return -ENOMEM;
		fill_noise(value, data);
		trial->inputs[i] = data;
	}
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		trial->outputs[i] = trial_buffer(trial, pk_layout_bytes(value));
		if (!trial->outputs[i])
			return -ENOMEM;
	}
	return 0;
}

static int trial_prepare(struct trial *trial, const struct pk_node *node)
{
	const struct pk_cpu_kernel *kernel = trial->kernel;
	size_t n_max = (size_t)(node->n_inputs + node->n_outputs) + 2;
	trial->owned = calloc(n_max, sizeof(*trial->owned));
	trial->inputs = calloc((size_t)node->n_inputs + 1, sizeof(*trial->inputs));
	trial->outputs = calloc((size_t)node->n_outputs + 1, sizeof(*trial->outputs));
	trial->arena = pk_arena_create(0);
	if (!trial->owned || !trial->inputs || !trial->outputs || !trial->arena)
		return -ENOMEM;
	int r = trial_operands(trial, node);
	if (r < 0)
		return r;
	if (kernel->pack_bytes && kernel->pack_bytes(node)) {
		void *packed = trial_buffer(trial, kernel->pack_bytes(node));
		if (!packed)
			return -ENOMEM;
		kernel->pack(node, packed);
		trial->call.packed = packed;
	}
	struct pk_cpu_memory memory = pk_cpu_kernel_memory(kernel, node);
	void *block = trial_buffer(trial, pk_cpu_memory_bytes(&memory, 1));
	if (!block)
		return -ENOMEM;
	pk_cpu_call_set_memory(&trial->call, &memory, block);
	trial->call.inputs = trial->inputs;
	trial->call.outputs = trial->outputs;
	return kernel->setup ? kernel->setup(node, trial->arena, &trial->call.state) : 0;
}

static void trial_run(void *ctx)
{
	struct trial *trial = ctx;
	trial->kernel->run(&trial->call);
}

static int time_tactic(struct pk_measure *measure, const struct pk_node *node,
	const struct pk_cpu_kernel *kernel, double *us)
{
	pk_cleanup(trial_finish) struct trial trial = {.kernel = kernel};
	int r = trial_prepare(&trial, node);
	if (r == 0)
		*us = pk_measure_run(measure, trial_run, &trial, TACTIC_BUDGET);
	return r;
}

struct tuner {
	struct pk_runtime_build *build;
	struct pk_measure *measure;
	struct pk_buf key;
};

// Fastest of the tactics by cache or measurement.
static int choose(struct tuner *tuner, const struct pk_node *node,
	const struct pk_cpu_kernel *const *tactics, int n, const struct pk_cpu_kernel **best)
{
	struct pk_runtime_build *build = tuner->build;
	double best_us = 0;
	bool all_cached = true;
	pk_buf_clear(&tuner->key);
	int r = pk_op_key(node, &tuner->key);
	for (int i = 0; r == 0 && i < n; i++) {
		const char *key = pk_buf_cstr(&tuner->key);
		double us = pk_timing_cache_get(build->timing, key, tactics[i]->name);
		if (us < 0) {
			all_cached = false;
			r = time_tactic(tuner->measure, node, tactics[i], &us);
			if (r < 0)
				return r;
			build->n_measured++;
			r = pk_timing_cache_put(build->timing, key, tactics[i]->name, us);
			if (r == 0 && build->n_measured % SAVE_EVERY == 0)
				(void)pk_timing_cache_save(build->timing, NULL);
		}
		if (i == 0 || us < best_us) {
			best_us = us;
			*best = tactics[i];
		}
	}
	build->n_cache_hits += all_cached;
	return r;
}

int pk_cpu_use(struct pk_graph *graph, struct pk_node *node, const struct pk_cpu_kernel *kernel,
	struct pk_err *err)
{
	size_t bytes = kernel->pack_bytes ? kernel->pack_bytes(node) : 0;
	if (node->kernel && strcmp(node->kernel, kernel->name) == 0)
		return 0;
	node->kernel = kernel->name;
	node->packed = NULL;
	node->packed_bytes = 0;
	if (!bytes)
		return 0;
	char *raw = pk_arena_alloc(graph->arena, bytes + PK_CPU_ALIGN);
	if (!raw)
		return pk_fail(err, -ENOMEM, "out of memory packing weights of `%s`", node->name);
	void *packed = (void *)pk_align_up((size_t)raw, PK_CPU_ALIGN);
	kernel->pack(node, packed);
	node->packed = packed;
	node->packed_bytes = bytes;
	return 0;
}

static int tune_node(struct tuner *tuner, struct pk_node *node, struct pk_err *err)
{
	const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS];
	const struct pk_cpu_kernel *best = NULL;
	int n = pk_cpu_tactics(node, tactics);
	if (n == 0)
		return pk_fail(err, -ENOTSUP,
			"node `%s` (%s): the cpu runtime has no kernel for it", node->name,
			pk_op_info(node->op)->name);
	int r = 0;
	if (tuner->build->opt_level == 0 || n == 1)
		best = pk_cpu_kernel_default(node);
	else
		r = choose(tuner, node, tactics, n, &best);
	if (r < 0)
		return pk_fail(err, r, "node `%s`: %s", node->name, strerror(-r));
	return pk_cpu_use(tuner->build->graph, node, best, err);
}

int pk_cpu_tune(struct pk_runtime_build *build, struct pk_err *err)
{
	pk_auto(pk_measure) measure = pk_measure_create();
	if (!measure)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct tuner tuner = {.build = build, .measure = measure};
	pk_buf_init(&tuner.key, MAX_KEY_BYTES);
	int done = 0, r = 0;
	struct pk_node *node;
	pk_graph_each_node (node, build->graph) {
		r = tune_node(&tuner, node, err);
		if (r < 0)
			break;
		done++;
		if (build->progress &&
			build->progress(build->ctx, done, build->graph->n_nodes, node->name)) {
			r = pk_fail(err, -ECANCELED, "canceled");
			break;
		}
	}
	pk_buf_finish(&tuner.key);
	return r;
}
