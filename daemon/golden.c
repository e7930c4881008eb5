// SPDX-License-Identifier: Apache-2.0
// Golden samples: reading them, and judging an engine's decoded detections by them.
#include "daemon/golden.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/fs.h"
#include "base/json.h"
#include "engine/engine.h"
#include "engine/gate/detection.h"
#include "pipeline/decode/decode.h"
#include "pipeline/input_spec.h"

#define MAX_JSON_BYTES   (1u << 20)
#define MAX_SAMPLES      128
#define MAX_SAMPLE_SIDE  8192
#define MAX_SAMPLE_BYTES ((size_t)MAX_SAMPLE_SIDE * MAX_SAMPLE_SIDE * 3)
#define PAIRING_SCORE    0.05 // boxes down to this score are looked at as partners
#define FEW_BOXES        50

struct boxes {
	struct pk_gate_box *items;
	size_t n, cap;
};

struct pk_golden {
	const struct pk_card *card;
	json_t *list; // golden.json
	struct pk_image_spec spec;
	struct pk_gate_sample *samples; // names belong to list, inputs to us
	struct pk_image_map *maps;      // back to each picture
	size_t n_samples;
	struct boxes expected, truth;
};

static int add_box(struct boxes *boxes, const struct pk_gate_box *box, struct pk_err *err)
{
	if (boxes->n == boxes->cap) {
		size_t cap = boxes->cap ? boxes->cap * 2 : 64;
		struct pk_gate_box *items = reallocarray(boxes->items, cap, sizeof(*items));
		if (!items)
			return pk_fail(err, -ENOMEM, "out of memory");
		boxes->items = items;
		boxes->cap = cap;
	}
	boxes->items[boxes->n++] = *box;
	return 0;
}

static int class_of(const struct pk_card *card, const char *label)
{
	for (size_t i = 0; i < card->n_labels; i++) {
		if (strcmp(card->labels[i], label) == 0)
			return (int)i;
	}
	return -1;
}

static int read_box(const struct pk_golden *golden, const json_t *json, bool with_score,
	struct pk_gate_box *out, struct pk_err *err)
{
	const char *label = NULL;
	double score = 0;
	json_t *box = NULL;
	int r = pk_json_get_str(json, "label", &label, err);
	if (r == 0 && with_score)
		r = pk_json_get_num(json, "score", &score, err);
	if (r == 0)
		r = pk_json_get_arr(json, "box", &box, err);
	if (r < 0)
		return -EINVAL;
	out->class_idx = class_of(golden->card, label);
	if (out->class_idx < 0 || json_array_size(box) != 4)
		return pk_fail(
			err, -EINVAL, "golden.json: detection `%s` does not fit the card", label);
	out->score = (float)score;
	out->x1 = (float)json_number_value(json_array_get(box, 0));
	out->y1 = (float)json_number_value(json_array_get(box, 1));
	out->x2 = (float)json_number_value(json_array_get(box, 2));
	out->y2 = (float)json_number_value(json_array_get(box, 3));
	return 0;
}

