// SPDX-License-Identifier: Apache-2.0
// Builds engines: import, passes, runtime build, gate, write.
#include "engine/compile/compile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "engine/calibrate/insert.h"
#include "engine/compile/cost.h"
#include "engine/compile/key.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/eval.h"
#include "engine/engine.h"
#include "engine/gate/gate.h"
#include "engine/passes/pass.h"
#include "engine/runtime.h"

#define MAX_KEY_BYTES        65536
#define MAX_FLOPS_ALL_INPUTS INT64_C(4000000000)

struct build {
	const struct pk_build_options *options;
	struct pk_build_report *report;
	const struct pk_runtime_ops *runtime;
	struct pk_target target;
	struct pk_source_model model;
	struct pk_buf key;
	struct pk_plan_writer *writer;
	struct pk_timing_cache *timing;
	enum pk_precision judged_as; // which profile the gate takes
};

static void build_finish(struct build *build)
{
	pk_source_model_close(&build->model);
	pk_buf_finish(&build->key);
	pk_plan_writer_destroy(build->writer);
	pk_timing_cache_close(build->timing);
}

static int tell(const struct build *build, const char *phase, int done, int total, const char *what)
{
	const struct pk_build_options *options = build->options;
	return options->progress ? options->progress(options->ctx, phase, done, total, what) : 0;
}

static int begin_phase(const struct build *build, const char *phase, struct pk_err *err)
{
	if (tell(build, phase, 0, 1, ""))
		return pk_fail(err, -ECANCELED, "canceled");
	return 0;
}

static int find_runtime(const char *name, const struct pk_runtime_ops **ops,
	struct pk_target *target, struct pk_err *err)
{
	*ops = name ? pk_runtime_by_name(name) : NULL;
	if (!*ops)
		return pk_fail(err, -ENODEV, "no runtime `%s` in this build", name ? name : "");
	return (*ops)->probe(target, err);
}

// The float graph as it was calibrated, with quantised pairs in it.
static int quantize(struct build *build, struct pk_err *err)
{
	const struct pk_build_options *options = build->options;
	struct pk_calibration calibration;
	int r = pk_calibration_parse(
		options->calibration, options->calibration_size, &calibration, err);
	if (r < 0)
		return r;
	int n = 0;
	if (!pk_digest_equal(&calibration.model, &build->model.digest))
		r = pk_fail(err, -EINVAL, "the calibration is of another model");
	if (r == 0)
		r = pk_float_form(build->model.graph, options->disabled_passes,
			options->n_disabled_passes, err);
	if (r == 0)
		r = pk_calibration_insert(build->model.graph, &calibration, &n, err);
	if (r == 0 && n == 0)
		r = pk_fail(err, -EINVAL, "the calibration's ranges fit no layer");
	pk_calibration_finish(&calibration);
	return r;
}

static int optimise(struct build *build, struct pk_err *err)
{
	struct pk_pass_options passes = {
		.disabled = build->options->disabled_passes,
		.n_disabled = build->options->n_disabled_passes,
		.evaluator = &pk_cpu_evaluator,
	};
	int r = begin_phase(build, "optimise", err);
	if (r == 0 && build->options->precision == PK_PRECISION_INT8)
		r = quantize(build, err);
	return r < 0 ? r : pk_passes_run(build->model.graph, &passes, NULL, err);
}

static int forward_tune_progress(void *ctx, int done, int total, const char *what)
{
	return tell(ctx, "tune", done, total, what);
}

// A model that comes quantised is judged as such: its sums round where the reference does not.
static bool is_quantized(const struct pk_graph *graph)
{
	const struct pk_node *node;
	pk_graph_each_node (node, graph) {
		if (node->op == PK_OP_QCONV || node->op == PK_OP_QMATMUL)
			return true;
	}
	return false;
}

// What stays in float next to integers is kept in half precision where the runtime can.
static enum pk_dtype float_type(const struct build *build)
{
	bool half = build->runtime->caps & PK_RUNTIME_FP16 &&
		    build->options->precision != PK_PRECISION_FP32;
	return half ? PK_F16 : PK_F32;
}

