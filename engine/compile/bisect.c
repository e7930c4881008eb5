// SPDX-License-Identifier: Apache-2.0
// Binary search over the runs of passes, then over the nodes in order.
#include "engine/compile/bisect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/cpu/eval.h"
#include "engine/gate/compare.h"
#include "engine/ir/element.h"

#define DEFAULT_MAX_REL_ERR 1e-4
#define INPUT_ALIGN         64

// A graph after some steps of passes, with all its values.
struct state {
	struct pk_graph *graph;
	struct pk_cpu_values *values;
	void **inputs;
	int n_inputs;
	char pass[64]; // the last that changed it
	int n_steps;
};

struct bisect {
	const struct pk_bisect_options *options;
	struct pk_bisect_result *result;
	double limit;
	struct pk_err *err;
	struct state reference;
};

static void state_finish(struct bisect *b, struct state *s)
{
	pk_cpu_values_destroy(s->values);
	for (int i = 0; s->inputs && i < s->n_inputs; i++)
		free(s->inputs[i]);
	free(s->inputs);
	if (s->graph)
		b->options->close(b->options->ctx, s->graph);
	*s = (struct state){0};
}

static void note_pass(void *ctx, const char *pass, int n_changes, const struct pk_graph *graph)
{
	struct state *s = ctx;
	(void)n_changes;
	(void)graph;
	s->n_steps++;
	snprintf(s->pass, sizeof(s->pass), "%s", pass);
}

static int fill_noise(int input_idx, const struct pk_value *value, void *data)
{
	uint32_t seed = (uint32_t)input_idx + 1;
	int64_t n = pk_shape_elements(&value->shape);
	memset(data, 0, pk_tensor_bytes(value->dtype, &value->shape));
	for (int64_t i = 0; i < n && pk_dtype_is_float(value->dtype); i++) {
		seed = seed * 1664525u + 1013904223u;
		pk_element_put_float(value->dtype, data, (size_t)i, (seed >> 8) / 16777216.0);
	}
	return 0;
}

