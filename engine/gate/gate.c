// SPDX-License-Identifier: Apache-2.0
// Runs the engine under test and the reference on the same inputs.
#include "engine/gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "engine/cpu/eval.h"
#include "engine/gate/compare.h"
#include "engine/gate/judge.h"
#include "engine/gate/poison.h"

#define MAX_ENGINE_BYTES (size_t)(UINT64_C(8) << 30)

// What is alive during one verdict.
struct trial {
	const struct pk_gate_job *job;
	struct pk_gate_verdict *verdict;
	void *loaded;
	void *context;
	const struct pk_graph *graph;
	void **inputs;                       // what both sides are fed
	void **first;                        // outputs of the engine's first run
	void **expected;                     // outputs of the reference
	int64_t run_ns;                      // of all second runs
	struct pk_class_agreement agreement; // of a classifier, over the samples
	int n_done, n_total;
};

static void free_all(void **buffers, int n)
{
	for (int i = 0; buffers && i < n; i++)
		free(buffers[i]);
	free(buffers);
}

static void trial_finish(struct trial *trial)
{
	if (trial->graph) {
		free_all(trial->inputs, trial->graph->n_inputs);
		free_all(trial->first, trial->graph->n_outputs);
		free_all(trial->expected, trial->graph->n_outputs);
	}
	trial->job->runtime->context_destroy(trial->context);
	trial->job->runtime->unload(trial->loaded);
}

static size_t value_bytes(const struct pk_value *value)
{
	return pk_tensor_bytes(value->dtype, &value->shape);
}

// One buffer per value; NULL: no memory (what there is stays in the caller's hands by trial).
static void **alloc_all(struct pk_value *const *values, int n)
{
	void **buffers = calloc((size_t)n + 1, sizeof(*buffers));
	for (int i = 0; buffers && i < n; i++) {
		buffers[i] = calloc(1, value_bytes(values[i]) + 1);
		if (!buffers[i]) {
			free_all(buffers, n);
			return NULL;
		}
	}
	return buffers;
}

static int trial_load(struct trial *trial, const struct pk_plan *plan,
	struct pk_loaded_info *loaded, struct pk_err *err)
{
	const struct pk_runtime_ops *runtime = trial->job->runtime;
	int r = runtime->load(plan, &trial->loaded, err);
	if (r == 0)
		r = runtime->context_create(trial->loaded, 1, &trial->context, err);
	if (r < 0) {
		pk_err_prefix(err, "gate: the engine does not load");
		return r;
	}
	trial->graph = runtime->describe(trial->loaded, loaded);
	trial->inputs = alloc_all(trial->graph->inputs, trial->graph->n_inputs);
	trial->first = alloc_all(trial->graph->outputs, trial->graph->n_outputs);
	trial->expected = alloc_all(trial->graph->outputs, trial->graph->n_outputs);
	if (!trial->inputs || !trial->first || !trial->expected)
		return pk_fail(err, -ENOMEM, "gate: out of memory");
	return 0;
}

static void check_bindings(struct trial *trial, const char *what, struct pk_value *const *a,
	int n_a, struct pk_value *const *b, int n_b)
{
	int n_other = n_a != n_b;
	for (int i = 0; i < n_a && i < n_b; i++)
		n_other +=
			a[i]->dtype != b[i]->dtype || !pk_shape_equal(&a[i]->shape, &b[i]->shape);
	struct pk_gate_figure figure = {PK_GATE_SANITY, "other bindings", n_other, 0, false};
	if (n_other)
		pk_gate_verdict_take(trial->verdict, &figure, "%s: number, type or shape", what);
}

// An engine with other inputs or outputs than its model cannot be compared.
static bool bindings_fit(struct trial *trial)
{
	const struct pk_graph *a = trial->graph, *b = trial->job->reference;
	if (!b)
		return true;
	check_bindings(trial, "inputs", a->inputs, a->n_inputs, b->inputs, b->n_inputs);
	check_bindings(trial, "outputs", a->outputs, a->n_outputs, b->outputs, b->n_outputs);
	return trial->verdict->rows[PK_GATE_SANITY].state != PK_GATE_FAILED;
}

