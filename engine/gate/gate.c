// SPDX-License-Identifier: Apache-2.0
// Runs the engine under test and the reference on the same noise.
#include "engine/gate/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "engine/cpu/eval.h"
#include "engine/gate/compare.h"

#define MAX_ENGINE_BYTES (size_t)(UINT64_C(8) << 30)

// What is alive during one verdict.
struct trial {
	const struct pk_runtime_ops *runtime;
	void *image; // the engine's bytes, aligned as a mapping is
	struct pk_plan *plan;
	void *loaded;
	void *context;
	const struct pk_graph *graph;
	const void **inputs; // of the context
	void **expected;     // per output; NULL without a reference
};

static void trial_finish(struct trial *trial)
{
	for (int i = 0; trial->expected && i < trial->graph->n_outputs; i++)
		free(trial->expected[i]);
	free(trial->expected);
	free(trial->inputs);
	trial->runtime->context_destroy(trial->context);
	trial->runtime->unload(trial->loaded);
	pk_plan_close(trial->plan);
	free(trial->image);
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

static int trial_load(struct trial *trial, struct pk_plan_writer *writer, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	size_t size = 0;
	trial->image = writer_image(writer, &size);
	if (!trial->image)
		return pk_fail(err, -ENOMEM, "gate: out of memory");
	int r = pk_plan_from_bytes(trial->image, size, &trial->plan, &mismatch, err);
	if (r == 0)
		r = trial->runtime->load(trial->plan, &trial->loaded, err);
	if (r == 0)
		r = trial->runtime->context_create(trial->loaded, 1, &trial->context, err);
	if (r < 0) {
		pk_err_prefix(err, "gate: the new engine does not load");
		return r;
	}
	trial->graph = trial->runtime->describe(trial->loaded, NULL);
	trial->inputs = calloc((size_t)trial->graph->n_inputs + 1, sizeof(*trial->inputs));
	return trial->inputs ? 0 : pk_fail(err, -ENOMEM, "gate: out of memory");
}

static void fill_input(const struct pk_value *value, void *data, uint32_t seed)
{
	int64_t n = pk_shape_elements(&value->shape);
	memset(data, 0, pk_tensor_bytes(value->dtype, &value->shape));
	if (value->dtype != PK_F32)
		return;
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		((float *)data)[i] = (float)(seed >> 8) / 16777216.0f;
	}
}

static int run_engine(struct trial *trial, struct pk_err *err)
{
	for (int i = 0; i < trial->graph->n_inputs; i++) {
		void *data = trial->runtime->input(trial->context, 0, i);
		fill_input(trial->graph->inputs[i], data, (uint32_t)i + 1);
		trial->inputs[i] = data;
	}
	int r = trial->runtime->submit(trial->context, 0, err);
	return r < 0 ? r : trial->runtime->wait(trial->context, 0, err);
}

// The engine may reuse its input buffers while it runs: the reference gets a copy of its own.
static int run_reference(struct trial *trial, const struct pk_graph *reference, struct pk_err *err)
{
	int n_in = reference->n_inputs, n_out = reference->n_outputs;
	if (n_in != trial->graph->n_inputs || n_out != trial->graph->n_outputs)
		return pk_fail(err, -EBADE, "gate: the engine has other inputs or outputs");
	void **inputs = calloc((size_t)n_in + 1, sizeof(*inputs));
	trial->expected = calloc((size_t)n_out + 1, sizeof(*trial->expected));
	int r = inputs && trial->expected ? 0 : -ENOMEM;
	for (int i = 0; r == 0 && i < n_in; i++) {
		const struct pk_value *value = reference->inputs[i];
		inputs[i] = malloc(pk_tensor_bytes(value->dtype, &value->shape) + 1);
		r = inputs[i] ? 0 : -ENOMEM;
		if (r == 0)
			fill_input(value, inputs[i], (uint32_t)i + 1);
	}
	for (int i = 0; r == 0 && i < n_out; i++) {
		const struct pk_value *value = reference->outputs[i];
		trial->expected[i] = malloc(pk_tensor_bytes(value->dtype, &value->shape) + 1);
		r = trial->expected[i] ? 0 : -ENOMEM;
	}
	r = r < 0 ? pk_fail(err, r, "gate: out of memory")
		  : pk_cpu_eval_graph(reference, (const void *const *)inputs, trial->expected, err);
	for (int i = 0; inputs && i < n_in; i++)
		free(inputs[i]);
	free(inputs);
	return r;
}

