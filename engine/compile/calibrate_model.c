// SPDX-License-Identifier: Apache-2.0
// Calibrates an ONNX file: samples through the float graph, ranges, the search for float layers.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/fs.h"
#include "engine/calibrate/collect.h"
#include "engine/calibrate/insert.h"
#include "engine/calibrate/keep.h"
#include "engine/compile/compile.h"
#include "engine/cpu/eval.h"
#include "engine/engine.h"
#include "engine/passes/pass.h"

#define MAX_STATE_BYTES (256u << 20)
#define SAVE_EVERY      8 // samples
#define JUDGES          4 // samples that outputs are compared on

int pk_float_form(
	struct pk_graph *graph, const char *const *disabled, size_t n_disabled, struct pk_err *err)
{
	const char *names[PK_ENGINE_MAX_DISABLED + 1] = {"fuse_residual"};
	size_t n = PK_MIN(n_disabled, (size_t)PK_ENGINE_MAX_DISABLED);
	for (size_t i = 0; i < n; i++)
		names[i + 1] = disabled[i];
	struct pk_pass_options passes = {
		.disabled = names,
		.n_disabled = n + 1,
		.evaluator = &pk_cpu_evaluator,
	};
	return pk_passes_run(graph, &passes, NULL, err);
}

struct work {
	const struct pk_calibrate_options *options;
	struct pk_source_model model;
	struct pk_source_model trial; // what the search is at
	struct pk_collector collector;
	struct pk_calibration calibration;
	void *judges[JUDGES];
	size_t n_judges;
};

static void work_finish(struct work *w)
{
	for (size_t i = 0; i < w->n_judges; i++)
		free(w->judges[i]);
	pk_collector_finish(&w->collector);
	pk_calibration_finish(&w->calibration);
	pk_source_model_close(&w->model);
	pk_source_model_close(&w->trial);
}

static int open_float(struct work *w, struct pk_source_model *model, struct pk_err *err)
{
	const struct pk_calibrate_options *options = w->options;
	int r = pk_source_model_open(
		model, options->onnx_path, options->shapes, options->n_shapes, NULL, err);
	return r < 0 ? r
		     : pk_float_form(model->graph, options->disabled_passes,
			       options->n_disabled_passes, err);
}

static int save_state(const struct work *w, struct pk_err *err)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_STATE_BYTES);
	if (!w->options->state_path)
		return 0;
	int r = pk_collector_save(&w->collector, &text, err);
	return r < 0 ? r
		     : pk_fs_write_atomic(w->options->state_path, text.data, text.len, 0644, err);
}

// What cannot be read is begun again.
static void restore_state(struct work *w)
{
	pk_auto_buf struct pk_buf text;
	struct pk_err ignored = {0};
	pk_buf_init(&text, MAX_STATE_BYTES);
	if (!w->options->state_path)
		return;
	if (pk_fs_read(w->options->state_path, MAX_STATE_BYTES, &text, &ignored) == 0)
		(void)!pk_collector_restore(&w->collector, text.data, text.len, &ignored);
}

static int collect_one(struct work *w, size_t idx, void *data, size_t bytes, struct pk_err *err)
{
	const struct pk_calibrate_options *options = w->options;
	struct pk_digest digest;
	int r = options->sample(options->ctx, idx, data, &w->model.graph->inputs[0]->shape, err);
	if (r == 0)
		r = pk_digest_bytes(data, bytes, &digest);
	if (r == 0 && !pk_collector_has(&w->collector, &digest))
		r = pk_collector_run(&w->collector, data, &digest, err);
	if (r == 0 && (idx + 1) % SAVE_EVERY == 0)
		r = save_state(w, err);
	return r;
}