static int read_boxes(const struct pk_golden *golden, const json_t *list, bool with_score,
	struct boxes *out, struct pk_err *err)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		struct pk_gate_box box = {.image_idx = (int)golden->n_samples};
		int r = read_box(golden, item, with_score, &box, err);
		if (r == 0)
			r = add_box(out, &box, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_picture(const json_t *sample, const json_t *files, struct pk_buf *bytes,
	struct pk_image *image, struct pk_err *err)
{
	const char *file = NULL, *path = NULL;
	int64_t width = 0, height = 0;
	int r = pk_json_get_str(sample, "file", &file, err);
	if (r == 0)
		r = pk_json_get_int(sample, "width", &width, err);
	if (r == 0)
		r = pk_json_get_int(sample, "height", &height, err);
	if (r < 0)
		return -EINVAL;
	path = json_string_value(json_object_get(files, file));
	if (!path || width < 1 || height < 1 || width > MAX_SAMPLE_SIDE || height > MAX_SAMPLE_SIDE)
		return pk_fail(
			err, -EINVAL, "golden.json: sample `%s` is not in the artifact", file);
	r = pk_fs_read(path, MAX_SAMPLE_BYTES, bytes, err);
	if (r < 0)
		return r;
	if (bytes->len != (size_t)(width * height * 3))
		return pk_fail(err, -EINVAL, "golden sample `%s` is not %lld x %lld x 3 bytes",
			file, (long long)width, (long long)height);
	*image = (struct pk_image){
		.format = PK_PIXEL_RGB,
		.width = (int)width,
		.height = (int)height,
		.planes = {(const uint8_t *)bytes->data},
		.strides = {(int)width * 3},
	};
	return 0;
}

// The picture as the engine's input; *map leads back to its pixels.
static int preprocess(const struct pk_image_spec *spec, const struct pk_image *image, size_t bytes,
	void **out, struct pk_image_map *map, struct pk_err *err)
{
	pk_auto(pk_preprocess) pre = NULL;
	int r = pk_preprocess_create(spec, image, &pre, err);
	if (r < 0)
		return r;
	*out = calloc(1, bytes);
	if (!*out)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_preprocess_run(pre, image, *out);
	*map = *pk_preprocess_map(pre);
	return 0;
}

static size_t input_bytes(const struct pk_card *card)
{
	size_t bytes = sizeof(float);
	for (size_t i = 0; i < card->input.rank; i++)
		bytes *= (size_t)card->input.shape[i];
	return bytes;
}

static int add_sample(
	struct pk_golden *golden, const json_t *json, const json_t *files, struct pk_err *err)
{
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_SAMPLE_BYTES);
	struct pk_image image;
	json_t *expected = NULL;
	void *input = NULL;
	struct pk_gate_sample *sample = &golden->samples[golden->n_samples];
	int r = read_picture(json, files, &bytes, &image, err);
	if (r == 0)
		r = pk_json_get_arr(json, "detections", &expected, err);
	if (r == 0)
		r = read_boxes(golden, expected, true, &golden->expected, err);
	if (r == 0)
		r = read_boxes(golden, json_object_get(json, "labels"), false, &golden->truth, err);
	sample->bytes = input_bytes(golden->card);
	if (r == 0)
		r = preprocess(&golden->spec, &image, sample->bytes, &input,
			&golden->maps[golden->n_samples], err);
	sample->name = json_string_value(json_object_get(json, "file"));
	sample->input = input;
	if (r == 0)
		golden->n_samples++;
	return r;
}

static int load_list(const json_t *files, json_t **out, struct pk_err *err)
{
	const char *path = json_string_value(json_object_get(files, "golden.json"));
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_JSON_BYTES);
	if (!path)
		return 0;
	int r = pk_fs_read(path, MAX_JSON_BYTES, &text, err);
	return r < 0 ? r : pk_json_parse(text.data, text.len, "golden.json", out, err);
}

static int read_samples(struct pk_golden *golden, const json_t *files, struct pk_err *err)
{
	json_t *list = NULL, *sample;
	size_t i;
	int r = pk_json_get_arr(golden->list, "samples", &list, err);
	if (r == 0 && json_array_size(list) > MAX_SAMPLES)
		r = pk_fail(err, -EINVAL, "golden.json: more than %d samples", MAX_SAMPLES);
	if (r < 0)
		return r;
	golden->samples = calloc(json_array_size(list) + 1, sizeof(*golden->samples));
	golden->maps = calloc(json_array_size(list) + 1, sizeof(*golden->maps));
	if (!golden->samples || !golden->maps)
		return pk_fail(err, -ENOMEM, "out of memory");
	json_array_foreach (list, i, sample) {
		if (r == 0)
			r = add_sample(golden, sample, files, err);
	}
	return r;
}

int pk_golden_load(
	const struct pk_card *card, const json_t *files, struct pk_golden **out, struct pk_err *err)
{
	*out = NULL;
	pk_auto(pk_golden) golden = calloc(1, sizeof(*golden));
	if (!golden)
		return pk_fail(err, -ENOMEM, "out of memory");
	golden->card = card;
	int r = load_list(files, &golden->list, err);
	if (r < 0 || !golden->list)
		return r;
	r = pk_input_spec_from_card(card, &golden->spec, err);
	if (r == 0)
		r = read_samples(golden, files, err);
	if (r == 0)
		*out = pk_steal(golden);
	return r;
}

void pk_golden_destroy(struct pk_golden *golden)
{
	if (!golden)
		return;
	for (size_t i = 0; i < golden->n_samples; i++)
		free((void *)(uintptr_t)golden->samples[i].input);
	free(golden->samples);
	free(golden->maps);
	free(golden->expected.items);
	free(golden->truth.items);
	json_decref(golden->list);
	free(golden);
}

const struct pk_gate_sample *pk_golden_samples(const struct pk_golden *golden, size_t *n)
{
	*n = golden ? golden->n_samples : 0;
	return golden ? golden->samples : NULL;
}

