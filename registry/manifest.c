// SPDX-License-Identifier: Apache-2.0
// OCI image manifests of model artifacts (CNCF ModelPack), parsed and checked.
#include "registry/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/media_type.h"

#define MAX_LAYERS 256

void pk_manifest_destroy(struct pk_manifest *manifest)
{
	if (!manifest)
		return;
	pk_descriptor_finish(&manifest->config);
	for (size_t i = 0; i < manifest->n_layers; i++)
		pk_descriptor_finish(&manifest->layers[i]);
	free(manifest->layers);
	free(manifest->artifact_type);
	free(manifest->version);
	free(manifest->model_name);
	free(manifest->target);
	free(manifest);
}

// A document that two readers may take for two different things is refused: mediaType decides, and
// the keys of the other kind must not be there (the confusion of CVE-2021-41190).
static int check_kind(const json_t *root, struct pk_err *err)
{
	static const struct {
		const char *media_type;
		const char *why;
	} refused[] = {
		{PK_MEDIA_INDEX, "this is an image index: name one of its manifests by digest"},
		{PK_MEDIA_DOCKER_INDEX,
			"this is an image index: name one of its manifests by digest"},
		{PK_MEDIA_DOCKER_IMAGE, "this is a container image, not a model artifact"},
	};
	if (!json_is_object(root))
		return pk_fail(err, -EINVAL, "expected an object");
	const char *media_type = NULL;
	int rc = pk_json_opt_str(root, "mediaType", &media_type, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; media_type && i < PK_ARRAY_LEN(refused); i++)
		if (strcmp(media_type, refused[i].media_type) == 0)
			return pk_fail(err, -ENOTSUP, "%s", refused[i].why);
	if (media_type && strcmp(media_type, PK_MEDIA_MANIFEST) != 0)
		return pk_fail(err, -ENOTSUP, "mediaType '%.80s': expected " PK_MEDIA_MANIFEST,
			media_type);
	if (json_object_get(root, "manifests"))
		return media_type ? pk_fail(err, -EINVAL, "a manifest with 'manifests' in it")
				  : pk_fail(err, -ENOTSUP, "%s", refused[0].why);
	return 0;
}

static int check_schema_version(const json_t *root, struct pk_err *err)
{
	int64_t version = 0;
	int rc = pk_json_get_int(root, "schemaVersion", &version, err);
	if (rc < 0)
		return rc;
	if (version != 2)
		return pk_fail(err, -ENOTSUP, "schemaVersion %lld: expected 2", (long long)version);
	return 0;
}

