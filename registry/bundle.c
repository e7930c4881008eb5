// SPDX-License-Identifier: Apache-2.0
// Makes an artifact of files: ONNX, card and golden samples as a CNCF ModelPack in an OCI layout.
#include "registry/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fs.h"
#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/layout_write.h"
#include "registry/manifest.h"
#include "registry/media_type.h"
#include "registry/registry.h"

// One file that becomes a layer.
struct input {
	char *path;
	char *title;
	const char *media_type;
};

struct bundle {
	const struct pk_bundle_options *options;
	PK_ARRAY(struct input) inputs; // in layer order
	json_t *layers;                // array of descriptors
	json_t *diff_ids;              // array of digests; raw layers are their own diff
};

static int no_memory(struct pk_err *err)
{
	return pk_fail(err, -ENOMEM, "out of memory");
}

static void bundle_finish(struct bundle *bundle)
{
	pk_array_each (input, &bundle->inputs) {
		free(input->path);
		free(input->title);
	}
	pk_array_finish(&bundle->inputs);
	json_decref(bundle->layers);
	json_decref(bundle->diff_ids);
}

// JSON holds UTF-8 only; a file name on disk may be anything.
static int check_utf8(const char *what, const char *text, struct pk_err *err)
{
	pk_auto_json probe = json_string(text);
	return probe ? 0 : pk_fail(err, -EINVAL, "%s: not UTF-8", what);
}

static int add_input(struct bundle *bundle, const char *path, const char *title,
	const char *media_type, struct pk_err *err)
{
	int rc = pk_descriptor_check_title(title, err);
	if (rc == 0)
		rc = check_utf8("file name", title, err);
	if (rc < 0) {
		pk_err_prefix(err, "%s", path);
		return rc;
	}
	struct input *input = pk_array_push(&bundle->inputs);
	if (!input)
		return no_memory(err);
	input->media_type = media_type;
	input->path = strdup(path);
	input->title = strdup(title);
	return input->path && input->title ? 0 : no_memory(err);
}

static int add_golden_path(struct bundle *bundle, const char *path, struct pk_err *err)
{
	const char *slash = strrchr(path, '/');
	return add_input(bundle, path, slash ? slash + 1 : path, PK_MEDIA_DATASET, err);
}

static int add_golden_dir(struct bundle *bundle, const char *folder, struct pk_err *err)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return pk_fail_errno(err, "%s", folder);
	int rc = 0;
	const struct dirent *entry;
	while (rc == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		pk_auto_free char *path = pk_fs_join(folder, entry->d_name);
		rc = path ? add_golden_path(bundle, path, err) : no_memory(err);
	}
	closedir(dir);
	return rc;
}

static int by_title(const void *a, const void *b)
{
	return strcmp(((const struct input *)a)->title, ((const struct input *)b)->title);
}

// Golden samples are sorted: the order of a folder is chance, and the digest must not be.
static int collect_golden(struct bundle *bundle, struct pk_err *err)
{
	const struct pk_bundle_options *options = bundle->options;
	size_t first = bundle->inputs.n;
	int rc = options->golden_dir ? add_golden_dir(bundle, options->golden_dir, err) : 0;
	for (size_t i = 0; rc == 0 && i < options->n_golden_paths; i++)
		rc = add_golden_path(bundle, options->golden_paths[i], err);
	if (rc == 0)
		qsort(bundle->inputs.items + first, bundle->inputs.n - first,
			sizeof(*bundle->inputs.items), by_title);
	return rc;
}

static int collect(struct bundle *bundle, struct pk_err *err)
{
	const struct pk_bundle_options *options = bundle->options;
	int rc = add_input(bundle, options->onnx_path, PK_BUNDLE_ONNX, PK_MEDIA_WEIGHT, err);
	if (rc == 0)
		rc = add_input(
			bundle, options->card_path, PK_BUNDLE_CARD, PK_MEDIA_WEIGHT_CONFIG, err);
	if (rc == 0 && options->calibration_path)
		rc = add_input(bundle, options->calibration_path, PK_BUNDLE_CALIBRATION,
			PK_MEDIA_WEIGHT_CONFIG, err);
	return rc < 0 ? rc : collect_golden(bundle, err);
}

// {mediaType, digest, size}; NULL: no memory.
static json_t *describe(const char *media_type, const struct pk_digest *digest, int64_t size)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	return json_pack("{s:s, s:s, s:I}", "mediaType", media_type, "digest", text, "size",
		(json_int_t)size);
}

