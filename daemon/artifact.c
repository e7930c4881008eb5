// SPDX-License-Identifier: Apache-2.0
// From a reference to paths and engine keys.
#include "daemon/artifact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "config/card.h"
#include "daemon/text.h"
#include "engine/engine.h"
#include "registry/bundle.h"
#include "registry/media_type.h"
#include "registry/registry.h"

#define MAX_CARD_BYTES (1u << 20)
#define MAX_KEY_BYTES  (64u << 10)

void pk_engine_file_finish(struct pk_engine_file *file)
{
	free(file->path);
	free(file->key);
	free(file->timing);
	*file = (struct pk_engine_file){0};
}

struct pk_artifact *pk_artifact_ref(struct pk_artifact *artifact)
{
	if (artifact)
		artifact->n_refs++;
	return artifact;
}

void pk_artifact_unref(struct pk_artifact *artifact)
{
	if (!artifact || --artifact->n_refs > 0)
		return;
	for (size_t i = 0; i < PK_ARRAY_LEN(artifact->files); i++)
		pk_engine_file_finish(&artifact->files[i]);
	json_decref(artifact->shapes);
	json_decref(artifact->labels);
	json_decref(artifact->golden);
	free(artifact->onnx);
	free(artifact->card);
	free(artifact->calibration);
	free(artifact);
}

bool pk_artifact_equal(const struct pk_artifact *a, const struct pk_artifact *b)
{
	bool same = strcmp(a->digest, b->digest) == 0;
	for (size_t i = 0; i < PK_ARRAY_LEN(a->files); i++)
		same = same && strcmp(a->files[i].digest, b->files[i].digest) == 0;
	return same;
}

int pk_artifact_manifest(struct pk_store *store, const char *digest_text,
	struct pk_manifest **manifest, struct pk_err *err)
{
	struct pk_digest digest;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	if (pk_digest_parse(digest_text, &digest) < 0)
		return pk_fail(err, -EINVAL, "%s is not a digest", digest_text);
	int r = pk_store_verify(store, &digest, err);
	if (r < 0)
		return r;
	pk_auto_free char *path = pk_store_path(store, &digest);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	r = pk_fs_read(path, PK_MANIFEST_MAX_BYTES, &bytes, err);
	return r < 0 ? r : pk_manifest_parse(bytes.data, bytes.len, manifest, err);
}

bool pk_artifact_is_complete(struct pk_store *store, const char *digest)
{
	pk_auto(pk_manifest) manifest = NULL;
	if (pk_artifact_manifest(store, digest, &manifest, NULL) < 0)
		return false;
	for (size_t i = 0; i < manifest->n_layers; i++) {
		const struct pk_descriptor *layer = &manifest->layers[i];
		if (!pk_store_has(store, &layer->digest, layer->size))
			return false;
	}
	return true;
}

