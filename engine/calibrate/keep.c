// SPDX-License-Identifier: Apache-2.0
// Chooses which layers stay in float: a greedy search, worst first.
#include "engine/calibrate/keep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/calibrate/insert.h"
#include "engine/cpu/eval.h"
#include "engine/passes/pass.h"

#define MAX_DB 200.0 // of equal outputs

int pk_calibration_apply(struct pk_graph *graph, const struct pk_calibration *calibration, int *n,
	struct pk_err *err)
{
	struct pk_pass_options passes = {.evaluator = &pk_cpu_evaluator};
	int r = pk_calibration_insert(graph, calibration, n, err);
	return r < 0 ? r : pk_passes_run(graph, &passes, NULL, err);
}

struct quality {
	double sqnr_db, cosine; // worst over outputs
};

struct layer {
	char *name;
	double sqnr_db; // of the outputs when this one alone is integer
};

struct search {
	const struct pk_keep_options *options;
	struct pk_calibration *calibration;
	struct layer *layers;
	int n_layers;
	int n_outputs;
	int64_t *n_elements; // of each output; 0 when it is not f32
	float **expected;    // per output, samples one after the other
	float **got;
};

static void search_finish(struct search *s)
{
	for (int i = 0; s->layers && i < s->n_layers; i++)
		free(s->layers[i].name);
	for (int i = 0; i < s->n_outputs; i++) {
		if (s->expected)
			free(s->expected[i]);
		if (s->got)
			free(s->got[i]);
	}
	free(s->layers);
	free(s->n_elements);
	free(s->expected);
	free(s->got);
}

static int search_init(struct search *s, const struct pk_graph *graph)
{
	size_t n = (size_t)graph->n_outputs;
	s->n_outputs = graph->n_outputs;
	s->n_elements = calloc(n + 1, sizeof(*s->n_elements));
	s->expected = calloc(n + 1, sizeof(*s->expected));
	s->got = calloc(n + 1, sizeof(*s->got));
	s->layers = calloc((size_t)graph->n_nodes + 1, sizeof(*s->layers));
	if (!s->n_elements || !s->expected || !s->got || !s->layers)
		return -ENOMEM;
	for (int i = 0; i < s->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		size_t bytes = (pk_tensor_bytes(value->dtype, &value->shape) + 8) *
			       PK_MAX(s->options->n_inputs, (size_t)1);
		s->n_elements[i] = value->dtype == PK_F32 ? pk_shape_elements(&value->shape) : 0;
		s->expected[i] = malloc(bytes);
		s->got[i] = malloc(bytes);
		if (!s->expected[i] || !s->got[i])
			return -ENOMEM;
	}
	const struct pk_node *node;
	pk_graph_each_node (node, graph) {
		if (!pk_calibration_is_layer(graph, node) ||
			pk_calibration_is_float(s->calibration, node->outputs[0]->name))
			continue;
		s->layers[s->n_layers].name = strdup(node->outputs[0]->name);
		if (!s->layers[s->n_layers++].name)
			return -ENOMEM;
	}
	return 0;
}

static int run_samples(
	struct search *s, const struct pk_graph *graph, float **to, struct pk_err *err)
{
	const struct pk_eval_options options = {.fast = true};
	void **outputs = calloc((size_t)s->n_outputs + 1, sizeof(*outputs));
	int r = outputs ? 0 : pk_fail(err, -ENOMEM, "out of memory");
	for (size_t k = 0; r == 0 && k < s->options->n_inputs; k++) {
		const void *input = s->options->inputs[k];
		for (int i = 0; i < s->n_outputs; i++)
			outputs[i] = to[i] + (s->n_elements[i] ? (int64_t)k * s->n_elements[i] : 0);
		r = pk_cpu_eval_with(graph, &options, &input, outputs, err);
	}
	free(outputs);
	return r;
}

static void compare(const struct search *s, struct quality *out)
{
	*out = (struct quality){MAX_DB, 1};
	for (int i = 0; i < s->n_outputs; i++) {
		double signal = 0, noise = 0, dot = 0, other = 0;
		int64_t n = s->n_elements[i] * (int64_t)s->options->n_inputs;
		for (int64_t k = 0; k < n; k++) {
			double a = (double)s->expected[i][k], b = (double)s->got[i][k];
			signal += a * a;
			other += b * b;
			dot += a * b;
			noise += (a - b) * (a - b);
		}
		double db = noise > 0 ? 10 * log10(PK_MAX(signal, 1e-300) / noise) : MAX_DB;
		double cosine =
			signal > 0 && other > 0 ? dot / sqrt(signal * other) : signal == other;
		out->sqnr_db = PK_MIN(out->sqnr_db, db);
		out->cosine = PK_MIN(out->cosine, cosine);
	}
}