static int write_layer(struct bundle *bundle, struct pk_layout_writer *writer,
	const struct input *input, struct pk_err *err)
{
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	int64_t size = 0;
	int rc = pk_layout_writer_file(writer, input->path, &digest, &size, err);
	if (rc < 0)
		return rc;
	pk_digest_format(&digest, text);
	// Both names, because each of the common tools goes by one of them and skips the rest.
	pk_auto_json names = json_pack("{s:s, s:s}", PK_ANNOTATION_TITLE, input->title,
		PK_ANNOTATION_FILEPATH, input->title);
	pk_auto_json layer = describe(input->media_type, &digest, size);
	if (!names || !layer || json_object_set(layer, "annotations", names) < 0 ||
		json_array_append(bundle->layers, layer) < 0 ||
		json_array_append_new(bundle->diff_ids, json_string(text)) < 0)
		return no_memory(err);
	return 0;
}

static int write_layers(struct bundle *bundle, struct pk_layout_writer *writer, struct pk_err *err)
{
	int rc = 0;
	bundle->layers = json_array();
	bundle->diff_ids = json_array();
	if (!bundle->layers || !bundle->diff_ids)
		return no_memory(err);
	for (size_t i = 0; rc == 0 && i < bundle->inputs.n; i++)
		rc = write_layer(bundle, writer, &bundle->inputs.items[i], err);
	return rc;
}

// Sets key when there is a value. 0 or -1 like jansson.
static int set_text(json_t *object, const char *key, const char *value)
{
	return value ? json_object_set_new(object, key, json_string(value)) : 0;
}

static int write_json(struct pk_layout_writer *writer, const json_t *json, const char *media_type,
	json_t **descriptor, struct pk_err *err)
{
	struct pk_digest digest;
	pk_auto_free char *text = pk_json_canonical(json);
	if (!text)
		return no_memory(err);
	int rc = pk_layout_writer_bytes(writer, text, strlen(text), &digest, err);
	if (rc < 0)
		return rc;
	*descriptor = describe(media_type, &digest, (int64_t)strlen(text));
	return *descriptor ? 0 : no_memory(err);
}

// The schema of this document allows no keys of our own: they go into annotations and the card.
static int write_config(const struct bundle *bundle, struct pk_layout_writer *writer, json_t **out,
	struct pk_err *err)
{
	const struct pk_bundle_options *options = bundle->options;
	pk_auto_json descriptor = json_object();
	if (!descriptor || set_text(descriptor, "name", options->name) < 0 ||
		set_text(descriptor, "version", options->version) < 0 ||
		set_text(descriptor, "createdAt", options->created) < 0)
		return no_memory(err);
	pk_auto_json config =
		json_pack("{s:O, s:{s:s}, s:{s:s, s:O}}", "descriptor", descriptor, "config",
			"format", "onnx", "modelfs", "type", "layers", "diffIds", bundle->diff_ids);
	if (!config)
		return no_memory(err);
	return write_json(writer, config, PK_MEDIA_MODEL_CONFIG, out, err);
}

static json_t *make_annotations(const struct pk_bundle_options *options)
{
	json_t *annotations = json_object();
	if (annotations && set_text(annotations, PK_ANNOTATION_TITLE, options->name) == 0 &&
		set_text(annotations, PK_ANNOTATION_VERSION, options->version) == 0 &&
		set_text(annotations, PK_ANNOTATION_CREATED, options->created) == 0 &&
		set_text(annotations, PK_ANNOTATION_MODEL_NAME, options->name) == 0 &&
		set_text(annotations, PK_ANNOTATION_MODEL_SEQ, options->seq) == 0 &&
		set_text(annotations, PK_ANNOTATION_TARGET, options->target) == 0 &&
		set_text(annotations, PK_ANNOTATION_ROLLOUT, options->rollout) == 0)
		return annotations;
	json_decref(annotations);
	return NULL;
}

static int make_manifest(
	const struct bundle *bundle, json_t *config, json_t **out, struct pk_err *err)
{
	pk_auto_json annotations = make_annotations(bundle->options);
	if (!annotations)
		return no_memory(err);
	*out = json_pack("{s:i, s:s, s:s, s:O, s:O}", "schemaVersion", 2, "mediaType",
		PK_MEDIA_MANIFEST, "artifactType", PK_MEDIA_MODEL_MANIFEST, "config", config,
		"layers", bundle->layers);
	if (!*out)
		return no_memory(err);
	if (json_object_size(annotations) > 0 &&
		json_object_set(*out, "annotations", annotations) < 0)
		return no_memory(err);
	return 0;
}