// The engine may reuse its input buffers while it runs: they are filled anew for each run.
static int run_engine(struct trial *trial, int64_t *ns, struct pk_err *err)
{
	const struct pk_runtime_ops *runtime = trial->job->runtime;
	for (int i = 0; i < trial->graph->n_inputs; i++)
		memcpy(runtime->input(trial->context, 0, i), trial->inputs[i],
			value_bytes(trial->graph->inputs[i]));
	int64_t start = pk_now_ns();
	int r = runtime->submit(trial->context, 0, err);
	if (r == 0)
		r = runtime->wait(trial->context, 0, err);
	*ns = pk_now_ns() - start;
	return r;
}

static void keep_outputs(struct trial *trial)
{
	for (int i = 0; i < trial->graph->n_outputs; i++)
		memcpy(trial->first[i], trial->job->runtime->output(trial->context, 0, i),
			value_bytes(trial->graph->outputs[i]));
}

static void judge_repeat(struct trial *trial, const char *input)
{
	int64_t n_other = 0;
	for (int i = 0; i < trial->graph->n_outputs; i++)
		n_other += pk_compare_bytes(trial->first[i],
			trial->job->runtime->output(trial->context, 0, i), 1,
			value_bytes(trial->graph->outputs[i]));
	struct pk_gate_figure figure = {
		PK_GATE_REPEAT, "outputs changed", (double)n_other, 0, false};
	pk_gate_verdict_take(trial->verdict, &figure, "second run on %.40s", input);
}

static int add_classes(struct trial *trial, struct pk_err *err)
{
	const struct pk_class_output *classes = &trial->job->classes;
	const struct pk_graph *graph = trial->graph;
	for (int i = 0; classes->name && i < graph->n_outputs; i++) {
		if (strcmp(graph->outputs[i]->name, classes->name) != 0)
			continue;
		int r = pk_gate_add_classes(&trial->agreement, classes, graph->outputs[i],
			trial->first[i], trial->expected[i]);
		if (r == -EINVAL)
			return pk_fail(err, r, "gate: output `%s` has no rows of %lld classes",
				classes->name, (long long)classes->n_classes);
		if (r < 0)
			return pk_fail(err, r, "gate: out of memory");
	}
	return 0;
}

static int run_case(struct trial *trial, const struct pk_gate_input *input, struct pk_err *err)
{
	int64_t ns;
	int r = run_engine(trial, &ns, err);
	if (r < 0)
		return r;
	keep_outputs(trial);
	r = run_engine(trial, &ns, err);
	if (r < 0)
		return r;
	trial->run_ns += ns;
	judge_repeat(trial, input->name);
	const struct pk_graph *reference = trial->job->reference;
	if (reference)
		r = pk_cpu_eval_graph(
			reference, (const void *const *)trial->inputs, trial->expected, err);
	for (int i = 0; r == 0 && i < trial->graph->n_outputs; i++) {
		r = pk_gate_judge_output(trial->verdict, trial->job->profile,
			trial->graph->outputs[i], trial->first[i],
			reference ? trial->expected[i] : NULL, input);
		if (r < 0)
			(void)pk_fail(err, r, "gate: out of memory");
	}
	trial->verdict->n_inputs++;
	return r == 0 && reference && input->is_picture ? add_classes(trial, err) : r;
}