// What is about to be used is hashed once more: the disk may have changed it since.
static int verify(struct pk_store *store, const struct pk_manifest *manifest, struct pk_err *err)
{
	for (size_t i = 0; i < manifest->n_layers; i++) {
		int r = pk_store_verify(store, &manifest->layers[i].digest, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int obtain(const struct pk_artifact_request *request, struct pk_store *store,
	struct pk_manifest **out, struct pk_err *err)
{
	int r = pk_artifact_manifest(store, request->digest, out, err);
	return r < 0 ? r : verify(store, *out, err);
}

static int find_files(struct pk_store *store, const struct pk_manifest *manifest,
	struct pk_artifact *artifact, struct pk_err *err)
{
	const struct pk_descriptor *onnx = pk_manifest_onnx(manifest);
	const struct pk_descriptor *card = pk_manifest_file(manifest, PK_BUNDLE_CARD);
	if (!onnx)
		return pk_fail(err, -EINVAL, "the artifact has no single ONNX file");
	if (!card)
		return pk_fail(err, -EINVAL, "the artifact has no " PK_BUNDLE_CARD);
	artifact->onnx = pk_store_path(store, &onnx->digest);
	artifact->card = pk_store_path(store, &card->digest);
	const struct pk_descriptor *ranges = pk_manifest_file(manifest, PK_BUNDLE_CALIBRATION);
	artifact->calibration = ranges ? pk_store_path(store, &ranges->digest) : NULL;
	if (!artifact->onnx || !artifact->card || (ranges && !artifact->calibration))
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int find_golden(struct pk_store *store, const struct pk_manifest *manifest,
	struct pk_artifact *artifact, struct pk_err *err)
{
	pk_auto_json golden = json_object();
	for (size_t i = 0; i < manifest->n_layers; i++) {
		const struct pk_descriptor *layer = &manifest->layers[i];
		if (!layer->title || strcmp(layer->media_type, PK_MEDIA_DATASET) != 0)
			continue;
		pk_auto_free char *path = pk_store_path(store, &layer->digest);
		if (!path || json_object_set_new(golden, layer->title, json_string(path)) < 0)
			return pk_fail(err, -ENOMEM, "out of memory");
	}
	if (json_object_size(golden) > 0)
		artifact->golden = pk_steal(golden);
	return 0;
}

static int parse_card(const struct pk_buf *text, struct pk_card **out, struct pk_err *err)
{
	struct pk_problems problems = {0};
	int r = pk_card_parse(text->data, text->len, PK_BUNDLE_CARD, out, &problems);
	if (r < 0 && problems.n)
		(void)pk_fail(err, r, PK_BUNDLE_CARD ":%d:%d: %s", problems.items[0].line,
			problems.items[0].column, problems.items[0].text);
	else if (r < 0)
		(void)pk_fail(err, r, PK_BUNDLE_CARD " cannot be read");
	pk_problems_finish(&problems);
	return r;
}

// "" as the input's name means the only one; then the graph's own shape holds.
static void bind_shape(const struct pk_card *card, struct pk_build_options *options)
{
	const struct pk_card_input *input = &card->input;
	if (!input->name[0] || input->rank == 0)
		return;
	struct pk_input_shape *shape = &options->shapes[options->n_shapes++];
	shape->name = input->name;
	shape->shape.rank = (int)input->rank;
	for (size_t i = 0; i < input->rank; i++)
		shape->shape.dims[i] = input->shape[i];
}

static json_t *shapes_json(const struct pk_build_options *options)
{
	json_t *shapes = json_object();
	for (size_t i = 0; i < options->n_shapes; i++) {
		const struct pk_shape *shape = &options->shapes[i].shape;
		json_t *dims = json_array();
		for (int k = 0; k < shape->rank; k++)
			json_array_append_new(dims, json_integer(shape->dims[k]));
		json_object_set_new(shapes, options->shapes[i].name, dims);
	}
	return shapes;
}

static json_t *labels_json(const struct pk_card *card)
{
	json_t *labels = json_array();
	for (size_t i = 0; i < card->n_labels; i++)
		json_array_append_new(labels, json_string(card->labels[i]));
	return labels;
}

static int name_engine(const struct pk_artifact_request *request, struct pk_build_options *options,
	struct pk_engine_file *file, struct pk_err *err)
{
	struct pk_digest digest;
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_KEY_BYTES);
	options->runtime = file->runtime;
	options->opt_level = file->opt_level;
	int r = pk_engine_key(options, &text, &digest, err);
	if (r < 0)
		return r;
	pk_digest_format(&digest, file->digest);
	const char *hex = file->digest + sizeof(PK_DIGEST_PREFIX) - 1;
	file->key = strdup(pk_buf_cstr(&text));
	if (asprintf(&file->path, "%s/%s.engine", request->engines, hex) < 0)
		file->path = NULL;
	if (asprintf(&file->timing, "%s/%s.jsonl", request->timing, file->runtime) < 0)
		file->timing = NULL;
	return file->key && file->path && file->timing ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static void set_precision(const struct pk_engine_file *file, const struct pk_buf *ranges,
	struct pk_build_options *options)
{
	options->precision = file->int8 ? PK_PRECISION_INT8 : PK_PRECISION_FP32;
	options->calibration = file->int8 ? ranges->data : NULL;
	options->calibration_size = file->int8 ? ranges->len : 0;
}

static int name_engines(
	const struct pk_artifact_request *request, struct pk_artifact *artifact, struct pk_err *err)
{
	pk_auto(pk_card) card = NULL;
	pk_auto_buf struct pk_buf text, ranges;
	pk_buf_init(&text, MAX_CARD_BYTES);
	pk_buf_init(&ranges, PK_CALIBRATION_MAX_BYTES);
	int r = pk_fs_read(artifact->card, MAX_CARD_BYTES, &text, err);
	if (r == 0 && artifact->calibration)
		r = pk_fs_read(artifact->calibration, PK_CALIBRATION_MAX_BYTES, &ranges, err);
	if (r == 0)
		r = parse_card(&text, &card, err);
	if (r < 0)
		return r;
	struct pk_build_options options = {
		.onnx_path = artifact->onnx, .card = text.data, .card_size = text.len};
	bind_shape(card, &options);
	artifact->shapes = shapes_json(&options);
	artifact->labels = labels_json(card);
	for (size_t i = 0; r == 0 && i < PK_N_MADE_KINDS; i++) {
		struct pk_engine_file *file = &artifact->files[i];
		const char *runtime = request->targets[i].runtime;
		snprintf(file->runtime, sizeof(file->runtime), "%s", runtime ? runtime : "");
		file->opt_level = request->targets[i].opt_level;
		file->int8 = request->targets[i].int8 && artifact->calibration;
		set_precision(file, &ranges, &options);
		if (file->runtime[0])
			r = name_engine(request, &options, file, err);
	}
	return r;
}

int pk_artifact_prepare(
	const struct pk_artifact_request *request, struct pk_artifact **out, struct pk_err *err)
{
	pk_auto(pk_store) store = NULL;
	pk_auto(pk_manifest) manifest = NULL;
	pk_auto(pk_artifact) artifact = calloc(1, sizeof(*artifact));
	if (!artifact)
		return pk_fail(err, -ENOMEM, "out of memory");
	artifact->n_refs = 1;
	const struct pk_store_options options = {
		.quota_bytes = request->quota_bytes, .reserve_bytes = request->reserve_bytes};
	int r = pk_store_open_with(request->store, &options, &store, err);
	if (r == 0)
		r = obtain(request, store, &manifest, err);
	if (r < 0)
		return r;
	pk_digest_format(&manifest->digest, artifact->digest);
	pk_text_format(artifact->version, sizeof(artifact->version), "%s",
		manifest->version ? manifest->version : "");
	r = find_files(store, manifest, artifact, err);
	if (r == 0)
		r = find_golden(store, manifest, artifact, err);
	if (r == 0)
		r = name_engines(request, artifact, err);
	if (r == 0)
		*out = pk_steal(artifact);
	return r;
}