// The outputs' quality under a record.
static int try_record(struct search *s, const struct pk_calibration *calibration,
	struct quality *out, struct pk_err *err)
{
	pk_auto(pk_graph) graph = NULL;
	int r = s->options->make(s->options->ctx, &graph, err);
	if (r == 0)
		r = pk_calibration_apply(graph, calibration, NULL, err);
	if (r == 0)
		r = run_samples(s, graph, s->got, err);
	if (r == 0)
		compare(s, out);
	return r;
}

// Every layer but one in float.
static int measure_alone(struct search *s, int idx, struct pk_err *err)
{
	struct pk_calibration alone = *s->calibration; // shares the ranges
	struct quality quality = {0};
	alone.float_layers = NULL;
	alone.n_float_layers = alone.cap_float_layers = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->calibration->n_float_layers; i++)
		r = pk_calibration_add_float(&alone, s->calibration->float_layers[i]);
	for (int i = 0; r == 0 && i < s->n_layers; i++)
		if (i != idx)
			r = pk_calibration_add_float(&alone, s->layers[i].name);
	r = r < 0 ? pk_fail(err, r, "out of memory") : try_record(s, &alone, &quality, err);
	s->layers[idx].sqnr_db = quality.sqnr_db;
	for (size_t i = 0; i < alone.n_float_layers; i++)
		free(alone.float_layers[i]);
	free(alone.float_layers);
	return r;
}

static int worst_first(const void *a, const void *b)
{
	const struct layer *x = a, *y = b;
	return (x->sqnr_db > y->sqnr_db) - (x->sqnr_db < y->sqnr_db);
}

static bool good(const struct search *s, const struct quality *quality)
{
	return quality->sqnr_db >= s->options->min_sqnr_db &&
	       quality->cosine >= s->options->min_cosine;
}

static int tell(const struct search *s, int done, struct pk_err *err)
{
	const struct pk_keep_options *options = s->options;
	const char *what = s->n_layers ? s->layers[PK_MIN(done, s->n_layers - 1)].name : "";
	if (options->progress && options->progress(options->progress_ctx, done, s->n_layers, what))
		return pk_fail(err, -ECANCELED, "canceled");
	return 0;
}

static int search_run(struct search *s, struct pk_keep_report *report, struct pk_err *err)
{
	struct quality quality = {0};
	int r = try_record(s, s->calibration, &quality, err);
	report->first_sqnr_db = quality.sqnr_db;
	int limit = (int)(s->options->max_float_share * s->n_layers);
	bool search = r == 0 && limit > 0 && !good(s, &quality);
	for (int i = 0; r == 0 && search && i < s->n_layers; i++) {
		r = tell(s, i, err);
		if (r == 0)
			r = measure_alone(s, i, err);
	}
	if (r == 0 && search)
		qsort(s->layers, (size_t)s->n_layers, sizeof(*s->layers), worst_first);
	for (int i = 0; r == 0 && search && i < limit && !good(s, &quality); i++) {
		r = pk_calibration_add_float(s->calibration, s->layers[i].name);
		r = r < 0 ? pk_fail(err, r, "out of memory")
			  : try_record(s, s->calibration, &quality, err);
	}
	report->sqnr_db = quality.sqnr_db;
	report->cosine = quality.cosine;
	report->n_layers = s->n_layers;
	report->n_float = (int)s->calibration->n_float_layers;
	return r;
}

int pk_calibration_keep(struct pk_calibration *calibration, const struct pk_keep_options *options,
	struct pk_keep_report *report, struct pk_err *err)
{
	pk_cleanup(search_finish) struct search s = {
		.options = options, .calibration = calibration};
	pk_auto(pk_graph) graph = NULL;
	*report = (struct pk_keep_report){0};
	int r = options->make(options->ctx, &graph, err);
	if (r < 0)
		return r;
	r = search_init(&s, graph);
	if (r < 0)
		return pk_fail(err, r, "out of memory");
	r = run_samples(&s, graph, s.expected, err);
	return r < 0 ? r : search_run(&s, report, err);
}
