// SPDX-License-Identifier: Apache-2.0
// Import, then card against graph.
#include "daemon/admit.h"

#include <errno.h>

#include "engine/compile/compile.h"
#include "pipeline/decode/decode.h"
#include "pipeline/input_spec.h"

static void describe(const struct pk_value *value, struct pk_binding *out)
{
	*out = (struct pk_binding){
		.name = value->name, .dtype = value->dtype, .shape = value->shape};
	out->bytes = pk_tensor_bytes(value->dtype, &value->shape);
}

static int check_outputs(
	const struct pk_graph *graph, const struct pk_card *card, struct pk_err *err)
{
	pk_auto(pk_decoder) decoder = NULL;
	struct pk_binding outputs[PK_ENGINE_MAX_BINDINGS];
	for (int i = 0; i < graph->n_outputs; i++)
		describe(graph->outputs[i], &outputs[i]);
	return pk_decoder_create(card, -1, outputs, (size_t)graph->n_outputs, &decoder, err);
}

static int check_inputs(
	const struct pk_graph *graph, const struct pk_card *card, struct pk_err *err)
{
	struct pk_binding inputs[PK_ENGINE_MAX_BINDINGS];
	struct pk_image_spec spec;
	for (int i = 0; i < graph->n_inputs; i++)
		describe(graph->inputs[i], &inputs[i]);
	int r = pk_input_spec_check(card, inputs, (size_t)graph->n_inputs, err);
	return r < 0 ? r : pk_input_spec_from_card(card, &spec, err);
}

int pk_admit(const struct pk_build_options *options, const struct pk_card *card, struct pk_err *err)
{
	pk_cleanup(pk_source_model_close) struct pk_source_model model = {0};
	int r = pk_source_model_open(
		&model, options->onnx_path, options->shapes, options->n_shapes, NULL, err);
	if (r < 0 || !card)
		return r;
	if (model.graph->n_inputs > PK_ENGINE_MAX_BINDINGS ||
		model.graph->n_outputs > PK_ENGINE_MAX_BINDINGS)
		return pk_fail(
			err, -ENOTSUP, "more than %d inputs or outputs", PK_ENGINE_MAX_BINDINGS);
	r = check_inputs(model.graph, card, err);
	return r < 0 ? r : check_outputs(model.graph, card, err);
}
