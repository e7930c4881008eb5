// SPDX-License-Identifier: Apache-2.0
// Signs an artifact that lies in an OCI layout.
#include "registry/sign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "registry/dsse.h"
#include "registry/layout_write.h"
#include "registry/media_type.h"
#include "registry/signature.h"
#include "registry/signature_cosign.h"

// The time of nobody: the same inputs give the same config.
#define NO_TIME "0001-01-01T00:00:00Z"

struct sign {
	struct pk_registry *registry; // reads the layout
	struct pk_layout_writer *writer;
	const struct pk_signer *signer;
	struct pk_manifest *manifest;
	size_t n_manifest; // bytes
	char digest[PK_DIGEST_TEXT];
	struct pk_sign_result *result;
};

static int no_memory(struct pk_err *err)
{
	return pk_fail(err, -ENOMEM, "out of memory");
}

static json_t *describe(const char *media_type, const struct pk_digest *digest, size_t size)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	return json_pack("{s:s, s:s, s:I}", "mediaType", media_type, "digest", text, "size",
		(json_int_t)size);
}

// A blob of json's canonical text and its descriptor.
static int write_json(struct sign *sign, const json_t *json, const char *media_type,
	json_t **descriptor, struct pk_err *err)
{
	struct pk_digest digest;
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	if (!text)
		return no_memory(err);
	int rc = pk_layout_writer_bytes(sign->writer, text, strlen(text), &digest, err);
	if (rc < 0)
		return rc;
	*descriptor = describe(media_type, &digest, strlen(text));
	return *descriptor ? 0 : no_memory(err);
}

// The manifest or index under a tag as JSON; NULL when there is none.
static int read_tagged(struct sign *sign, const char *tag, json_t **out, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	const struct pk_ref ref = {.scheme = "", .tag = (char *)tag};
	*out = NULL;
	pk_buf_init(&bytes, PK_SIGNATURE_MAX_MANIFEST);
	int rc = pk_registry_manifest(sign->registry, &ref, PK_SIGNATURE_MAX_MANIFEST, &bytes, err);
	if (rc == -ENOENT)
		return 0;
	return rc < 0 ? rc : pk_json_parse(pk_buf_cstr(&bytes), bytes.len, tag, out, err);
}

static int sign_text(
	struct sign *sign, const void *message, size_t n, struct pk_buf *base64, struct pk_err *err)
{
	struct pk_buf raw pk_auto_buf;
	pk_buf_init(&raw, PK_KEY_SIGNATURE_MAX);
	int rc = pk_signer_sign(sign->signer, message, n, &raw, err);
	if (rc < 0)
		return rc;
	return pk_base64_write(raw.data, raw.len, base64) == 0 ? 0 : no_memory(err);
}

static json_t *cosign_payload(const struct sign *sign)
{
	const char *name = sign->manifest->model_name;
	return json_pack("{s:{s:{s:s}, s:{s:s}, s:s}, s:n}", "critical", "identity",
		"docker-reference", name ? name : "", "image", "docker-manifest-digest",
		sign->digest, "type", PK_SIMPLE_SIGNING_TYPE, "optional");
}

static int cosign_layer(struct sign *sign, json_t **layer, struct pk_err *err)
{
	struct pk_buf signature pk_auto_buf;
	pk_buf_init(&signature, 2 * PK_KEY_SIGNATURE_MAX);
	pk_auto_json payload = cosign_payload(sign);
	pk_auto_free char *text = payload ? pk_json_canonical(payload) : NULL;
	if (!text)
		return no_memory(err);
	int rc = sign_text(sign, text, strlen(text), &signature, err);
	if (rc == 0)
		rc = write_json(sign, payload, PK_MEDIA_SIMPLE_SIGNING, layer, err);
	if (rc < 0)
		return rc;
	json_t *annotations = json_pack("{s:s}", PK_ANNOTATION_COSIGN, pk_buf_cstr(&signature));
	return json_object_set_new(*layer, "annotations", annotations) == 0 ? 0 : no_memory(err);
}

// Readers of this form expect the config of a container image whose layers are the payloads.
static int cosign_config(
	struct sign *sign, const json_t *layers, json_t **descriptor, struct pk_err *err)
{
	size_t i;
	const json_t *layer;
	pk_auto_json diff_ids = json_array();
	pk_auto_json history = json_array();
	json_array_foreach (layers, i, layer)
		if (json_array_append(diff_ids, json_object_get(layer, "digest")) < 0 ||
			json_array_append_new(history, json_pack("{s:s}", "created", NO_TIME)) < 0)
			return no_memory(err);
	pk_auto_json config = json_pack("{s:s, s:s, s:s, s:{}, s:O, s:{s:s, s:O}}", "architecture",
		"", "os", "", "created", NO_TIME, "config", "history", history, "rootfs", "type",
		"layers", "diff_ids", diff_ids);
	return write_json(sign, config, PK_MEDIA_IMAGE_CONFIG, descriptor, err);
}

