// SPDX-License-Identifier: Apache-2.0
// From a model card to what engine/image needs.
#include "pipeline/input_spec.h"

#include <errno.h>
#include <string.h>

static struct pk_shape pk_input_shape_of(const struct pk_card_input *input)
{
	struct pk_shape shape = {.rank = (int)input->rank};
	for (size_t i = 0; i < input->rank && i < PK_CARD_MAX_RANK; i++)
		shape.dims[i] = input->shape[i];
	return shape;
}

int pk_input_spec_from_card(
	const struct pk_card *card, struct pk_image_spec *out, struct pk_err *err)
{
	const struct pk_card_input *in = &card->input;
	bool nhwc = in->layout == PK_CARD_NHWC;
	int64_t channels = in->color == PK_CARD_GRAY ? 1 : 3;
	const int64_t *dims = in->shape;
	int64_t h = dims[nhwc ? 1 : 2], w = dims[nhwc ? 2 : 3], c = dims[nhwc ? 3 : 1];
	if (in->rank != 4 || dims[0] != 1 || c != channels || h < 1 || w < 1 || h > 16384 ||
		w > 16384) {
		char text[PK_SHAPE_TEXT_MAX];
		struct pk_shape shape = pk_input_shape_of(in);
		pk_shape_format(&shape, text);
		return pk_fail(err, -EINVAL,
			"card `%s`: input shape %s is no picture, expected %s with %d channel%s",
			card->name, text, nhwc ? "[1,h,w,c]" : "[1,c,h,w]", (int)channels,
			channels == 1 ? "" : "s");
	}
	static const enum pk_image_color colors[] = {[PK_CARD_RGB] = PK_COLOR_RGB,
		[PK_CARD_BGR] = PK_COLOR_BGR,
		[PK_CARD_GRAY] = PK_COLOR_GRAY};
	static const enum pk_image_resize resizes[] = {[PK_CARD_STRETCH] = PK_RESIZE_STRETCH,
		[PK_CARD_LETTERBOX] = PK_RESIZE_LETTERBOX,
		[PK_CARD_CENTER_CROP] = PK_RESIZE_CENTER_CROP};
	*out = (struct pk_image_spec){.width = (int)w,
		.height = (int)h,
		.nhwc = nhwc,
		.color = colors[in->color],
		.resize = resizes[in->resize],
		.anchor_top_left = in->anchor == PK_CARD_TOP_LEFT,
		.upscale = in->upscale,
		.scale = (float)in->scale};
	for (int i = 0; i < 3; i++) {
		out->pad[i] = (float)in->pad[i];
		out->mean[i] = (float)in->mean[i];
		out->std[i] = (float)in->std[i];
	}
	return 0;
}

int pk_input_spec_check(const struct pk_card *card, const struct pk_binding *inputs,
	size_t n_inputs, struct pk_err *err)
{
	if (n_inputs != 1)
		return pk_fail(err, -EINVAL, "card `%s`: the engine has %zu inputs, expected one",
			card->name, n_inputs);
	const char *name = card->input.name;
	if (name && *name && strcmp(name, inputs[0].name) != 0)
		return pk_fail(err, -EINVAL, "card `%s`: input `%s`, but the engine's is `%s`",
			card->name, name, inputs[0].name);
	if (inputs[0].dtype != PK_F32)
		return pk_fail(err, -EINVAL, "card `%s`: input `%s` is %s, expected f32",
			card->name, inputs[0].name, pk_dtype_name(inputs[0].dtype));
	struct pk_shape want = pk_input_shape_of(&card->input);
	if (pk_shape_equal(&want, &inputs[0].shape))
		return 0;
	char card_text[PK_SHAPE_TEXT_MAX], engine_text[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&want, card_text);
	pk_shape_format(&inputs[0].shape, engine_text);
	return pk_fail(err, -EINVAL, "card `%s`: input `%s` is %s, but the engine's is %s",
		card->name, inputs[0].name, card_text, engine_text);
}