// An engine ready to look at pictures.
struct bench {
	const struct pk_golden *golden;
	struct pk_engine *engine;
	struct pk_context *context;
	struct pk_decoder *decoder;
	struct pk_detection *detections;
	struct boxes found;
};

static void bench_finish(struct bench *bench)
{
	free(bench->found.items);
	free(bench->detections);
	pk_decoder_destroy(bench->decoder);
	pk_context_destroy(bench->context);
	pk_engine_unload(bench->engine);
}

// Family map cuts regions out at the threshold: another one gives other boxes, not more of them.
static double pairing_score(const struct pk_card *card)
{
	return card->decode.family == PK_DECODE_MAP ? -1 : PK_MIN(card->post.conf, PAIRING_SCORE);
}

static int bench_open(struct bench *bench, const char *engine_path, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	const struct pk_card *card = bench->golden->card;
	int r = pk_engine_load(engine_path, NULL, &bench->engine, &mismatch, err);
	if (r < 0)
		return r;
	const struct pk_engine_info *info = pk_engine_info(bench->engine);
	bench->detections = calloc(PK_RESULT_MAX_DETECTIONS, sizeof(*bench->detections));
	if (!bench->detections)
		return pk_fail(err, -ENOMEM, "out of memory");
	r = pk_input_spec_check(card, info->inputs, info->n_inputs, err);
	if (r == 0)
		r = pk_decoder_create(card, pairing_score(card), info->outputs, info->n_outputs,
			&bench->decoder, err);
	if (r == 0)
		r = pk_context_create(bench->engine, 1, &bench->context, err);
	return r;
}

static int keep_detections(struct bench *bench, size_t n, int image_idx, struct pk_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct pk_detection *d = &bench->detections[i];
		struct pk_gate_box box = {
			d->x1, d->y1, d->x2, d->y2, d->score, d->class_idx, image_idx};
		r = add_box(&bench->found, &box, err);
	}
	return r;
}

static int bench_look(struct bench *bench, size_t sample_idx, struct pk_err *err)
{
	const struct pk_gate_sample *sample = &bench->golden->samples[sample_idx];
	memcpy(pk_context_input(bench->context, 0, 0), sample->input, sample->bytes);
	int r = pk_context_submit(bench->context, 0, err);
	if (r == 0)
		r = pk_context_wait(bench->context, 0, err);
	if (r < 0)
		return r;
	const void *tensors[PK_ENGINE_MAX_BINDINGS] = {0};
	size_t n = PK_MIN(pk_engine_info(bench->engine)->n_outputs, (size_t)PK_ENGINE_MAX_BINDINGS);
	for (size_t i = 0; i < n; i++)
		tensors[i] = pk_context_output(bench->context, 0, i);
	size_t n_found = pk_decoder_run(
		bench->decoder, tensors, &bench->golden->maps[sample_idx], bench->detections);
	return keep_detections(bench, n_found, (int)sample_idx, err);
}

static void describe_box(const struct pk_golden *golden, const struct pk_gate_box *box,
	const char *what, char *out, size_t size)
{
	snprintf(out, size, "%.40s: `%.30s` (score %.2f) %s", golden->samples[box->image_idx].name,
		golden->card->labels[box->class_idx], (double)box->score, what);
}

static void judge_match(const struct bench *bench, const struct pk_gate_profile *profile,
	const struct pk_match *match, struct pk_gate_verdict *verdict)
{
	const struct pk_golden *golden = bench->golden;
	char where[128];
	snprintf(where, sizeof(where), "%zu boxes%s", match->n_reference,
		match->n_reference < FEW_BOXES ? ", few: each weighs much" : "");
	if (match->first_missing >= 0)
		describe_box(golden, &golden->expected.items[match->first_missing], "was not found",
			where, sizeof(where));
	struct pk_gate_figure recall = {
		PK_GATE_MATCH, "recall", match->recall, profile->min_match, true};
	pk_gate_verdict_take(verdict, &recall, "%s", where);
	if (match->first_extra >= 0)
		describe_box(golden, &bench->found.items[match->first_extra],
			"is not in the sample's list", where, sizeof(where));
	struct pk_gate_figure precision = {
		PK_GATE_MATCH, "precision", match->precision, profile->min_match, true};
	pk_gate_verdict_take(verdict, &precision, "%s", where);
}