// The layers that are there already, or none.
static int cosign_layers(struct sign *sign, const char *tag, json_t **layers, struct pk_err *err)
{
	pk_auto_json old = NULL;
	int rc = read_tagged(sign, tag, &old, err);
	if (rc < 0)
		return rc;
	json_t *found = json_object_get(old, "layers");
	*layers = json_is_array(found) ? json_incref(found) : json_array();
	return *layers ? 0 : no_memory(err);
}

static int sign_cosign(struct sign *sign, struct pk_err *err)
{
	pk_auto_json layer = NULL;
	pk_auto_json layers = NULL;
	pk_auto_json config = NULL;
	pk_auto_json descriptor = NULL;
	char *tag = sign->result->tag;
	pk_signature_cosign_tag(&sign->manifest->digest, tag);
	int rc = cosign_layers(sign, tag, &layers, err);
	if (rc == 0)
		rc = cosign_layer(sign, &layer, err);
	if (rc == 0 && json_array_append(layers, layer) < 0)
		rc = no_memory(err);
	if (rc == 0)
		rc = cosign_config(sign, layers, &config, err);
	if (rc < 0)
		return rc;
	pk_auto_json manifest = json_pack("{s:i, s:s, s:O, s:O}", "schemaVersion", 2, "mediaType",
		PK_MEDIA_MANIFEST, "config", config, "layers", layers);
	rc = write_json(sign, manifest, PK_MEDIA_MANIFEST, &descriptor, err);
	return rc < 0 ? rc : pk_layout_writer_tag(sign->writer, tag, descriptor, err);
}

static int bundle_envelope(struct sign *sign, json_t **out, struct pk_err *err)
{
	struct pk_buf message pk_auto_buf;
	struct pk_buf payload pk_auto_buf;
	struct pk_buf signature pk_auto_buf;
	pk_buf_init(&message, PK_SIGNATURE_MAX_BYTES);
	pk_buf_init(&payload, PK_SIGNATURE_MAX_BYTES);
	pk_buf_init(&signature, 2 * PK_KEY_SIGNATURE_MAX);
	pk_auto_json statement =
		json_pack("{s:s, s:[{s:{s:s}}], s:s, s:{}}", "_type", PK_INTOTO_STATEMENT,
			"subject", "digest", "sha256", sign->digest + strlen(PK_DIGEST_PREFIX),
			"predicateType", PK_PREDICATE_COSIGN, "predicate");
	pk_auto_free char *text = statement ? pk_json_canonical(statement) : NULL;
	if (!text || pk_dsse_encode(PK_MEDIA_INTOTO, text, strlen(text), &message) < 0 ||
		pk_base64_write(text, strlen(text), &payload) < 0)
		return no_memory(err);
	int rc = sign_text(sign, message.data, message.len, &signature, err);
	if (rc < 0)
		return rc;
	*out = json_pack("{s:s, s:s, s:[{s:s}]}", "payload", pk_buf_cstr(&payload), "payloadType",
		PK_MEDIA_INTOTO, "signatures", "sig", pk_buf_cstr(&signature));
	return *out ? 0 : no_memory(err);
}

// base64 of the SHA-256 of the public key, as cosign writes it.
static int bundle_hint(struct sign *sign, struct pk_buf *out, struct pk_err *err)
{
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	snprintf(text, sizeof(text), PK_DIGEST_PREFIX "%s", pk_key_id(pk_signer_key(sign->signer)));
	if (pk_digest_parse(text, &digest) < 0 ||
		pk_base64_write(digest.bytes, sizeof(digest.bytes), out) < 0)
		return no_memory(err);
	return 0;
}

static int bundle_layer(struct sign *sign, json_t **layer, struct pk_err *err)
{
	struct pk_buf hint pk_auto_buf;
	pk_auto_json envelope = NULL;
	pk_buf_init(&hint, 2 * PK_SHA256_BYTES);
	int rc = bundle_envelope(sign, &envelope, err);
	if (rc == 0)
		rc = bundle_hint(sign, &hint, err);
	if (rc < 0)
		return rc;
	pk_auto_json bundle = json_pack("{s:s, s:{s:{s:s}}, s:O}", "mediaType",
		PK_MEDIA_SIGSTORE_BUNDLE, "verificationMaterial", "publicKey", "hint",
		pk_buf_cstr(&hint), "dsseEnvelope", envelope);
	return write_json(sign, bundle, PK_MEDIA_SIGSTORE_BUNDLE, layer, err);
}

