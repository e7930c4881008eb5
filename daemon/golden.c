// SPDX-License-Identifier: Apache-2.0
// Gate on the artifact's golden samples.
#include "daemon/golden.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/fs.h"
#include "base/json.h"
#include "engine/engine.h"
#include "pipeline/decode/decode.h"
#include "pipeline/input_spec.h"

#define MAX_JSON_BYTES   (1u << 20)
#define MAX_SAMPLE_SIDE  8192
#define MAX_SAMPLE_BYTES ((size_t)MAX_SAMPLE_SIDE * MAX_SAMPLE_SIDE * 3)

// An engine ready to look at pictures.
struct bench {
	const struct pk_card *card;
	struct pk_engine *engine;
	struct pk_context *context;
	struct pk_image_spec spec;
	struct pk_decoder *decoder;
	struct pk_detection *found;
	size_t n_found;
};

static void bench_finish(struct bench *bench)
{
	free(bench->found);
	pk_decoder_destroy(bench->decoder);
	pk_context_destroy(bench->context);
	pk_engine_unload(bench->engine);
}

static int bench_open(struct bench *bench, const char *engine_path, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	int r = pk_engine_load(engine_path, NULL, &bench->engine, &mismatch, err);
	if (r < 0)
		return r;
	const struct pk_engine_info *info = pk_engine_info(bench->engine);
	bench->found = calloc(PK_RESULT_MAX_DETECTIONS, sizeof(*bench->found));
	if (!bench->found)
		return pk_fail(err, -ENOMEM, "out of memory");
	r = pk_input_spec_check(bench->card, info->inputs, info->n_inputs, err);
	if (r == 0)
		r = pk_input_spec_from_card(bench->card, &bench->spec, err);
	if (r == 0)
		r = pk_decoder_create(
			bench->card, -1, info->outputs, info->n_outputs, &bench->decoder, err);
	if (r == 0)
		r = pk_context_create(bench->engine, 1, &bench->context, err);
	return r;
}

static int bench_look(struct bench *bench, const struct pk_image *image, struct pk_err *err)
{
	pk_auto(pk_preprocess) pre = NULL;
	int r = pk_preprocess_create(&bench->spec, image, &pre, err);
	if (r < 0)
		return r;
	pk_preprocess_run(pre, image, pk_context_input(bench->context, 0, 0));
	r = pk_context_submit(bench->context, 0, err);
	if (r == 0)
		r = pk_context_wait(bench->context, 0, err);
	if (r < 0)
		return r;
	const void *tensors[PK_ENGINE_MAX_BINDINGS] = {0};
	size_t n = PK_MIN(pk_engine_info(bench->engine)->n_outputs, (size_t)PK_ENGINE_MAX_BINDINGS);
	for (size_t i = 0; i < n; i++)
		tensors[i] = pk_context_output(bench->context, 0, i);
	bench->n_found =
		pk_decoder_run(bench->decoder, tensors, pk_preprocess_map(pre), bench->found);
	return 0;
}

static float intersection_over_union(const struct pk_detection *a, const struct pk_detection *b)
{
	float w = PK_MIN(a->x2, b->x2) - PK_MAX(a->x1, b->x1);
	float h = PK_MIN(a->y2, b->y2) - PK_MAX(a->y1, b->y1);
	float inter = PK_MAX(w, 0.0f) * PK_MAX(h, 0.0f);
	float both = (a->x2 - a->x1) * (a->y2 - a->y1) + (b->x2 - b->x1) * (b->y2 - b->y1);
	return both > inter ? inter / (both - inter) : 0;
}

static int class_of(const struct pk_card *card, const char *label)
{
	for (size_t i = 0; i < card->n_labels; i++) {
		if (strcmp(card->labels[i], label) == 0)
			return (int)i;
	}
	return -1;
}

static int read_expected(const struct pk_card *card, const json_t *json, struct pk_detection *out,
	struct pk_err *err)
{
	const char *label = NULL;
	double score = 0;
	json_t *box = NULL;
	int r = pk_json_get_str(json, "label", &label, err);
	if (r == 0)
		r = pk_json_get_num(json, "score", &score, err);
	if (r == 0)
		r = pk_json_get_arr(json, "box", &box, err);
	if (r < 0)
		return -EINVAL;
	out->class_idx = class_of(card, label);
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

static bool matches(const struct bench *bench, const struct pk_detection *expected,
	const struct pk_detection *found)
{
	return found->class_idx == expected->class_idx &&
	       (double)fabsf(found->score - expected->score) <= bench->card->gate.match_score &&
	       (double)intersection_over_union(found, expected) >= bench->card->gate.match_iou;
}

// Scores this close to the threshold may fall on either side of it.
static bool is_clear(const struct bench *bench, float score)
{
	return (double)score > bench->card->post.conf + bench->card->gate.match_score;
}

static int compare(
	const struct bench *bench, const char *file, const json_t *expected, struct pk_err *err)
{
	bool taken[PK_RESULT_MAX_DETECTIONS] = {false};
	size_t i, k;
	json_t *item;
	json_array_foreach (expected, i, item) {
		struct pk_detection want = {0};
		int r = read_expected(bench->card, item, &want, err);
		if (r < 0)
			return r;
		for (k = 0; k < bench->n_found; k++) {
			if (!taken[k] && matches(bench, &want, &bench->found[k]))
				break;
		}
		if (k < bench->n_found)
			taken[k] = true;
		else if (is_clear(bench, want.score))
			return pk_fail(err, -EBADE,
				"gate: golden sample `%s`: `%s` (score %.2f) was not found", file,
				bench->card->labels[want.class_idx], (double)want.score);
	}
	for (k = 0; k < bench->n_found; k++) {
		if (!taken[k] && is_clear(bench, bench->found[k].score))
			return pk_fail(err, -EBADE,
				"gate: golden sample `%s`: `%s` (score %.2f) is not in the "
				"sample's list",
				file, bench->card->labels[bench->found[k].class_idx],
				(double)bench->found[k].score);
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

static int check_sample(
	struct bench *bench, const json_t *sample, const json_t *files, struct pk_err *err)
{
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_SAMPLE_BYTES);
	struct pk_image image;
	json_t *expected = NULL;
	int r = read_picture(sample, files, &bytes, &image, err);
	if (r == 0)
		r = pk_json_get_arr(sample, "detections", &expected, err);
	if (r == 0)
		r = bench_look(bench, &image, err);
	if (r == 0)
		r = compare(
			bench, json_string_value(json_object_get(sample, "file")), expected, err);
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

int pk_golden_check(const char *engine_path, const struct pk_card *card, const json_t *files,
	struct pk_err *err)
{
	pk_auto_json list = NULL;
	json_t *samples = NULL;
	int r = load_list(files, &list, err);
	if (r < 0 || !list)
		return r;
	r = pk_json_get_arr(list, "samples", &samples, err);
	if (r < 0)
		return r;
	pk_cleanup(bench_finish) struct bench bench = {.card = card};
	r = bench_open(&bench, engine_path, err);
	size_t i;
	json_t *sample;
	json_array_foreach (samples, i, sample) {
		if (r == 0)
			r = check_sample(&bench, sample, files, err);
	}
	return r;
}
