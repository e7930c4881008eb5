// SPDX-License-Identifier: Apache-2.0
// Two runs on the same inputs, the second among NaN.
#include "engine/gate/poison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct trial {
	const struct pk_runtime_ops *runtime;
	const struct pk_graph *graph;
	void *context;
	unsigned char **plain; // outputs of the first run
};

static void trial_finish(struct trial *trial)
{
	for (int i = 0; trial->plain && i < trial->graph->n_outputs; i++)
		free(trial->plain[i]);
	free(trial->plain);
	trial->runtime->context_destroy(trial->context);
}

static void fill_noise(void *ctx, int input_idx, const struct pk_value *value, void *data)
{
	(void)ctx;
	uint32_t seed = (uint32_t)input_idx + 1;
	int64_t n = pk_shape_elements(&value->shape);
	memset(data, 0, pk_tensor_bytes(value->dtype, &value->shape));
	for (int64_t i = 0; i < n && value->dtype == PK_F32; i++) {
		seed = seed * 1664525u + 1013904223u;
		((float *)data)[i] = (float)(seed >> 8) / 16777216.0f;
	}
}

static int run(const struct trial *trial, pk_gate_fill *fill, void *ctx, struct pk_err *err)
{
	for (int i = 0; i < trial->graph->n_inputs; i++)
		fill(ctx, i, trial->graph->inputs[i], trial->runtime->input(trial->context, 0, i));
	int r = trial->runtime->submit(trial->context, 0, err);
	return r < 0 ? r : trial->runtime->wait(trial->context, 0, err);
}

static size_t output_bytes(const struct trial *trial, int output_idx)
{
	const struct pk_value *value = trial->graph->outputs[output_idx];
	return pk_tensor_bytes(value->dtype, &value->shape);
}

static int keep_outputs(struct trial *trial, struct pk_err *err)
{
	trial->plain = calloc((size_t)trial->graph->n_outputs + 1, sizeof(*trial->plain));
	if (!trial->plain)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (int i = 0; i < trial->graph->n_outputs; i++) {
		size_t bytes = output_bytes(trial, i);
		trial->plain[i] = malloc(bytes + 1);
		if (!trial->plain[i])
			return pk_fail(err, -ENOMEM, "out of memory");
		memcpy(trial->plain[i], trial->runtime->output(trial->context, 0, i), bytes);
	}
	return 0;
}

static int compare_outputs(const struct trial *trial, struct pk_err *err)
{
	for (int i = 0; i < trial->graph->n_outputs; i++) {
		const unsigned char *now = trial->runtime->output(trial->context, 0, i);
		const struct pk_value *value = trial->graph->outputs[i];
		size_t bytes = output_bytes(trial, i), at = 0;
		while (at < bytes && now[at] == trial->plain[i][at])
			at++;
		if (at < bytes)
			return pk_fail(err, -EBADE,
				"output `%s` reads dead memory: element %zu changes when that is "
				"NaN",
				value->name, at / pk_dtype_bytes(value->dtype));
	}
	return 0;
}

int pk_gate_poison(const struct pk_runtime_ops *runtime, void *loaded, pk_gate_fill *fill,
	void *ctx, struct pk_err *err)
{
	if (!runtime->set_poison)
		return pk_fail(err, -ENOTSUP, "runtime `%s` has no poison mode", runtime->name);
	pk_cleanup(trial_finish) struct trial trial = {
		.runtime = runtime, .graph = runtime->describe(loaded, NULL)};
	fill = fill ? fill : fill_noise;
	int r = runtime->context_create(loaded, 1, &trial.context, err);
	if (r == 0)
		r = run(&trial, fill, ctx, err);
	if (r == 0)
		r = keep_outputs(&trial, err);
	if (r == 0)
		r = runtime->set_poison(trial.context, true, err);
	if (r == 0)
		r = run(&trial, fill, ctx, err);
	return r < 0 ? r : compare_outputs(&trial, err);
}