// The referrer: a manifest that names what it is about.
static int bundle_manifest(struct sign *sign, json_t **descriptor, struct pk_err *err)
{
	pk_auto_json layer = NULL;
	pk_auto_json config = NULL;
	pk_auto_json empty = json_object();
	int rc = bundle_layer(sign, &layer, err);
	if (rc == 0)
		rc = write_json(sign, empty, PK_MEDIA_EMPTY, &config, err);
	if (rc < 0)
		return rc;
	pk_auto_json annotations = json_pack("{s:s, s:s}", PK_ANNOTATION_BUNDLE_CONTENT,
		"dsse-envelope", PK_ANNOTATION_BUNDLE_PREDICATE, PK_PREDICATE_COSIGN);
	pk_auto_json subject =
		describe(PK_MEDIA_MANIFEST, &sign->manifest->digest, sign->n_manifest);
	pk_auto_json manifest = json_pack("{s:i, s:s, s:s, s:O, s:[O], s:O, s:O}", "schemaVersion",
		2, "mediaType", PK_MEDIA_MANIFEST, "artifactType", PK_MEDIA_SIGSTORE_BUNDLE,
		"config", config, "layers", layer, "subject", subject, "annotations", annotations);
	rc = write_json(sign, manifest, PK_MEDIA_MANIFEST, descriptor, err);
	if (rc < 0)
		return rc;
	// What the referrers API would say of it.
	if (json_object_set_new(
		    *descriptor, "artifactType", json_string(PK_MEDIA_SIGSTORE_BUNDLE)) < 0 ||
		json_object_set(*descriptor, "annotations", annotations) < 0)
		return no_memory(err);
	return 0;
}

// A layout has no referrers API, so the list is kept under its tag; tools that copy a layout to a
// registry carry both.
static int sign_bundle(struct sign *sign, struct pk_err *err)
{
	pk_auto_json entry = NULL;
	pk_auto_json index = NULL;
	pk_auto_json descriptor = NULL;
	char *tag = sign->result->tag;
	snprintf(tag, sizeof(sign->result->tag), "sha256-%s",
		sign->digest + strlen(PK_DIGEST_PREFIX));
	int rc = read_tagged(sign, tag, &index, err);
	if (rc == 0)
		rc = bundle_manifest(sign, &entry, err);
	if (rc < 0)
		return rc;
	if (!index)
		index = json_pack("{s:i, s:s, s:[]}", "schemaVersion", 2, "mediaType",
			PK_MEDIA_INDEX, "manifests");
	json_t *manifests = json_object_get(index, "manifests");
	if (index && !json_is_array(manifests))
		return pk_fail(err, -EINVAL, "%s: not an image index", tag);
	if (!index || json_array_append(manifests, entry) < 0)
		return no_memory(err);
	rc = write_json(sign, index, PK_MEDIA_INDEX, &descriptor, err);
	return rc < 0 ? rc : pk_layout_writer_tag(sign->writer, tag, descriptor, err);
}

static int read_artifact(struct sign *sign, const struct pk_ref *ref, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = pk_registry_open(ref, NULL, &sign->registry, err);
	if (rc == 0)
		rc = pk_registry_manifest(sign->registry, ref, PK_MANIFEST_MAX_BYTES, &bytes, err);
	if (rc == 0)
		rc = pk_manifest_parse(pk_buf_cstr(&bytes), bytes.len, &sign->manifest, err);
	if (rc < 0)
		return rc;
	sign->n_manifest = bytes.len;
	sign->result->digest = sign->manifest->digest;
	pk_digest_format(&sign->manifest->digest, sign->digest);
	return 0;
}

// Signing twice with one key adds nothing, though an ECDSA signature differs each time.
static bool is_signed(struct sign *sign, unsigned format)
{
	struct pk_err err = {0};
	struct pk_signature_verdict verdict;
	const struct pk_trusted_key key = {.key = (struct pk_key *)pk_signer_key(sign->signer)};
	const struct pk_signature_policy policy = {
		.required = true, .keys = &key, .n_keys = 1, .formats = format};
	return pk_signature_verify(sign->registry, sign->manifest, &policy, &verdict, &err) == 0;
}

static int sign_with(
	struct sign *sign, const struct pk_ref *ref, unsigned format, struct pk_err *err)
{
	int rc = read_artifact(sign, ref, err);
	if (rc == 0)
		rc = pk_layout_writer_open(ref->location, &sign->writer, err);
	if (rc < 0)
		return rc;
	sign->result->already = is_signed(sign, format);
	if (sign->result->already)
		return 0;
	return format == PK_SIGNATURE_COSIGN ? sign_cosign(sign, err) : sign_bundle(sign, err);
}

int pk_sign_layout(const struct pk_ref *ref, const struct pk_signer *signer, unsigned format,
	struct pk_sign_result *out, struct pk_err *err)
{
	*out = (struct pk_sign_result){0};
	if (strcmp(ref->scheme, "oci") != 0)
		return pk_fail(err, -EINVAL,
			"only artifacts in an OCI layout (oci:FOLDER:TAG) are signed here");
	struct sign sign = {.signer = signer, .result = out};
	int rc = sign_with(&sign, ref, format, err);
	pk_layout_writer_close(sign.writer);
	pk_registry_close(sign.registry);
	pk_manifest_destroy(sign.manifest);
	return rc;
}
