// SPDX-License-Identifier: Apache-2.0
// Signatures in cosign's older form.
#include "registry/signature_cosign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/media_type.h"

void pk_signature_cosign_tag(const struct pk_digest *digest, char out[PK_SIGNATURE_COSIGN_TAG])
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	snprintf(out, PK_SIGNATURE_COSIGN_TAG, "sha256-%s.sig", text + strlen(PK_DIGEST_PREFIX));
}

void pk_signature_cosign_free(struct pk_signature_cosign_layer *layers, size_t n_layers)
{
	for (size_t i = 0; layers && i < n_layers; i++) {
		pk_descriptor_finish(&layers[i].payload);
		free(layers[i].signature);
	}
	free(layers);
}

// 1: *out is a signature's layer; 0: it is something else.
static int take_layer(const json_t *json, struct pk_signature_cosign_layer *out, struct pk_err *err)
{
	const char *signature = NULL;
	int rc = pk_descriptor_parse(json, &out->payload, err);
	if (rc < 0)
		return rc;
	if (strcmp(out->payload.media_type, PK_MEDIA_SIMPLE_SIGNING) != 0) {
		pk_descriptor_finish(&out->payload);
		return 0;
	}
	rc = pk_descriptor_annotation(json, PK_ANNOTATION_COSIGN, &signature, err);
	if (rc == 0 && signature) {
		out->signature = strdup(signature);
		rc = out->signature ? 0 : pk_fail(err, -ENOMEM, "out of memory");
	}
	if (rc < 0)
		pk_descriptor_finish(&out->payload);
	return rc < 0 ? rc : 1;
}

static int take_layers(const json_t *array, struct pk_signature_cosign_layer *layers,
	size_t *n_layers, struct pk_err *err)
{
	size_t i;
	const json_t *json;
	json_array_foreach (array, i, json) {
		if (*n_layers == PK_SIGNATURE_MAX_FOUND)
			return 0;
		int rc = take_layer(json, &layers[*n_layers], err);
		if (rc < 0) {
			pk_err_prefix(err, "layers[%zu]", i);
			return rc;
		}
		*n_layers += (size_t)rc;
	}
	return 0;
}

static int check_media_type(const json_t *root, struct pk_err *err)
{
	const char *media_type = NULL;
	int rc = pk_json_opt_str(root, "mediaType", &media_type, err);
	if (rc == 0 && media_type && strcmp(media_type, PK_MEDIA_MANIFEST) != 0)
		return pk_fail(
			err, -EINVAL, "mediaType '%.80s': expected " PK_MEDIA_MANIFEST, media_type);
	return rc;
}

int pk_signature_cosign_list(const void *manifest, size_t n,
	struct pk_signature_cosign_layer **layers, size_t *n_layers, struct pk_err *err)
{
	pk_auto_json root = NULL;
	json_t *array = NULL;
	*layers = NULL;
	*n_layers = 0;
	if (n > PK_SIGNATURE_MAX_MANIFEST)
		return pk_fail(err, -EFBIG, "%zu bytes, at most %d are allowed", n,
			PK_SIGNATURE_MAX_MANIFEST);
	int rc = pk_json_parse(manifest, n, "signature manifest", &root, err);
	if (rc == 0)
		rc = check_media_type(root, err);
	if (rc == 0)
		rc = pk_json_get_arr(root, "layers", &array, err);
	if (rc < 0)
		return rc;
	struct pk_signature_cosign_layer *found = calloc(PK_SIGNATURE_MAX_FOUND, sizeof(*found));
	if (!found)
		return pk_fail(err, -ENOMEM, "out of memory");
	rc = take_layers(array, found, n_layers, err);
	if (rc < 0) {
		pk_signature_cosign_free(found, *n_layers);
		*n_layers = 0;
		return rc;
	}
	*layers = found;
	return 0;
}

// The two spellings that readers of this format take for the same key; both at once would be
// somebody's attempt to show two readers two things.
static int find_digest(const json_t *image, const char **out, struct pk_err *err)
{
	static const char *const keys[] = {"docker-manifest-digest", "Docker-manifest-digest"};
	*out = NULL;
	for (size_t i = 0; i < PK_ARRAY_LEN(keys); i++) {
		const char *found = NULL;
		int rc = pk_json_opt_str(image, keys[i], &found, err);
		if (rc < 0)
			return rc;
		if (found && *out)
			return pk_fail(err, -EINVAL, "two spellings of docker-manifest-digest");
		*out = found ? found : *out;
	}
	return *out ? 0 : pk_fail(err, -EINVAL, "docker-manifest-digest: missing");
}

static enum pk_signature_reason check_payload(
	const struct pk_digest *digest, const json_t *root, struct pk_err *err)
{
	json_t *critical = NULL, *image = NULL;
	const char *type = NULL, *found = NULL;
	char wanted[PK_DIGEST_TEXT];
	int rc = pk_json_get_obj(root, "critical", &critical, err);
	if (rc == 0)
		rc = pk_json_get_str(critical, "type", &type, err);
	if (rc < 0)
		return PK_SIGNATURE_MALFORMED;
	if (strcmp(type, PK_SIMPLE_SIGNING_TYPE) != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_NOT_A_SIGNATURE, "type '%.80s'", type);
	rc = pk_json_get_obj(critical, "image", &image, err);
	if (rc == 0)
		rc = find_digest(image, &found, err);
	if (rc < 0)
		return PK_SIGNATURE_MALFORMED;
	pk_digest_format(digest, wanted);
	if (strcmp(found, wanted) != 0)
		return pk_signature_refuse(
			err, PK_SIGNATURE_WRONG_DIGEST, "it signs '%.80s'", found);
	return PK_SIGNATURE_OK;
}

enum pk_signature_reason pk_signature_cosign_check(const struct pk_signature_claim *claim,
	const char *signature, const struct pk_buf *payload, const struct pk_trusted_key **key,
	struct pk_err *err)
{
	struct pk_buf raw pk_auto_buf;
	pk_auto_json root = NULL;
	*key = NULL;
	pk_buf_init(&raw, PK_SIGNATURE_MAX_RAW);
	if (payload->len > PK_SIGNATURE_MAX_BYTES)
		return pk_signature_refuse(
			err, PK_SIGNATURE_TOO_BIG, "a payload of %zu bytes", payload->len);
	if (!signature)
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED,
			"a layer without the annotation " PK_ANNOTATION_COSIGN);
	int rc = pk_base64_read(signature, strlen(signature), &raw, err);
	if (rc < 0)
		return pk_signature_parse_failed(rc);
	const struct pk_signature_bytes bytes = {
		.message = pk_buf_cstr(payload),
		.n_message = payload->len,
		.signature = pk_buf_cstr(&raw),
		.n_signature = raw.len,
	};
	enum pk_signature_reason reason = pk_signature_find_key(claim, &bytes, key, err);
	if (reason != PK_SIGNATURE_OK)
		return reason;
	rc = pk_json_parse(pk_buf_cstr(payload), payload->len, "payload", &root, err);
	return rc < 0 ? pk_signature_parse_failed(rc) : check_payload(claim->digest, root, err);
}
