// SPDX-License-Identifier: Apache-2.0
// One operation as an engine of its own.
#include "engine/cuda/lab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "engine/compile/cost.h"
#include "engine/cpu/eval.h"
#include "engine/cuda/exec.h"
#include "engine/plan/plan.h"

#define MAX_OPERANDS        16
#define MAX_ENGINE_BYTES    ((size_t)1 << 30)
#define N_RUNS              7
#define MAX_REFERENCE_FLOPS INT64_C(200000000) // above: the cpu's fast rows, tested against it

// An operation alone, made-up operands and what the cpu makes of them: the same for all its ways.
struct subject {
	const struct pk_node *node; // of the engine that is being built; NULL: none yet
	struct pk_graph *graph;
	void *inputs[MAX_OPERANDS], *expected[MAX_OPERANDS];
};

struct lab {
	struct pk_cuda_lab base;
	struct pk_cuda *cuda;
	struct subject subject;
};

// A trial in the making.
struct bench {
	struct lab *lab;
	const struct pk_cuda_trial *trial;
	struct pk_graph *graph; // as engines have it: with borders
	void *image;
	struct pk_plan *plan;
	void *loaded, *context;
};

static void subject_finish(struct subject *subject)
{
	for (int i = 0; i < MAX_OPERANDS; i++) {
		free(subject->inputs[i]);
		free(subject->expected[i]);
	}
	pk_graph_destroy(subject->graph);
	*subject = (struct subject){0};
}

static void bench_finish(struct bench *bench)
{
	if (bench->context)
		pk_cuda_context_destroy(bench->context);
	if (bench->loaded)
		pk_cuda_unload(bench->loaded);
	pk_plan_close(bench->plan);
	free(bench->image);
	pk_graph_destroy(bench->graph);
}

static struct pk_value *add_operand(struct pk_graph *graph, const struct pk_node *node, int idx)
{
	const struct pk_value *from = node->inputs[idx];
	for (int i = 0; i < idx; i++) {
		if (node->inputs[i] == from)
			return pk_graph_find_value(graph, from->name);
	}
	return from->data ? pk_graph_add_const(
				    graph, from->name, from->dtype, &from->shape, from->data)
			  : pk_graph_add_input(graph, from->name, from->dtype, &from->shape);
}

static int add_node(struct pk_graph *graph, const struct pk_node *node)
{
	struct pk_value *inputs[MAX_OPERANDS] = {NULL};
	for (int i = 0; i < node->n_inputs; i++) {
		inputs[i] = node->inputs[i] ? add_operand(graph, node, i) : NULL;
		if (node->inputs[i] && !inputs[i])
			return -ENOMEM;
	}
	struct pk_node *copy =
		pk_graph_new_node(graph, node->op, node->name, inputs, node->n_inputs, NULL);
	if (!copy)
		return -ENOMEM;
	memcpy(copy->attrs, node->attrs,
		(size_t)pk_op_info(node->op)->n_attrs * sizeof(*copy->attrs));
	return pk_graph_finish_node(
		graph, copy, NULL, node->n_outputs, &node->outputs[0]->shape, NULL);
}

struct pk_graph *pk_cuda_lab_graph(const struct pk_node *node)
{
	pk_auto(pk_graph) graph = pk_graph_create(0);
	if (!graph || node->n_inputs > MAX_OPERANDS || add_node(graph, node) < 0)
		return NULL;
	struct pk_node *copy = pk_container_of(graph->nodes.next, struct pk_node, link);
	for (int i = 0; i < copy->n_outputs; i++) {
		if (pk_graph_add_output(graph, copy->outputs[i]) < 0)
			return NULL;
	}
	return pk_steal(graph);
}

// Floats of -1 to 1 and small integers by a fixed sequence; indices and the like are 0, which is
// never out of range.
static void fill(const struct pk_value *value, uint32_t seed, void *data)
{
	int64_t n = pk_shape_elements(&value->shape);
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		if (value->dtype == PK_F32)
			((float *)data)[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
		else if (value->dtype == PK_I8 || value->dtype == PK_U8)
			((uint8_t *)data)[i] = (uint8_t)(seed >> 25);
	}
}

static int make_operands(struct subject *subject)
{
	const struct pk_graph *graph = subject->graph;
	if (graph->n_inputs > MAX_OPERANDS || graph->n_outputs > MAX_OPERANDS)
		return -ENOTSUP;
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct pk_value *value = graph->inputs[i];
		subject->inputs[i] = calloc(1, pk_tensor_bytes(value->dtype, &value->shape) + 1);
		if (!subject->inputs[i])
			return -ENOMEM;
		fill(value, (uint32_t)i + 1, subject->inputs[i]);
	}
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		subject->expected[i] = calloc(1, pk_tensor_bytes(value->dtype, &value->shape) + 1);
		if (!subject->expected[i])
			return -ENOMEM;
	}
	return 0;
}