// The card's limits are its maker's for fp32; a coarser precision may use all its profile allows.
static void judge_scores(const struct bench *bench, const struct pk_gate_profile *profile,
	const struct pk_match *match, struct pk_gate_verdict *verdict)
{
	double card = bench->golden->card->gate.match_score;
	double allowed = profile->count_change;
	size_t n_borderline =
		match->n_over_reference - match->n_reference + match->n_over_found - match->n_found;
	if (match->n_over_reference)
		allowed += (double)n_borderline / (double)match->n_over_reference;
	const struct pk_gate_figure figures[] = {
		{PK_GATE_SCORE, "max |score|", match->max_score_diff,
			profile->precision == PK_PRECISION_FP32 ? card : 1, false},
		{PK_GATE_SCORE, "mean |score|", match->mean_score_diff,
			PK_MAX(card, profile->score_mean), false},
		{PK_GATE_SCORE, "|mean score|",
			match->signed_score_diff < 0 ? -match->signed_score_diff
						     : match->signed_score_diff,
			PK_MAX(card, profile->score_signed), false},
		{PK_GATE_COUNT, "count change", match->count_change, allowed, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(figures); i++)
		pk_gate_verdict_take(verdict, &figures[i], "%zu pairs, %zu borderline",
			match->n_pairs, n_borderline);
}

// How much of the maker's own average precision is left, both at the serving threshold.
static int judge_precision(const struct bench *bench, const struct pk_gate_profile *profile,
	struct pk_gate_verdict *verdict, struct pk_err *err)
{
	const struct pk_golden *golden = bench->golden;
	struct boxes served = {.items = calloc(bench->found.n + 1, sizeof(struct pk_gate_box))};
	struct pk_average_precision want, got;
	int r = served.items ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < bench->found.n; i++) {
		if ((double)bench->found.items[i].score >= golden->card->post.conf)
			served.items[served.n++] = bench->found.items[i];
	}
	if (r == 0)
		r = pk_average_precision(golden->truth.items, golden->truth.n,
			golden->expected.items, golden->expected.n, &want);
	if (r == 0)
		r = pk_average_precision(
			golden->truth.items, golden->truth.n, served.items, served.n, &got);
	free(served.items);
	if (r < 0)
		return pk_fail(err, r, "out of memory");
	if (want.ap50_95 <= 0) {
		pk_gate_verdict_skip(verdict, PK_GATE_PRECISION, PK_GATE_INCONCLUSIVE,
			"the expected detections find no labelled object");
		return 0;
	}
	struct pk_gate_figure figure = {PK_GATE_PRECISION, "mAP50-95 kept",
		got.ap50_95 / want.ap50_95, profile->map_retention, true};
	pk_gate_verdict_take(verdict, &figure, "mAP50-95 %.4f, expected %.4f, %zu objects",
		got.ap50_95, want.ap50_95, golden->truth.n);
	return 0;
}

static int judge(const struct bench *bench, const struct pk_gate_profile *profile,
	struct pk_gate_verdict *verdict, struct pk_err *err)
{
	const struct pk_golden *golden = bench->golden;
	double iou = golden->card->gate.match_iou;
	struct pk_match_options options = {
		.iou = profile->precision == PK_PRECISION_FP32 ? iou
							       : PK_MIN(iou, profile->match_iou),
		.threshold = golden->card->post.conf,
		.margin = golden->card->gate.match_score,
	};
	struct pk_match match;
	int r = pk_match_boxes(golden->expected.items, golden->expected.n, bench->found.items,
		bench->found.n, &options, &match);
	if (r < 0)
		return pk_fail(err, r, "out of memory");
	judge_match(bench, profile, &match, verdict);
	judge_scores(bench, profile, &match, verdict);
	return golden->truth.n ? judge_precision(bench, profile, verdict, err) : 0;
}

int pk_golden_judge(const struct pk_golden *golden, const char *engine_path,
	const struct pk_gate_profile *profile, struct pk_gate_verdict *verdict, struct pk_err *err)
{
	if (golden->card->decode.family == PK_DECODE_RAW)
		return 0; // nothing is decoded: the tensors were judged
	if (golden->expected.n == 0) {
		pk_gate_verdict_skip(verdict, PK_GATE_MATCH, PK_GATE_INCONCLUSIVE,
			"golden samples without any detection");
		return 0;
	}
	pk_cleanup(bench_finish) struct bench bench = {.golden = golden};
	int r = bench_open(&bench, engine_path, err);
	for (size_t i = 0; r == 0 && i < golden->n_samples; i++)
		r = bench_look(&bench, i, err);
	return r < 0 ? r : judge(&bench, profile, verdict, err);
}