static int tune(struct build *build, struct pk_err *err)
{
	struct pk_runtime_build job = {
		.graph = build->model.graph,
		.opt_level = build->options->opt_level,
		.timing = build->timing,
		.float_type = float_type(build),
		.progress = forward_tune_progress,
		.ctx = build,
	};
	int r = build->runtime->build(&job, build->writer, err);
	build->report->n_measured = job.n_measured;
	build->report->n_cache_hits = job.n_cache_hits;
	build->report->n_islands = job.n_islands;
	build->report->n_layers = build->model.graph->n_nodes;
	build->judged_as =
		is_quantized(build->model.graph) ? PK_PRECISION_INT8 : build->options->precision;
	return r;
}

static json_t *layer_json(const struct pk_node *node)
{
	char shape[PK_SHAPE_TEXT_MAX] = "[]";
	const char *dtype = "";
	if (node->n_outputs > 0) {
		pk_shape_format(&node->outputs[0]->shape, shape);
		dtype = pk_dtype_name(node->outputs[0]->dtype);
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "name", node->name, "op",
		pk_op_info(node->op)->name, "kernel", node->kernel ? node->kernel : "", "dtype",
		dtype, "shape", shape, "packed_bytes", (json_int_t)node->packed_bytes);
}

static int add_layers(struct build *build, struct pk_err *err)
{
	pk_auto_json layers = json_array();
	struct pk_node *node;
	pk_graph_each_node (node, build->model.graph)
		json_array_append_new(layers, layer_json(node));
	pk_auto_free char *text = pk_json_canonical(layers);
	if (!text || pk_plan_writer_add(build->writer, PK_SECTION_LAYERS, text, strlen(text)) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_identity(struct build *build, struct pk_err *err)
{
	const struct pk_build_options *options = build->options;
	int r = pk_plan_writer_add(build->writer, PK_SECTION_KEY, build->key.data, build->key.len);
	if (r == 0 && options->card)
		r = pk_plan_writer_add(
			build->writer, PK_SECTION_CARD, options->card, options->card_size);
	return r < 0 ? pk_fail(err, r, "out of memory") : add_layers(build, err);
}

static int prepare(struct build *build, struct pk_err *err)
{
	const struct pk_build_options *options = build->options;
	if ((options->precision == PK_PRECISION_INT8) != (options->calibration != NULL))
		return pk_fail(err, -EINVAL, "int8 and a calibration go together");
	int r = find_runtime(options->runtime, &build->runtime, &build->target, err);
	if (r == 0 && options->precision == PK_PRECISION_FP16 &&
		!(build->runtime->caps & PK_RUNTIME_FP16))
		r = pk_fail(err, -ENOTSUP, "runtime `%s` has no fp16 engines", options->runtime);
	if (r == 0)
		r = begin_phase(build, "import", err);
	if (r == 0)
		r = pk_source_model_open(&build->model, options->onnx_path, options->shapes,
			options->n_shapes, NULL, err);
	if (r == 0)
		r = pk_key_write(options, &build->model.digest, &build->target, &build->key, err);
	if (r < 0)
		return r;
	build->writer = pk_plan_writer_create();
	build->timing = pk_timing_cache_open(options->timing_path, build->target.device);
	if (!build->writer || !build->timing)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_digest_bytes(build->key.data, build->key.len, &build->report->key);
}

static int forward_gate_progress(void *ctx, int done, int total, const char *what)
{
	return tell(ctx, "gate", done, total, what);
}

static struct pk_gate_profile choose_profile(const struct build *build)
{
	const struct pk_build_options *options = build->options;
	struct pk_gate_profile profile = *pk_gate_profile_of(build->judged_as);
	pk_gate_profile_limit(&profile, options->max_rel_err, options->min_cosine);
	return profile;
}

// The reference is plain and slow: a large model is judged on noise and one sample while it is
// built. The choice follows from the model only, never from how fast this machine is.
static void choose_inputs(const struct pk_build_options *options, const struct pk_graph *reference,
	struct pk_gate_job *job)
{
	struct pk_cost cost;
	job->patterns = 1u << PK_GATE_NOISE_PATTERN;
	if (!reference)
		return;
	pk_cost_of_graph(reference, &cost);
	bool is_large = cost.flops > MAX_FLOPS_ALL_INPUTS;
	if (!is_large)
		job->patterns = PK_GATE_ALL_PATTERNS;
	job->samples = options->gate_samples;
	job->classes = options->classes;
	job->n_samples =
		is_large ? PK_MIN(options->n_gate_samples, (size_t)1) : options->n_gate_samples;
}

static int run_gate(struct build *build, const struct pk_graph *reference, struct pk_err *err)
{
	struct pk_gate_profile profile = choose_profile(build);
	struct pk_gate_job job = {
		.runtime = build->runtime,
		.reference = reference,
		.profile = &profile,
		.progress = forward_gate_progress,
		.ctx = build,
	};
	choose_inputs(build->options, reference, &job);
	struct pk_loaded_info loaded = {0};
	struct pk_gate_verdict verdict;
	int r = pk_gate_run(&job, build->writer, &verdict, &loaded, err);
	build->report->max_rel_err = verdict.max_rel_err;
	build->report->min_cosine = verdict.min_cosine;
	build->report->weight_bytes = (int64_t)loaded.weight_bytes;
	build->report->peak_bytes = (int64_t)loaded.activation_bytes;
	build->report->lower_bound_bytes = (int64_t)loaded.lower_bound_bytes;
	return r;
}

// Untuned engines serve within seconds: they are only checked for finite, repeatable outputs.
static int gate(struct build *build, struct pk_err *err)
{
	const struct pk_build_options *options = build->options;
	struct pk_source_model reference = {0};
	int r = begin_phase(build, "gate", err);
	if (r == 0 && (options->opt_level > 0 || options->precision != PK_PRECISION_FP32))
		r = pk_source_model_open(&reference, options->onnx_path, options->shapes,
			options->n_shapes, NULL, err);
	if (r == 0)
		r = run_gate(build, reference.graph, err);
	pk_source_model_close(&reference);
	return r;
}

int pk_engine_build(
	const struct pk_build_options *options, struct pk_build_report *report, struct pk_err *err)
{
	int64_t start = pk_now_ns();
	*report = (struct pk_build_report){0};
	pk_cleanup(build_finish) struct build build = {.options = options, .report = report};
	pk_buf_init(&build.key, MAX_KEY_BYTES);
	int r = prepare(&build, err);
	if (r == 0)
		r = optimise(&build, err);
	if (r == 0)
		r = tune(&build, err);
	if (r == 0)
		r = add_identity(&build, err);
	pk_source_model_close(&build.model); // the gate needs the memory
	if (r == 0)
		r = gate(&build, err);
	if (r == 0)
		r = begin_phase(&build, "write", err);
	if (r == 0)
		r = pk_plan_writer_finish(
			build.writer, options->engine_path, &report->engine_bytes, err);
	report->wall_ns = pk_now_ns() - start;
	return r;
}

int pk_engine_key(const struct pk_build_options *options, struct pk_buf *text,
	struct pk_digest *out, struct pk_err *err)
{
	const struct pk_runtime_ops *ops = NULL;
	struct pk_target target = {0};
	struct pk_digest model;
	pk_auto_buf struct pk_buf key;
	pk_buf_init(&key, MAX_KEY_BYTES);
	int r = find_runtime(options->runtime, &ops, &target, err);
	if (r == 0)
		r = pk_digest_file(options->onnx_path, &model, err);
	if (r == 0)
		r = pk_key_write(options, &model, &target, &key, err);
	if (r == 0)
		r = pk_digest_bytes(key.data, key.len, out);
	if (r == 0 && text)
		r = pk_buf_append(text, key.data, key.len);
	return r;
}

int pk_engine_check(const char *onnx_path, const struct pk_input_shape *shapes, size_t n_shapes,
	struct pk_buf *report, struct pk_err *err)
{
	pk_cleanup(pk_source_model_close) struct pk_source_model model = {0};
	size_t before = report->len;
	int r = pk_source_model_open(&model, onnx_path, shapes, n_shapes, report, err);
	if (r < 0)
		return r;
	if (report->len > before)
		return pk_fail(err, -ENOTSUP, "%s: some nodes are not supported", onnx_path);
	return 0;
}
