// SPDX-License-Identifier: Apache-2.0
// From tensor metrics to rows of the verdict.
#include "engine/gate/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "engine/gate/compare.h"
#include "engine/ir/element.h"

// The values as f32: where they are when they are f32, else a copy (*owned, to be freed).
static const float *as_f32(const struct pk_value *value, const void *data, float **owned)
{
	int64_t n = pk_shape_elements(&value->shape);
	if (value->dtype == PK_F32)
		return data;
	*owned = malloc((size_t)n * sizeof(**owned) + 1);
	for (int64_t i = 0; *owned && i < n; i++)
		(*owned)[i] = (float)pk_element_get(value->dtype, data, (size_t)i);
	return *owned;
}

static void judge_finite(struct pk_gate_verdict *verdict, const struct pk_value *value,
	const float *found, const char *input)
{
	int64_t n = pk_shape_elements(&value->shape), n_bad = 0;
	for (int64_t i = 0; i < n; i++)
		n_bad += !isfinite(found[i]);
	struct pk_gate_figure figure = {PK_GATE_SANITY, "NaN or Inf", (double)n_bad, 0, false};
	pk_gate_verdict_take(verdict, &figure, "output `%.60s` on %.40s", value->name, input);
}

static void judge_figures(struct pk_gate_verdict *verdict, const struct pk_gate_profile *profile,
	const struct pk_comparison *got, const struct pk_value *value, const char *input)
{
	const struct pk_gate_figure figures[] = {
		{PK_GATE_SANITY, "NaN or Inf", (double)got->n_bad, 0, false},
		{PK_GATE_COSINE, "cosine", got->cosine, profile->min_cosine, true},
		{PK_GATE_COSINE, "centered cosine", got->cosine_centered, profile->min_cosine,
			true},
		{PK_GATE_ERROR, "max error", got->max_rel_err, profile->max_rel_err, false},
		{PK_GATE_ERROR, "q99.9 error", got->rel_err_q999, profile->rel_err_q999, false},
		{PK_GATE_ERROR, "q99 error", got->rel_err_q99, profile->rel_err_q99, false},
		{PK_GATE_NOISE, "SQNR dB", got->sqnr_db, profile->min_sqnr_db, true},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(figures); i++) {
		if (figures[i].check == PK_GATE_ERROR && figures[i].limit <= 0)
			continue; // not judged at this precision
		pk_gate_verdict_take(
			verdict, &figures[i], "output `%.60s` on %.40s", value->name, input);
	}
	verdict->max_rel_err = PK_MAX(verdict->max_rel_err, got->max_rel_err);
	verdict->min_cosine = PK_MIN(verdict->min_cosine, got->cosine);
	verdict->min_sqnr_db = PK_MIN(verdict->min_sqnr_db, got->sqnr_db);
}

static void judge_channels(struct pk_gate_verdict *verdict, const struct pk_gate_profile *profile,
	const struct pk_value *value, const float *found, const float *expected, const char *input)
{
	struct pk_channel_noise noise;
	pk_compare_channels(found, expected, &value->shape, pk_channel_axis(&value->shape), &noise);
	if (noise.n_channels == 0)
		return;
	struct pk_gate_figure figure = {
		PK_GATE_NOISE, "SQNR dB", noise.min_sqnr_db, profile->min_sqnr_db, true};
	pk_gate_verdict_take(verdict, &figure, "output `%.50s` channel %lld on %.40s", value->name,
		(long long)noise.worst, input);
}

static void judge_integers(struct pk_gate_verdict *verdict, const struct pk_gate_profile *profile,
	const struct pk_value *value, const void *found, const void *expected, const char *input)
{
	int64_t n = pk_shape_elements(&value->shape);
	int64_t n_other = pk_compare_bytes(found, expected, n, pk_dtype_bytes(value->dtype));
	struct pk_gate_figure figure = {PK_GATE_ERROR, "other values",
		n ? (double)n_other / (double)n : 0, profile->max_other_ints, false};
	pk_gate_verdict_take(verdict, &figure, "output `%.60s` on %.40s", value->name, input);
}

int pk_gate_judge_output(struct pk_gate_verdict *verdict, const struct pk_gate_profile *profile,
	const struct pk_value *value, const void *found, const void *expected,
	const struct pk_gate_input *input)
{
	if (!pk_dtype_is_float(value->dtype)) {
		if (expected)
			judge_integers(verdict, profile, value, found, expected, input->name);
		return 0;
	}
	pk_auto_free float *owned_a = NULL, *owned_b = NULL;
	const float *a = as_f32(value, found, &owned_a);
	const float *b = expected ? as_f32(value, expected, &owned_b) : NULL;
	if (!a || (expected && !b))
		return -ENOMEM;
	if (!expected) {
		judge_finite(verdict, value, a, input->name);
		return 0;
	}
	struct pk_comparison got;
	if (pk_compare_f32(a, b, pk_shape_elements(&value->shape), &got) < 0)
		return -ENOMEM;
	judge_figures(verdict, profile, &got, value, input->name);
	if (input->is_picture || !profile->channels_on_pictures)
		judge_channels(verdict, profile, value, a, b, input->name);
	return 0;
}

int pk_gate_add_classes(struct pk_class_agreement *sum, const struct pk_class_output *classes,
	const struct pk_value *value, const void *found, const void *expected)
{
	pk_auto_free float *owned_a = NULL, *owned_b = NULL;
	int64_t n = pk_shape_elements(&value->shape);
	if (classes->n_classes < 1 || n < 1 || n % classes->n_classes != 0 ||
		!pk_dtype_is_float(value->dtype))
		return -EINVAL;
	const float *a = as_f32(value, found, &owned_a), *b = as_f32(value, expected, &owned_b);
	if (!a || !b)
		return -ENOMEM;
	pk_class_agreement_add(
		sum, a, b, n / classes->n_classes, classes->n_classes, classes->is_logits);
	return 0;
}
