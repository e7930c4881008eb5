// SPDX-License-Identifier: Apache-2.0
// Runs samples through the float graph and keeps a histogram of every activation.
#include "engine/calibrate/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "engine/calibrate/insert.h"
#include "engine/cpu/eval.h"

int pk_collector_init(struct pk_collector *c, const struct pk_graph *graph,
	const struct pk_digest *model, struct pk_err *err)
{
	*c = (struct pk_collector){.graph = graph, .model = *model};
	if (graph->n_inputs != 1 || graph->inputs[0]->dtype != PK_F32)
		return pk_fail(err, -ENOTSUP, "calibration needs a model of one f32 input");
	c->histograms = calloc((size_t)graph->n_values + 1, sizeof(*c->histograms));
	return c->histograms ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

void pk_collector_finish(struct pk_collector *c)
{
	free(c->histograms);
	free(c->samples);
	*c = (struct pk_collector){0};
}

bool pk_collector_has(const struct pk_collector *c, const struct pk_digest *sample)
{
	for (size_t i = 0; i < c->n_samples; i++)
		if (pk_digest_equal(&c->samples[i], sample))
			return true;
	return false;
}

static void watch(void *ctx, const struct pk_value *value, const void *data)
{
	struct pk_collector *c = ctx;
	if (pk_calibration_wants(value))
		pk_magnitudes_add(
			&c->histograms[value->id], data, pk_shape_elements(&value->shape));
}

static void **alloc_outputs(const struct pk_graph *graph)
{
	void **outputs = calloc((size_t)graph->n_outputs + 1, sizeof(*outputs));
	for (int i = 0; outputs && i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		outputs[i] = malloc(pk_tensor_bytes(value->dtype, &value->shape) + 1);
	}
	return outputs;
}

int pk_collector_run(struct pk_collector *c, const void *input, const struct pk_digest *sample,
	struct pk_err *err)
{
	void *samples = c->samples;
	const struct pk_eval_options options = {.fast = true, .watch = watch, .ctx = c};
	if (pk_array_grow_impl(&samples, &c->cap_samples, c->n_samples + 1, sizeof(*sample)) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	c->samples = samples;
	void **outputs = alloc_outputs(c->graph);
	int r = outputs ? 0 : -ENOMEM;
	for (int i = 0; r == 0 && i < c->graph->n_outputs; i++)
		r = outputs[i] ? 0 : -ENOMEM;
	if (r < 0) {
		pk_fail(err, r, "out of memory");
	} else {
		watch(c, c->graph->inputs[0], input);
		r = pk_cpu_eval_with(c->graph, &options, &input, outputs, err);
	}
	for (int i = 0; outputs && i < c->graph->n_outputs; i++)
		free(outputs[i]);
	free(outputs);
	if (r == 0)
		c->samples[c->n_samples++] = *sample;
	return r;
}

int pk_collector_ranges(const struct pk_collector *c, enum pk_range_method method,
	double percentile, struct pk_calibration *out, struct pk_err *err)
{
	*out = (struct pk_calibration){
		.method = method, .percentile = percentile, .model = c->model};
	out->samples = calloc(c->n_samples + 1, sizeof(*out->samples));
	int r = out->samples ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < c->n_samples; i++)
		out->samples[out->n_samples++] = c->samples[i];
	for (int i = 0; r == 0 && i < c->graph->n_values; i++) {
		double max = pk_magnitudes_threshold(&c->histograms[i], method, percentile);
		if (max > 0)
			r = pk_calibration_add_range(out, c->graph->values[i]->name, max);
	}
	if (r < 0) {
		pk_calibration_finish(out);
		return pk_fail(err, r, "calibration: out of memory");
	}
	pk_calibration_sort(out);
	return 0;
}