static int compute_expected(struct subject *subject, struct pk_err *err)
{
	struct pk_cost cost;
	pk_cost_of_graph(subject->graph, &cost);
	const struct pk_eval_options options = {.fast = cost.flops > MAX_REFERENCE_FLOPS};
	return pk_cpu_eval_with(subject->graph, &options, (const void *const *)subject->inputs,
		subject->expected, err);
}

static int take_subject(struct subject *subject, const struct pk_node *node, struct pk_err *err)
{
	if (subject->node == node)
		return 0;
	subject_finish(subject);
	subject->graph = pk_cuda_lab_graph(node);
	if (!subject->graph)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = make_operands(subject);
	if (r == 0)
		r = compute_expected(subject, err);
	if (r == 0)
		subject->node = node;
	return r;
}

// The borders of a trial by rank, its operation as the trial says.
static int choose(void *ctx, const struct pk_cuda_call *call, struct pk_cuda_choice *choice,
	struct pk_err *err)
{
	const struct bench *bench = ctx;
	const struct pk_cuda_trial *trial = bench->trial;
	if (call->node->op != trial->call->node->op || call->node->op == PK_OP_IDENTITY)
		return pk_cuda_choose_by_rank(bench->lab->cuda, call, choice, err);
	if (!trial->row->supports(call))
		return pk_fail(err, -ENOTSUP, "the operation alone is laid out otherwise");
	choice->row = trial->row;
	pk_buf_clear(&choice->json);
	return trial->json ? pk_buf_append(&choice->json, trial->json->data, trial->json->n) : 0;
}

static int write_engine(struct bench *bench, struct pk_buf *bytes, struct pk_err *err)
{
	const struct pk_cuda_chooser chooser = {choose, bench};
	struct pk_runtime_build job = {
		.graph = bench->graph, .float_type = bench->trial->call->float_type};
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	if (!writer)
		return -ENOMEM;
	int r = pk_cuda_build_by(&job, bench->lab->cuda, &chooser, writer, err);
	return r < 0 ? r : pk_plan_writer_to_buf(writer, bytes);
}

static int load_engine(struct bench *bench, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_ENGINE_BYTES);
	int r = write_engine(bench, &bytes, err);
	if (r < 0)
		return r;
	bench->image =
		aligned_alloc(PK_PLAN_WEIGHT_ALIGN, pk_align_up(bytes.len, PK_PLAN_WEIGHT_ALIGN));
	if (!bench->image)
		return -ENOMEM;
	memcpy(bench->image, bytes.data, bytes.len);
	r = pk_plan_from_bytes(bench->image, bytes.len, &bench->plan, &mismatch, err);
	if (r == 0)
		r = pk_cuda_load(bench->plan, &bench->loaded, err);
	return r < 0 ? r : pk_cuda_context_create(bench->loaded, 1, &bench->context, err);
}

static double range_of(const float *v, int64_t n)
{
	float low = INFINITY, high = -INFINITY;
	for (int64_t i = 0; i < n; i++) {
		low = fminf(low, v[i]);
		high = fmaxf(high, v[i]);
	}
	return n ? fmax((double)high - (double)low, 1e-3) : 1;
}

static bool floats_agree(const float *expected, const float *got, int64_t n, double tolerance)
{
	double limit = tolerance * range_of(expected, n);
	for (int64_t i = 0; i < n; i++) {
		if (!(fabs((double)expected[i] - (double)got[i]) <= limit))
			return false;
	}
	return true;
}

static bool steps_agree(const void *expected, const void *got, int64_t n, bool is_signed)
{
	for (int64_t i = 0; i < n; i++) {
		int a = is_signed ? ((const int8_t *)expected)[i] : ((const uint8_t *)expected)[i];
		int b = is_signed ? ((const int8_t *)got)[i] : ((const uint8_t *)got)[i];
		if (abs(a - b) > 1)
			return false;
	}
	return true;
}

