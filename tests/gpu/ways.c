// SPDX-License-Identifier: Apache-2.0
// Every way of every operation of a model, tried on this machine's device: results against the
// cpu's reference, and times. A tool of scripts/gpu-check.
//
//   gpu-ways [--float f16|f32] [--seconds N] MODEL.onnx
//
// One JSON object a line: {"node", "op", "row", "plan", "us", "error", "text"}; error 0: as the
// reference, -EBADE: not, others: does not run here. Equal operations are tried once. Exit 77
// without a device.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/compile/compile.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/eval.h"
#include "engine/cuda/lab.h"
#include "engine/cuda/steps.h"
#include "engine/cuda/tune.h"
#include "engine/passes/pass.h"

#define MAX_JSON_BYTES (1u << 20)

// The device's lab, talking.
struct talking_lab {
	struct pk_cuda_lab base;
	struct pk_cuda_lab *device;
	int n_bad;
};

static int talking_try(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, double *us, struct pk_err *err)
{
	struct talking_lab *lab = pk_container_of(base, struct talking_lab, base);
	struct pk_err why = {0};
	*us = 0;
	int r = lab->device->try_way(lab->device, trial, us, &why);
	const struct pk_node *node = trial->call->node;
	json_t *line = json_pack("{s:s, s:s, s:s, s:b, s:f, s:i, s:s}", "node", node->name, "op",
		pk_op_info(node->op)->name, "row", trial->row->name, "plan", trial->json != NULL,
		"us", *us, "error", r, "text", why.text);
	json_dumpf(line, stdout, JSON_COMPACT);
	json_decref(line);
	puts("");
	fflush(stdout);
	lab->n_bad += r == -EBADE;
	if (err)
		*err = why;
	return r;
}

static int talking_each(struct pk_cuda_lab *base, const struct pk_cuda_trial *trial,
	const struct pk_cuda_plan_visit *visit, struct pk_err *err)
{
	struct pk_cuda_lab *device = pk_container_of(base, struct talking_lab, base)->device;
	return device->each_plan(device, trial, visit, err);
}

static int talking_open(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, struct pk_err *err)
{
	struct pk_cuda_lab *device = pk_container_of(base, struct talking_lab, base)->device;
	return device->open_plan(device, trial, err);
}

static int try_steps(
	struct talking_lab *lab, struct pk_cuda_steps *steps, int64_t until_ns, struct pk_err *err)
{
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "{}");
	struct pk_runtime_build job = {.timing = timing};
	struct pk_cuda_tuner tuner = {.lab = &lab->base, .build = &job};
	struct pk_cuda_choice choice = {0};
	int r = timing ? 0 : -ENOMEM;
	pk_buf_init(&choice.json, MAX_JSON_BYTES);
	for (int i = 0; r == 0 && i < steps->n && pk_now_ns() < until_ns; i++) {
		if (steps->items[i].kind != PK_CUDA_STEP_VIEW)
			r = pk_cuda_tune(&tuner, &steps->items[i].call, &choice, err);
	}
	pk_buf_finish(&choice.json);
	return r;
}

static int run(struct pk_graph *graph, enum pk_dtype float_type, int64_t until_ns, int *n_bad,
	struct pk_err *err)
{
	pk_auto(pk_cuda) cuda = NULL;
	pk_cleanup(pk_cuda_steps_finish) struct pk_cuda_steps steps = {0};
	int r = pk_cuda_open(&cuda, err);
	if (r == 0)
		r = pk_cuda_retain(cuda, err);
	if (r == 0)
		r = pk_cuda_insert_borders(graph, err);
	if (r == 0)
		r = pk_cuda_steps_init(&steps, graph, float_type, err);
	if (r < 0)
		return r;
	struct talking_lab lab = {.base = {talking_try, talking_each, talking_open}};
	lab.device = pk_cuda_lab_create(cuda);
	if (!lab.device)
		return -ENOMEM;
	r = try_steps(&lab, &steps, until_ns, err);
	pk_cuda_lab_destroy(lab.device);
	*n_bad = lab.n_bad;
	return r;
}

int main(int argc, char **argv)
{
	struct pk_err err = {0};
	struct pk_source_model model = {0};
	const struct pk_pass_options passes = {.evaluator = &pk_cpu_evaluator};
	enum pk_dtype float_type = PK_F16;
	double seconds = 60;
	int i = 1, n_bad = 0;
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "--float") == 0)
			float_type = pk_dtype_from_name(argv[i + 1]);
		else if (strcmp(argv[i], "--seconds") == 0)
			seconds = strtod(argv[i + 1], NULL);
		else
			return 2;
	}
	if (i + 1 != argc)
		return 2;
	int64_t until_ns = pk_now_ns() + (int64_t)(seconds * (double)PK_NS_PER_S);
	int r = pk_source_model_open(&model, argv[i], NULL, 0, NULL, &err);
	if (r == 0)
		r = pk_passes_run(model.graph, &passes, NULL, &err);
	if (r == 0)
		r = run(model.graph, float_type, until_ns, &n_bad, &err);
	pk_source_model_close(&model);
	if (r < 0)
		fprintf(stderr, "gpu-ways: %s\n", pk_err_text(&err, r));
	return r == -ENODEV ? 77 : r < 0 || n_bad;
}