// What we wrote must be what we would accept: names given twice, too many files, sizes.
static int check_manifest(const json_t *json, struct pk_digest *digest, struct pk_err *err)
{
	pk_auto(pk_manifest) manifest = NULL;
	pk_auto_free char *text = pk_json_canonical(json);
	if (!text)
		return no_memory(err);
	int rc = pk_manifest_parse(text, strlen(text), &manifest, err);
	if (rc == 0)
		*digest = manifest->digest;
	return rc;
}

static int write_manifest(const struct bundle *bundle, struct pk_layout_writer *writer,
	struct pk_digest *digest, struct pk_err *err)
{
	pk_auto_json config = NULL;
	pk_auto_json manifest = NULL;
	pk_auto_json descriptor = NULL;
	int rc = write_config(bundle, writer, &config, err);
	if (rc == 0)
		rc = make_manifest(bundle, config, &manifest, err);
	if (rc == 0)
		rc = check_manifest(manifest, digest, err);
	if (rc == 0)
		rc = write_json(writer, manifest, PK_MEDIA_MANIFEST, &descriptor, err);
	if (rc < 0)
		return rc;
	if (set_text(descriptor, "artifactType", PK_MEDIA_MODEL_MANIFEST) < 0)
		return no_memory(err);
	return pk_layout_writer_tag(writer, bundle->options->tag, descriptor, err);
}

// RFC 3339 section 5.6 in UTC: "2026-11-30T19:24:27Z".
static bool is_utc_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	size_t i = 0;
	for (; form[i] && text[i]; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return !form[i] && !text[i];
}

static int check_text(const char *what, const char *text, struct pk_err *err)
{
	int rc = text ? pk_descriptor_check_text(what, text, err) : 0;
	return rc == 0 && text ? check_utf8(what, text, err) : rc;
}

static int check_number(const char *what, const char *text, int64_t max, struct pk_err *err)
{
	int64_t value;
	int rc = text ? pk_manifest_parse_decimal(text, max, &value, err) : 0;
	if (rc < 0)
		pk_err_prefix(err, "%s", what);
	return rc;
}

// What goes into the manifest's own annotations must be what its reader takes.
static int check_identity(const struct pk_bundle_options *options, struct pk_err *err)
{
	int rc = check_number("seq", options->seq, PK_MODEL_SEQ_MAX, err);
	if (rc == 0)
		rc = check_number("rollout", options->rollout, 100, err);
	if (rc == 0 && options->target) {
		rc = pk_manifest_check_target(options->target, err);
		if (rc < 0)
			pk_err_prefix(err, "target");
	}
	return rc;
}

static int check_options(const struct pk_bundle_options *options, struct pk_err *err)
{
	if (!options->onnx_path || !options->card_path || !options->folder || !options->tag)
		return pk_fail(
			err, -EINVAL, "the model, the card, the folder and the tag are required");
	int rc = check_text("name", options->name, err);
	if (rc == 0)
		rc = check_text("version", options->version, err);
	if (rc == 0)
		rc = check_identity(options, err);
	if (rc == 0)
		rc = pk_ref_check_tag(options->tag, err);
	if (rc == 0 && options->created && !is_utc_time(options->created))
		rc = pk_fail(err, -EINVAL, "created '%s': expected the form 2026-11-30T19:24:27Z",
			options->created);
	return rc;
}

static int create(struct bundle *bundle, struct pk_digest *manifest_digest, struct pk_err *err)
{
	pk_auto(pk_layout_writer) writer = NULL;
	int rc = check_options(bundle->options, err);
	if (rc == 0)
		rc = collect(bundle, err);
	if (rc == 0)
		rc = pk_layout_writer_open(bundle->options->folder, &writer, err);
	if (rc == 0)
		rc = write_layers(bundle, writer, err);
	return rc < 0 ? rc : write_manifest(bundle, writer, manifest_digest, err);
}

int pk_bundle_create(const struct pk_bundle_options *options, struct pk_digest *manifest_digest,
	struct pk_err *err)
{
	struct bundle bundle = {.options = options};
	int rc = create(&bundle, manifest_digest, err);
	bundle_finish(&bundle);
	return rc;
}