bool pk_cuda_lab_agrees(const struct pk_value *output, enum pk_dtype float_type,
	const void *expected, const void *got)
{
	int64_t n = pk_shape_elements(&output->shape);
	switch (output->dtype) {
	case PK_F32:
		return floats_agree(expected, got, n, float_type == PK_F16 ? 1e-2 : 1e-4);
	case PK_I8:
	case PK_U8:
		return steps_agree(expected, got, n, output->dtype == PK_I8);
	default:
		return memcmp(expected, got, pk_tensor_bytes(output->dtype, &output->shape)) == 0;
	}
}

static int run_once(struct bench *bench, struct pk_err *err)
{
	const struct subject *subject = &bench->lab->subject;
	for (int i = 0; i < subject->graph->n_inputs; i++) {
		const struct pk_value *value = subject->graph->inputs[i];
		memcpy(pk_cuda_input(bench->context, 0, i), subject->inputs[i],
			pk_tensor_bytes(value->dtype, &value->shape));
	}
	int r = pk_cuda_submit(bench->context, 0, err);
	return r < 0 ? r : pk_cuda_wait(bench->context, 0, err);
}

static int check(struct bench *bench, struct pk_err *err)
{
	const struct subject *subject = &bench->lab->subject;
	int r = run_once(bench, err);
	for (int i = 0; r == 0 && i < subject->graph->n_outputs; i++) {
		if (!pk_cuda_lab_agrees(subject->graph->outputs[i], bench->trial->call->float_type,
			    subject->expected[i], pk_cuda_output(bench->context, 0, i)))
			r = pk_fail(err, -EBADE, "%s: output %d is not the reference's",
				bench->trial->row->name, i);
	}
	return r;
}

static int compare_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return a < b ? -1 : a > b;
}

// Where the operation stands among its borders.
static int position(const struct bench *bench)
{
	struct pk_loaded_info info;
	const struct pk_node *node;
	int at = 0;
	pk_graph_each_node (node, pk_cuda_describe(bench->loaded, &info)) {
		if (strcmp(node->kernel, bench->trial->row->name) == 0 &&
			node->op == bench->trial->call->node->op)
			return at;
		at++;
	}
	return -1;
}

// Median of its time in runs one after the other, without the first.
static int measure(struct bench *bench, double *us, struct pk_err *err)
{
	struct pk_loaded_info info;
	const struct pk_graph *graph = pk_cuda_describe(bench->loaded, &info);
	int n = graph->n_nodes, at = position(bench);
	int64_t ns[N_RUNS];
	pk_auto_free int64_t *all = calloc((size_t)n + 1, sizeof(*all));
	if (!all || at < 0)
		return -ENOMEM;
	for (int i = 0; i < N_RUNS; i++) {
		int r = pk_cuda_profile(bench->context, 0, all, n, err);
		if (r < 0)
			return r;
		ns[i] = all[at];
	}
	qsort(ns, N_RUNS, sizeof(ns[0]), compare_ns);
	*us = (double)ns[N_RUNS / 2] / (double)PK_NS_PER_US;
	return 0;
}

static int try_way(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, double *us, struct pk_err *err)
{
	pk_cleanup(bench_finish) struct bench bench = {
		.lab = pk_container_of(base, struct lab, base), .trial = trial};
	bench.graph = pk_cuda_lab_graph(trial->call->node);
	if (!bench.graph)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = take_subject(&bench.lab->subject, trial->call->node, err);
	if (r == 0)
		r = load_engine(&bench, err);
	if (r == 0)
		r = check(&bench, err);
	return r < 0 ? r : measure(&bench, us, err);
}

static int each_plan(struct pk_cuda_lab *base, const struct pk_cuda_trial *trial,
	const struct pk_cuda_plan_visit *visit, struct pk_err *err)
{
	struct lab *lab = pk_container_of(base, struct lab, base);
	return trial->row->plan->each(trial->call, lab->cuda, visit, err);
}

static int open_plan(
	struct pk_cuda_lab *base, const struct pk_cuda_trial *trial, struct pk_err *err)
{
	struct lab *lab = pk_container_of(base, struct lab, base);
	void *plan = NULL;
	int r = trial->row->plan->open(trial->call, lab->cuda, trial->json, &plan, err);
	if (r == 0)
		trial->row->plan->close(plan);
	return r;
}

struct pk_cuda_lab *pk_cuda_lab_create(struct pk_cuda *cuda)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	if (!lab)
		return NULL;
	lab->cuda = cuda;
	lab->base = (struct pk_cuda_lab){try_way, each_plan, open_plan};
	return &lab->base;
}

void pk_cuda_lab_destroy(struct pk_cuda_lab *base)
{
	if (!base)
		return;
	struct lab *lab = pk_container_of(base, struct lab, base);
	subject_finish(&lab->subject);
	free(lab);
}