static int make_inputs(struct bisect *b, struct state *s)
{
	const struct pk_bisect_options *options = b->options;
	s->n_inputs = s->graph->n_inputs;
	s->inputs = calloc((size_t)s->n_inputs + 1, sizeof(*s->inputs));
	if (!s->inputs)
		return pk_fail(b->err, -ENOMEM, "out of memory");
	for (int i = 0; i < s->n_inputs; i++) {
		const struct pk_value *value = s->graph->inputs[i];
		size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
		s->inputs[i] =
			aligned_alloc(INPUT_ALIGN, pk_align_up(bytes ? bytes : 1, INPUT_ALIGN));
		if (!s->inputs[i])
			return pk_fail(b->err, -ENOMEM, "out of memory");
		int r = options->fill ? options->fill(options->ctx, value, s->inputs[i], b->err)
				      : fill_noise(i, value, s->inputs[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int evaluate(struct bisect *b, struct state *s, const char *what)
{
	const struct pk_bisect_options *options = b->options;
	if (options->progress && options->progress(options->ctx, what, b->result->n_evaluations))
		return pk_fail(b->err, -ECANCELED, "canceled");
	b->result->n_evaluations++;
	int r = make_inputs(b, s);
	if (r < 0)
		return r;
	return pk_cpu_values_compute(s->graph, (const void *const *)s->inputs, &s->values, b->err);
}

// The imported graph after n_steps changing runs of passes (0: none, -1: all).
static int reach(struct bisect *b, struct state *s, int n_steps)
{
	const struct pk_bisect_options *options = b->options;
	struct pk_pass_options passes = {
		.disabled = options->disabled,
		.n_disabled = options->n_disabled,
		.verify = true,
		.evaluator = &pk_cpu_evaluator,
		.trace = note_pass,
		.ctx = s,
		.max_steps = PK_MAX(n_steps, 0),
		.passes = options->passes,
		.n_passes = options->n_passes,
	};
	*s = (struct state){0};
	int r = options->open(options->ctx, &s->graph, b->err);
	return r < 0 || n_steps == 0 ? r : pk_passes_run(s->graph, &passes, NULL, b->err);
}

static float *as_floats(const struct pk_value *value, const void *data, int64_t n)
{
	float *out = malloc((size_t)n * sizeof(float) + 1);
	for (int64_t i = 0; out && i < n; i++)
		out[i] = pk_dtype_is_float(value->dtype)
				 ? (float)pk_element_get(value->dtype, data, (size_t)i)
				 : (float)pk_element_get_int(value->dtype, data, (size_t)i);
	return out;
}

// Distance of two tensors of one type, as a part of b's range; infinite where a is NaN and b not.
static int distance(struct bisect *b, const struct pk_value *value, const void *have,
	const void *want, double *out)
{
	int64_t n = pk_shape_elements(&value->shape);
	pk_auto_free float *x = as_floats(value, have, n), *y = as_floats(value, want, n);
	struct pk_comparison found;
	if (!x || !y || pk_compare_f32(x, y, n, &found) < 0)
		return pk_fail(b->err, -ENOMEM, "out of memory");
	*out = found.n_bad ? INFINITY : found.max_rel_err;
	return 0;
}

static void blame(
	struct bisect *b, const struct pk_node *node, const struct pk_value *value, double rel_err)
{
	struct pk_bisect_result *result = b->result;
	snprintf(result->node, sizeof(result->node), "%s", node ? node->name : "");
	snprintf(result->op, sizeof(result->op), "%s", node ? pk_op_info(node->op)->name : "");
	snprintf(result->value, sizeof(result->value), "%s", value->name);
	result->max_rel_err = rel_err;
}

// 1: an output of s leaves the tolerance (and is blamed), 0: none does.
static int outputs_differ(struct bisect *b, const struct state *s)
{
	const struct state *reference = &b->reference;
	for (int i = 0; i < s->graph->n_outputs; i++) {
		const struct pk_value *value = s->graph->outputs[i];
		double rel_err = 0;
		int r = distance(b, value, pk_cpu_values_get(s->values, value),
			pk_cpu_values_get(reference->values, reference->graph->outputs[i]),
			&rel_err);
		if (r < 0)
			return r;
		if (rel_err > b->limit) {
			blame(b, value->producer, value, rel_err);
			return 1;
		}
	}
	return 0;
}

static int try_steps(struct bisect *b, int n_steps)
{
	struct state s;
	int r = reach(b, &s, n_steps);
	if (r == 0)
		r = evaluate(b, &s, "passes");
	if (r == 0)
		r = outputs_differ(b, &s);
	state_finish(b, &s);
	return r;
}

// The tensor of that name; rewritten nodes often make "name.1" of what was "name".
static const struct pk_value *find_like_named(const struct pk_graph *graph, const char *name)
{
	char stem[256];
	const struct pk_value *value = pk_graph_find_value(graph, name);
	const char *dot = strrchr(name, '.');
	if (value || !dot || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
		return value;
	snprintf(stem, sizeof(stem), "%.*s", (int)PK_MIN(dot - name, (ptrdiff_t)255), name);
	return pk_graph_find_value(graph, stem);
}

// The first node of `after` whose tensor has another content than the like-named one of `before`.
static int find_spoiled(struct bisect *b, const struct state *before, const struct state *after)
{
	const struct pk_node *node;
	pk_graph_each_node (node, after->graph) {
		for (int i = 0; i < node->n_outputs; i++) {
			const struct pk_value *value = node->outputs[i];
			const struct pk_value *old = find_like_named(before->graph, value->name);
			const void *want = old ? pk_cpu_values_get(before->values, old) : NULL;
			double rel_err = 0;
			if (!want || old->dtype != value->dtype ||
				!pk_shape_equal(&old->shape, &value->shape))
				continue;
			int r = distance(
				b, value, pk_cpu_values_get(after->values, value), want, &rel_err);
			if (r < 0)
				return r;
			if (rel_err > b->limit) {
				blame(b, node, value, rel_err);
				return 0;
			}
		}
	}
	return 0;
}

static int name_pass(struct bisect *b, int step)
{
	struct state before, after = {0};
	int r = reach(b, &before, step - 1);
	if (r == 0)
		r = evaluate(b, &before, "node");
	if (r == 0)
		r = reach(b, &after, step);
	if (r == 0)
		r = evaluate(b, &after, "node");
	if (r == 0)
		r = outputs_differ(b, &after); // stands when no like-named tensor differs
	if (r >= 0)
		r = find_spoiled(b, &before, &after);
	b->result->culprit = PK_BISECT_PASS;
	b->result->step = step;
	snprintf(b->result->pass, sizeof(b->result->pass), "%s", after.pass);
	state_finish(b, &before);
	state_finish(b, &after);
	return r;
}

// good: a number of steps known to be right, bad: one known to be wrong.
static int search_passes(struct bisect *b, int good, int bad)
{
	while (bad - good > 1) {
		int middle = good + (bad - good) / 2;
		int r = try_steps(b, middle);
		if (r < 0)
			return r;
		if (r)
			bad = middle;
		else
			good = middle;
	}
	return name_pass(b, bad);
}

struct row_run {
	const void **operands;
	void **outputs;
	int n_outputs;
};

static void row_run_finish(struct row_run *run)
{
	for (int i = 0; run->outputs && i < run->n_outputs; i++)
		free(run->outputs[i]);
	free(run->outputs);
	free(run->operands);
}

static int row_run_init(
	struct row_run *run, const struct state *s, const struct pk_node *node, struct pk_err *err)
{
	run->n_outputs = node->n_outputs;
	run->operands = calloc((size_t)node->n_inputs + 1, sizeof(*run->operands));
	run->outputs = calloc((size_t)node->n_outputs + 1, sizeof(*run->outputs));
	if (!run->operands || !run->outputs)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (int i = 0; i < node->n_inputs; i++)
		run->operands[i] =
			node->inputs[i] ? pk_cpu_values_get(s->values, node->inputs[i]) : NULL;
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
		run->outputs[i] =
			aligned_alloc(INPUT_ALIGN, pk_align_up(bytes ? bytes : 1, INPUT_ALIGN));
		if (!run->outputs[i])
			return pk_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

// 1: the row leaves the tolerance on this node.
static int try_row(struct bisect *b, const struct state *s, const struct pk_node *node,
	const struct pk_cpu_kernel *row)
{
	pk_cleanup(row_run_finish) struct row_run run = {0};
	int r = row_run_init(&run, s, node, b->err);
	if (r == 0)
		r = pk_cpu_eval_row(row, node, run.operands, run.outputs, b->err);
	if (r <= 0)
		return r;
	b->result->n_rows++;
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		double rel_err = 0;
		r = distance(
			b, value, run.outputs[i], pk_cpu_values_get(s->values, value), &rel_err);
		if (r < 0)
			return r;
		if (rel_err > b->limit) {
			blame(b, node, value, rel_err);
			b->result->culprit = PK_BISECT_KERNEL;
			snprintf(b->result->kernel, sizeof(b->result->kernel), "%s",
				pk_cpu_kernel_name(row));
			return 1;
		}
	}
	return 0;
}

// Each row that takes a node, on what the reference rows made of everything before it.
static int search_kernels(struct bisect *b, const struct state *s)
{
	const struct pk_cpu_kernel *const *rows =
		b->options->kernels ? b->options->kernels : pk_cpu_kernels;
	const struct pk_node *node;
	pk_graph_each_node (node, s->graph) {
		for (const struct pk_cpu_kernel *const *row = rows; *row; row++) {
			int r = try_row(b, s, node, *row);
			if (r != 0)
				return r < 0 ? r : 0;
		}
	}
	return 0;
}

static int search(struct bisect *b)
{
	struct state all = {0};
	int r = reach(b, &b->reference, 0);
	if (r == 0)
		r = evaluate(b, &b->reference, "reference");
	if (r == 0)
		r = reach(b, &all, -1);
	if (r == 0)
		r = evaluate(b, &all, "all passes");
	if (r == 0)
		r = outputs_differ(b, &all);
	b->result->n_steps = all.n_steps;
	bool wrong = r > 0;
	if (r == 0)
		r = search_kernels(b, &all);
	state_finish(b, &all);
	return wrong ? search_passes(b, 0, b->result->n_steps) : r;
}

int pk_bisect_run(const struct pk_bisect_options *options, struct pk_bisect_result *result,
	struct pk_err *err)
{
	struct pk_err own = {0};
	struct bisect b = {
		.options = options,
		.result = result,
		.limit = options->max_rel_err > 0 ? options->max_rel_err : DEFAULT_MAX_REL_ERR,
		.err = err ? err : &own,
	};
	*result = (struct pk_bisect_result){0};
	int r = search(&b);
	state_finish(&b, &b.reference);
	return r;
}