// Patterns look like nothing: which class wins on them says nothing.
static void judge_classes(struct trial *trial)
{
	const struct pk_gate_profile *profile = trial->job->profile;
	const struct pk_class_agreement *sum = &trial->agreement;
	if (sum->n_rows == 0)
		return;
	const struct pk_gate_figure figures[] = {
		{PK_GATE_MATCH, "same winner", sum->top1, profile->top1, true},
		{PK_GATE_SCORE, "divergence", sum->mean_kl, profile->max_kl, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(figures); i++)
		pk_gate_verdict_take(trial->verdict, &figures[i], "%lld of %lld samples",
			(long long)sum->n_same_top1, (long long)sum->n_rows);
}

static bool is_lost(const struct pk_gate_verdict *verdict)
{
	return pk_gate_verdict_reason(verdict) <= PK_GATE_ERROR;
}

static int begin_case(struct trial *trial, const char *name, struct pk_err *err)
{
	const struct pk_gate_job *job = trial->job;
	if (job->progress && job->progress(job->ctx, trial->n_done, trial->n_total, name))
		return pk_fail(err, -ECANCELED, "canceled");
	trial->n_done++;
	return 0;
}

static int run_patterns(struct trial *trial, struct pk_err *err)
{
	int r = 0;
	for (int p = 0; r == 0 && p < PK_N_GATE_PATTERNS && !is_lost(trial->verdict); p++) {
		if (!(trial->job->patterns & 1u << p))
			continue;
		const char *name = pk_gate_pattern_name((enum pk_gate_pattern)p);
		for (int i = 0; i < trial->graph->n_inputs; i++)
			pk_gate_pattern_fill((enum pk_gate_pattern)p,
				trial->graph->inputs[i]->dtype, &trial->graph->inputs[i]->shape,
				(uint32_t)i + 1, trial->inputs[i]);
		r = begin_case(trial, name, err);
		if (r == 0)
			r = run_case(trial, &(struct pk_gate_input){name, false}, err);
	}
	return r;
}

static int feed_sample(struct trial *trial, const struct pk_gate_sample *sample, struct pk_err *err)
{
	const struct pk_graph *graph = trial->graph;
	if (graph->n_inputs != 1 || value_bytes(graph->inputs[0]) != sample->bytes)
		return pk_fail(err, -EINVAL, "gate: sample `%s` does not fit the engine's input",
			sample->name);
	memcpy(trial->inputs[0], sample->input, sample->bytes);
	return 0;
}

static int run_samples(struct trial *trial, struct pk_err *err)
{
	int r = 0;
	for (size_t s = 0; r == 0 && s < trial->job->n_samples && !is_lost(trial->verdict); s++) {
		const struct pk_gate_sample *sample = &trial->job->samples[s];
		r = feed_sample(trial, sample, err);
		if (r == 0)
			r = begin_case(trial, sample->name, err);
		if (r == 0)
			r = run_case(trial, &(struct pk_gate_input){sample->name, true}, err);
	}
	return r;
}

// Dead memory full of NaN must change nothing; runtimes without that mode leave the row empty.
static int judge_poison(struct trial *trial, struct pk_err *err)
{
	struct pk_err why = {0};
	int r = pk_gate_poison(trial->job->runtime, trial->loaded, NULL, NULL, &why);
	if (r == -ENOTSUP)
		return 0;
	if (r < 0 && r != -EBADE)
		return pk_fail(err, r, "gate: poison run: %s", pk_err_text(&why, r));
	struct pk_gate_figure figure = {
		PK_GATE_POISON, "runs that differ", r < 0 ? 1 : 0, 0, false};
	pk_gate_verdict_take(trial->verdict, &figure, "%s", r < 0 ? why.text : "noise");
	return 0;
}

static void judge_budget(struct trial *trial, const struct pk_loaded_info *loaded)
{
	const struct pk_gate_profile *profile = trial->job->profile;
	int n = trial->verdict->n_inputs;
	if (profile->latency_ns > 0 && n > 0) {
		struct pk_gate_figure figure = {PK_GATE_BUDGET, "mean ms",
			(double)trial->run_ns / n / (double)PK_NS_PER_MS,
			(double)profile->latency_ns / (double)PK_NS_PER_MS, false};
		pk_gate_verdict_take(trial->verdict, &figure, "%d runs", n);
	}
	if (profile->memory_bytes > 0) {
		struct pk_gate_figure figure = {PK_GATE_BUDGET, "MiB",
			(double)(loaded->weight_bytes + loaded->activation_bytes) / 1048576,
			(double)profile->memory_bytes / 1048576, false};
		pk_gate_verdict_take(trial->verdict, &figure, "weights and activations");
	}
}

// Why rows are empty that nothing here can fill.
static void explain_empty_rows(const struct pk_gate_job *job, struct pk_gate_verdict *verdict)
{
	static const struct {
		enum pk_gate_check check;
		const char *why;
	} rows[] = {
		{PK_GATE_MATCH, "no golden samples"},
		{PK_GATE_SCORE, "no golden samples"},
		{PK_GATE_COUNT, "no golden samples"},
		{PK_GATE_PRECISION, "no labelled samples"},
		{PK_GATE_POISON, "no poison mode"},
		{PK_GATE_BUDGET, "no budget given"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		pk_gate_verdict_skip(verdict, rows[i].check, PK_GATE_NOT_RUN, rows[i].why);
	const char *why = job->reference ? "no output of that kind" : "no reference";
	for (int i = PK_GATE_SANITY; i <= PK_GATE_NOISE; i++)
		pk_gate_verdict_skip(verdict, (enum pk_gate_check)i, PK_GATE_NOT_RUN, why);
}

static int count_cases(const struct pk_gate_job *job)
{
	return __builtin_popcount(job->patterns & PK_GATE_ALL_PATTERNS) + (int)job->n_samples;
}

int pk_gate_judge(const struct pk_gate_job *job, const struct pk_plan *plan,
	struct pk_gate_verdict *verdict, struct pk_loaded_info *loaded, struct pk_err *err)
{
	pk_gate_verdict_init(verdict, job->profile->precision);
	verdict->compared = job->reference != NULL;
	pk_cleanup(trial_finish) struct trial trial = {
		.job = job, .verdict = verdict, .n_total = count_cases(job)};
	int r = trial_load(&trial, plan, loaded, err);
	if (r == 0 && bindings_fit(&trial)) {
		r = run_patterns(&trial, err);
		if (r == 0)
			r = run_samples(&trial, err);
		judge_classes(&trial);
		if (r == 0 && !is_lost(verdict))
			r = judge_poison(&trial, err);
		judge_budget(&trial, loaded);
	}
	explain_empty_rows(job, verdict);
	return r;
}

static void *writer_image(const struct pk_plan_writer *writer, size_t *size)
{
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_ENGINE_BYTES);
	if (pk_plan_writer_to_buf(writer, &bytes) < 0)
		return NULL;
	void *image =
		aligned_alloc(PK_PLAN_WEIGHT_ALIGN, pk_align_up(bytes.len, PK_PLAN_WEIGHT_ALIGN));
	if (image)
		memcpy(image, bytes.data, bytes.len);
	*size = bytes.len;
	return image;
}

static int record(struct pk_plan_writer *writer, const struct pk_gate_verdict *verdict)
{
	pk_auto_json json = pk_gate_verdict_json(verdict);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	return text ? pk_plan_writer_add(writer, PK_SECTION_GATE, text, strlen(text)) : -ENOMEM;
}

int pk_gate_run(const struct pk_gate_job *job, struct pk_plan_writer *writer,
	struct pk_gate_verdict *verdict, struct pk_loaded_info *loaded, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	size_t size = 0;
	pk_auto_free void *image = writer_image(writer, &size); // aligned as a mapping is
	if (!image)
		return pk_fail(err, -ENOMEM, "gate: out of memory");
	pk_auto(pk_plan) plan = NULL;
	int r = pk_plan_from_bytes(image, size, &plan, &mismatch, err);
	if (r == 0)
		r = pk_gate_judge(job, plan, verdict, loaded, err);
	if (r == 0)
		r = pk_gate_verdict_result(verdict, err);
	if (r == 0 && record(writer, verdict) < 0)
		r = pk_fail(err, -ENOMEM, "gate: out of memory");
	return r;
}