static int collect(struct work *w, struct pk_calibrate_report *report, struct pk_err *err)
{
	const struct pk_calibrate_options *options = w->options;
	int r = pk_collector_init(&w->collector, w->model.graph, &w->model.digest, err);
	if (r < 0)
		return r;
	restore_state(w);
	report->n_resumed = (int)w->collector.n_samples;
	const struct pk_value *input = w->model.graph->inputs[0];
	size_t bytes = pk_tensor_bytes(input->dtype, &input->shape);
	for (size_t i = 0; r == 0 && i < options->n_samples; i++) {
		pk_auto_free void *data = malloc(bytes + 1);
		if (!data)
			return pk_fail(err, -ENOMEM, "out of memory");
		if (options->progress && options->progress(options->ctx, "calibrate", (int)i,
						 (int)options->n_samples, ""))
			r = pk_fail(err, -ECANCELED, "canceled");
		if (r == 0)
			r = collect_one(w, i, data, bytes, err);
		if (r == 0 && i + JUDGES >= options->n_samples && w->n_judges < JUDGES)
			w->judges[w->n_judges++] = pk_steal(data);
	}
	// Also after a cancellation: the next run goes on from here.
	struct pk_err ignored = {0};
	int saved = save_state(w, r < 0 ? &ignored : err);
	return r < 0 ? r : saved;
}

static int make(void *ctx, struct pk_graph **out, struct pk_err *err)
{
	struct work *w = ctx;
	pk_source_model_close(&w->trial);
	int r = open_float(w, &w->trial, err);
	if (r < 0)
		return r;
	*out = w->trial.graph; // the caller's, while its constants lie in the map
	w->trial.graph = NULL;
	return 0;
}

static int search_progress(void *ctx, int done, int total, const char *what)
{
	const struct work *w = ctx;
	return w->options->progress
		       ? w->options->progress(w->options->ctx, "search", done, total, what)
		       : 0;
}

static int keep_first(struct work *w)
{
	struct pk_node *node;
	pk_graph_each_node (node, w->model.graph)
		if (pk_calibration_is_layer(w->model.graph, node))
			return pk_calibration_add_float(&w->calibration, node->outputs[0]->name);
	return 0;
}

static int search(struct work *w, struct pk_calibrate_report *report, struct pk_err *err)
{
	const struct pk_calibrate_options *options = w->options;
	double share = options->max_float_share;
	struct pk_keep_options keep = {
		.make = make,
		.ctx = w,
		.inputs = (const void *const *)w->judges,
		.n_inputs = w->n_judges,
		.min_sqnr_db = options->min_sqnr_db > 0 ? options->min_sqnr_db : 20,
		.min_cosine = options->min_cosine > 0 ? options->min_cosine : 0.99,
		.max_float_share = share > 0   ? share
				   : share < 0 ? 0
					       : 0.2,
		.progress = search_progress,
		.progress_ctx = w,
	};
	struct pk_keep_report found;
	if (options->keep_first && keep_first(w) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = pk_calibration_keep(&w->calibration, &keep, &found, err);
	report->n_ranges = (int)w->calibration.n_ranges;
	report->n_layers = found.n_layers;
	report->n_float = found.n_float;
	report->first_sqnr_db = found.first_sqnr_db;
	report->sqnr_db = found.sqnr_db;
	report->cosine = found.cosine;
	return r;
}

int pk_engine_calibrate(const struct pk_calibrate_options *options, struct pk_buf *out,
	struct pk_calibrate_report *report, struct pk_err *err)
{
	pk_cleanup(work_finish) struct work w = {.options = options};
	int method = pk_range_method_from_name(options->method ? options->method : "");
	double percentile = options->percentile > 0 ? options->percentile : 99.99;
	*report = (struct pk_calibrate_report){0};
	if (method < 0)
		return pk_fail(err, -EINVAL, "method is `%s`, not minmax, percentile or entropy",
			options->method ? options->method : "");
	if (percentile > 100 || options->n_samples == 0)
		return pk_fail(err, -EINVAL, "a percentile up to 100 and samples are wanted");
	int r = open_float(&w, &w.model, err);
	if (r == 0)
		r = collect(&w, report, err);
	if (r == 0)
		r = pk_collector_ranges(&w.collector, (enum pk_range_method)method, percentile,
			&w.calibration, err);
	if (r == 0)
		r = search(&w, report, err);
	return r < 0 ? r : pk_calibration_write(&w.calibration, out, err);
}