static int copy_text(const char *what, const char *text, char **out, struct pk_err *err)
{
	int rc = pk_descriptor_check_text(what, text, err);
	if (rc < 0)
		return rc;
	*out = strdup(text);
	return *out ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static int parse_config(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	json_t *config = NULL;
	int rc = pk_json_get_obj(root, "config", &config, err);
	if (rc < 0)
		return rc;
	rc = pk_descriptor_parse(config, &m->config, err);
	if (rc < 0)
		pk_err_prefix(err, "config");
	return rc;
}

static int parse_artifact_type(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	const char *type = NULL;
	int rc = pk_json_opt_str(root, "artifactType", &type, err);
	if (rc < 0)
		return rc;
	if (!type && strcmp(m->config.media_type, PK_MEDIA_EMPTY) == 0)
		return pk_fail(err, -EINVAL, "artifactType: required with an empty config");
	return copy_text(
		"artifactType", type ? type : m->config.media_type, &m->artifact_type, err);
}

static int check_unique_title(const struct pk_manifest *m, const char *title, struct pk_err *err)
{
	if (title && pk_manifest_file(m, title))
		return pk_fail(err, -EINVAL, "another layer is named '%s' too", title);
	return 0;
}

static int add_layer(const json_t *json, struct pk_manifest *m, struct pk_err *err)
{
	struct pk_descriptor layer;
	int rc = pk_descriptor_parse(json, &layer, err);
	if (rc < 0)
		return rc;
	rc = check_unique_title(m, layer.title, err);
	if (rc == 0 && pk_add_overflow(m->total_size, layer.size, &m->total_size))
		rc = pk_fail(err, -EINVAL, "size: the sum of all sizes overflows");
	if (rc < 0) {
		pk_descriptor_finish(&layer);
		return rc;
	}
	m->layers[m->n_layers++] = layer;
	return 0;
}

static int parse_layers(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	json_t *layers = NULL;
	int rc = pk_json_get_arr(root, "layers", &layers, err);
	if (rc < 0)
		return rc;
	size_t n = json_array_size(layers);
	if (n > MAX_LAYERS)
		return pk_fail(err, -EFBIG, "layers: %zu, at most %d are allowed", n, MAX_LAYERS);
	m->layers = calloc(n ? n : 1, sizeof(*m->layers));
	if (!m->layers)
		return pk_fail(err, -ENOMEM, "out of memory");
	m->total_size = m->config.size;
	for (size_t i = 0; i < n; i++) {
		rc = add_layer(json_array_get(layers, i), m, err);
		if (rc < 0) {
			pk_err_prefix(err, "layers[%zu]", i);
			return rc;
		}
	}
	return 0;
}

static int parse_version(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	const char *version = NULL;
	int rc = pk_descriptor_annotation(root, PK_ANNOTATION_VERSION, &version, err);
	if (rc < 0 || !version)
		return rc;
	return copy_text(PK_ANNOTATION_VERSION, version, &m->version, err);
}

int pk_manifest_parse_decimal(const char *text, int64_t max, int64_t *out, struct pk_err *err)
{
	int64_t value = 0;
	size_t n = strlen(text);
	if (n == 0 || strspn(text, "0123456789") != n || (n > 1 && text[0] == '0'))
		return pk_fail(err, -EINVAL, "'%.40s': expected a decimal number", text);
	for (size_t i = 0; i < n; i++) {
		if (pk_mul_overflow(value, 10, &value) ||
			pk_add_overflow(value, text[i] - '0', &value) || value > max)
			return pk_fail(
				err, -EINVAL, "'%.40s': at most %" PRId64 " is allowed", text, max);
	}
	*out = value;
	return 0;
}

int pk_manifest_check_target(const char *text, struct pk_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	for (const char *class = text;;) {
		size_t n = strspn(class, letters);
		if (n == 0 || n > 63 || (class[n] && class[n] != ','))
			return pk_fail(err, -EINVAL,
				"'%.80s': expected classes of nodes separated by commas", text);
		if (!class[n])
			return 0;
		class += n + 1;
	}
}

bool pk_manifest_is_for(const struct pk_manifest *manifest, const char *target)
{
	size_t n = strlen(target);
	const char *class = manifest->target;
	for (; class; class = strchr(class, ',')) {
		class += *class == ',';
		if (strncmp(class, target, n) == 0 && (!class[n] || class[n] == ','))
			return true;
	}
	return !manifest->target;
}

// 1: *out is the annotation's text, 0: there is none.
static int find_text(const json_t *root, const char *key, const char **out, struct pk_err *err)
{
	int rc = pk_descriptor_annotation(root, key, out, err);
	if (rc < 0 || !*out)
		return rc;
	rc = pk_descriptor_check_text(key, *out, err);
	return rc < 0 ? rc : 1;
}

static int parse_number(
	const json_t *root, const char *key, int64_t max, int64_t *out, struct pk_err *err)
{
	const char *text = NULL;
	*out = -1;
	int rc = find_text(root, key, &text, err);
	if (rc <= 0)
		return rc;
	rc = pk_manifest_parse_decimal(text, max, out, err);
	if (rc < 0)
		pk_err_prefix(err, "annotations: %s", key);
	return rc;
}

static int parse_target(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	const char *text = NULL;
	int rc = find_text(root, PK_ANNOTATION_TARGET, &text, err);
	if (rc <= 0)
		return rc;
	rc = pk_manifest_check_target(text, err);
	if (rc == 0)
		return copy_text(PK_ANNOTATION_TARGET, text, &m->target, err);
	pk_err_prefix(err, "annotations: " PK_ANNOTATION_TARGET);
	return rc;
}

static int parse_identity(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	const char *name = NULL;
	int64_t percent = -1;
	int rc = find_text(root, PK_ANNOTATION_MODEL_NAME, &name, err);
	if (rc > 0)
		rc = copy_text(PK_ANNOTATION_MODEL_NAME, name, &m->model_name, err);
	if (rc == 0)
		rc = parse_number(
			root, PK_ANNOTATION_MODEL_SEQ, PK_MODEL_SEQ_MAX, &m->model_seq, err);
	if (rc == 0)
		rc = parse_number(root, PK_ANNOTATION_ROLLOUT, 100, &percent, err);
	m->rollout_percent = (int)percent;
	return rc < 0 ? rc : parse_target(root, m, err);
}

static int parse_root(const json_t *root, struct pk_manifest *m, struct pk_err *err)
{
	static int (*const parts[])(const json_t *, struct pk_manifest *, struct pk_err *) = {
		parse_config,
		parse_artifact_type,
		parse_layers,
		parse_version,
		parse_identity,
	};
	int rc = check_kind(root, err);
	if (rc == 0)
		rc = check_schema_version(root, err);
	for (size_t i = 0; rc == 0 && i < PK_ARRAY_LEN(parts); i++)
		rc = parts[i](root, m, err);
	return rc;
}

int pk_manifest_parse(const void *bytes, size_t n, struct pk_manifest **out, struct pk_err *err)
{
	*out = NULL;
	if (n > PK_MANIFEST_MAX_BYTES)
		return pk_fail(err, -EFBIG, "manifest: %zu bytes, at most %d are allowed", n,
			PK_MANIFEST_MAX_BYTES);
	pk_auto_json root = NULL;
	int rc = pk_json_parse(bytes, n, "manifest", &root, err);
	if (rc < 0)
		return rc;
	pk_auto(pk_manifest) m = calloc(1, sizeof(*m));
	if (!m)
		return pk_fail(err, -ENOMEM, "manifest: out of memory");
	rc = pk_digest_bytes(bytes, n, &m->digest);
	if (rc < 0)
		return pk_fail(err, rc, "manifest: cannot hash");
	rc = parse_root(root, m, err);
	if (rc < 0) {
		pk_err_prefix(err, "manifest");
		return rc;
	}
	*out = pk_steal(m);
	return 0;
}

static bool titled_onnx(const struct pk_descriptor *layer)
{
	size_t n = layer->title ? strlen(layer->title) : 0;
	return n > strlen(".onnx") && strcasecmp(layer->title + n - strlen(".onnx"), ".onnx") == 0;
}

static bool is_weight(const struct pk_descriptor *layer)
{
	return strcmp(layer->media_type, PK_MEDIA_WEIGHT) == 0;
}

static bool is_onnx_weight(const struct pk_descriptor *layer)
{
	return is_weight(layer) && titled_onnx(layer);
}

// The only layer that matches; *n counts them all.
static const struct pk_descriptor *only_layer(const struct pk_manifest *manifest,
	bool (*matches)(const struct pk_descriptor *), size_t *n)
{
	const struct pk_descriptor *found = NULL;
	*n = 0;
	for (size_t i = 0; i < manifest->n_layers; i++) {
		if (!matches(&manifest->layers[i]))
			continue;
		found = &manifest->layers[i];
		++*n;
	}
	return *n == 1 ? found : NULL;
}

const struct pk_descriptor *pk_manifest_onnx(const struct pk_manifest *manifest)
{
	// The name is the stronger sign: a plain push of one file has any layer type, and external
	// data travels in further weight layers. Without a name, the only weight layer is meant.
	size_t n;
	const struct pk_descriptor *found = only_layer(manifest, titled_onnx, &n);
	if (found)
		return found;
	return only_layer(manifest, n > 1 ? is_onnx_weight : is_weight, &n);
}

const struct pk_descriptor *pk_manifest_file(const struct pk_manifest *manifest, const char *title)
{
	for (size_t i = 0; i < manifest->n_layers; i++)
		if (manifest->layers[i].title && strcmp(manifest->layers[i].title, title) == 0)
			return &manifest->layers[i];
	return NULL;
}