static int64_t count_bad(const float *data, int64_t n)
{
	int64_t bad = 0;
	for (int64_t i = 0; i < n; i++)
		bad += !isfinite(data[i]);
	return bad;
}

static int judge_float(const struct trial *trial, int output_idx,
	const struct pk_gate_limits *limits, struct pk_gate_verdict *verdict, struct pk_err *err)
{
	const struct pk_value *value = trial->graph->outputs[output_idx];
	const float *data = trial->runtime->output(trial->context, 0, output_idx);
	int64_t n = pk_shape_elements(&value->shape);
	if (!trial->expected) {
		int64_t bad = count_bad(data, n);
		return bad ? pk_fail(err, -EBADE,
				     "gate: output `%s` has %lld NaN or infinite values",
				     value->name, (long long)bad)
			   : 0;
	}
	struct pk_comparison found;
	pk_compare_f32(data, trial->expected[output_idx], n, &found);
	verdict->max_rel_err = PK_MAX(verdict->max_rel_err, found.max_rel_err);
	verdict->min_cosine = PK_MIN(verdict->min_cosine, found.cosine);
	if (found.n_bad || found.max_rel_err > limits->max_rel_err ||
		found.cosine < limits->min_cosine)
		return pk_fail(err, -EBADE,
			"gate: output `%s` differs from the reference: error %.3g of its range "
			"(limit %.3g), cosine %.6f (limit %.6f), %lld NaN",
			value->name, found.max_rel_err, limits->max_rel_err, found.cosine,
			limits->min_cosine, (long long)found.n_bad);
	return 0;
}

static int judge(const struct trial *trial, const struct pk_gate_limits *limits,
	struct pk_gate_verdict *verdict, struct pk_err *err)
{
	verdict->min_cosine = 1;
	for (int i = 0; i < trial->graph->n_outputs; i++) {
		const struct pk_value *value = trial->graph->outputs[i];
		size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
		int r = 0;
		if (value->dtype == PK_F32)
			r = judge_float(trial, i, limits, verdict, err);
		else if (trial->expected && memcmp(trial->runtime->output(trial->context, 0, i),
						    trial->expected[i], bytes) != 0)
			r = pk_fail(err, -EBADE, "gate: output `%s` differs from the reference",
				value->name);
		if (r < 0)
			return r;
	}
	return 0;
}

static int record(struct pk_plan_writer *writer, const struct pk_gate_limits *limits,
	const struct pk_gate_verdict *verdict)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, 1024);
	pk_buf_printf(&text, "{\"compared\":%s,\"max_rel_err\":%.6g,\"min_cosine\":%.9g}",
		limits->finite_only ? "false" : "true", verdict->max_rel_err, verdict->min_cosine);
	return pk_plan_writer_add(writer, PK_SECTION_GATE, text.data, text.len);
}

int pk_gate_run(const struct pk_runtime_ops *runtime, struct pk_plan_writer *writer,
	const struct pk_graph *reference, const struct pk_gate_limits *limits,
	struct pk_gate_verdict *verdict, struct pk_err *err)
{
	pk_cleanup(trial_finish) struct trial trial = {.runtime = runtime};
	int r = trial_load(&trial, writer, err);
	if (r == 0)
		r = run_engine(&trial, err);
	if (r == 0 && !limits->finite_only)
		r = run_reference(&trial, reference, err);
	if (r == 0)
		r = judge(&trial, limits, verdict, err);
	if (r < 0)
		return r;
	(void)runtime->describe(trial.loaded, &verdict->loaded);
	r = record(writer, limits, verdict);
	return r < 0 ? pk_fail(err, r, "gate: out of memory") : 0;
}
