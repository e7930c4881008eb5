// SPDX-License-Identifier: Apache-2.0
// A signed in-toto statement inside a DSSE envelope inside a sigstore bundle.
#include "registry/dsse.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "registry/media_type.h"

// What is read of a bundle before anything is verified: as little as finding the signature takes.
struct envelope {
	const char *payload_type;
	const char *hint; // NULL: none
	struct pk_buf payload;
	struct pk_buf signature;
};

bool pk_dsse_is_bundle(const char *media_type)
{
	return strcmp(media_type, PK_MEDIA_SIGSTORE_BUNDLE) == 0 ||
	       strcmp(media_type, PK_MEDIA_SIGSTORE_BUNDLE_OLD_STYLE) == 0;
}

int pk_dsse_encode(const char *payload_type, const void *payload, size_t n, struct pk_buf *out)
{
	pk_buf_printf(out, "DSSEv1 %zu %s %zu ", strlen(payload_type), payload_type, n);
	return pk_buf_append(out, payload, n);
}

static enum pk_signature_reason check_bundle_type(const json_t *root, struct pk_err *err)
{
	const char *media_type = NULL;
	if (pk_json_get_str(root, "mediaType", &media_type, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	return pk_dsse_is_bundle(media_type)
		       ? PK_SIGNATURE_OK
		       : pk_signature_refuse(err, PK_SIGNATURE_UNSUPPORTED,
				 "mediaType '%.80s': expected " PK_MEDIA_SIGSTORE_BUNDLE,
				 media_type);
}

// verificationMaterial must be there; of it only the hint is read, and never a key.
static enum pk_signature_reason read_hint(
	const json_t *root, struct envelope *envelope, struct pk_err *err)
{
	json_t *material = NULL;
	if (pk_json_get_obj(root, "verificationMaterial", &material, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	const json_t *key = json_object_get(material, "publicKey");
	if (!key)
		return PK_SIGNATURE_OK;
	if (pk_json_opt_str(key, "hint", &envelope->hint, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (envelope->hint && !envelope->hint[0])
		envelope->hint = NULL;
	return PK_SIGNATURE_OK;
}

static enum pk_signature_reason decode(
	const json_t *object, const char *key, struct pk_buf *out, struct pk_err *err)
{
	const char *text = NULL;
	int rc = pk_json_get_str(object, key, &text, err);
	if (rc == 0)
		rc = pk_base64_read(text, strlen(text), out, err);
	if (rc == 0)
		return PK_SIGNATURE_OK;
	pk_err_prefix(err, "dsseEnvelope: %s", key);
	return pk_signature_parse_failed(rc);
}

static enum pk_signature_reason read_signature(
	const json_t *object, struct envelope *envelope, struct pk_err *err)
{
	json_t *signatures = NULL;
	if (pk_json_get_arr(object, "signatures", &signatures, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	size_t n = json_array_size(signatures);
	if (n == 0)
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED, "signatures: empty");
	if (n > 1)
		return pk_signature_refuse(err, PK_SIGNATURE_EXTRA_SIGNATURES, "%zu signatures", n);
	const json_t *signature = json_array_get(signatures, 0);
	const json_t *key_id = json_object_get(signature, "keyid");
	if (key_id && !json_is_string(key_id) && !json_is_null(key_id))
		return pk_signature_refuse(
			err, PK_SIGNATURE_MALFORMED, "keyid: expected a string or null");
	return decode(signature, "sig", &envelope->signature, err);
}

static enum pk_signature_reason read_envelope(
	const json_t *root, struct envelope *envelope, struct pk_err *err)
{
	json_t *object = NULL;
	bool is_blob = json_object_get(root, "messageSignature") != NULL;
	if (is_blob && !json_object_get(root, "dsseEnvelope"))
		return pk_signature_refuse(err, PK_SIGNATURE_NOT_A_SIGNATURE,
			"a signature of a file's bytes (messageSignature)");
	if (is_blob)
		return pk_signature_refuse(
			err, PK_SIGNATURE_MALFORMED, "both a messageSignature and a dsseEnvelope");
	if (pk_json_get_obj(root, "dsseEnvelope", &object, err) < 0 ||
		pk_json_get_str(object, "payloadType", &envelope->payload_type, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (strcmp(envelope->payload_type, PK_MEDIA_INTOTO) != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_PAYLOAD_TYPE,
			"payloadType '%.80s': expected " PK_MEDIA_INTOTO, envelope->payload_type);
	enum pk_signature_reason reason = read_signature(object, envelope, err);
	return reason == PK_SIGNATURE_OK ? decode(object, "payload", &envelope->payload, err)
					 : reason;
}

static enum pk_signature_reason read_bundle(
	const json_t *root, struct envelope *envelope, struct pk_err *err)
{
	enum pk_signature_reason reason = check_bundle_type(root, err);
	if (reason == PK_SIGNATURE_OK)
		reason = read_hint(root, envelope, err);
	return reason == PK_SIGNATURE_OK ? read_envelope(root, envelope, err) : reason;
}

static enum pk_signature_reason verify(const struct pk_signature_claim *claim,
	const struct envelope *envelope, const struct pk_trusted_key **key, struct pk_err *err)
{
	struct pk_buf message pk_auto_buf;
	pk_buf_init(&message, PK_SIGNATURE_MAX_BYTES + 256);
	if (pk_dsse_encode(envelope->payload_type, pk_buf_cstr(&envelope->payload),
		    envelope->payload.len, &message) < 0)
		return pk_signature_refuse(err, PK_SIGNATURE_TROUBLE, "out of memory");
	const struct pk_signature_bytes bytes = {
		.message = pk_buf_cstr(&message),
		.n_message = message.len,
		.signature = pk_buf_cstr(&envelope->signature),
		.n_signature = envelope->signature.len,
		.hint = envelope->hint,
	};
	return pk_signature_find_key(claim, &bytes, key, err);
}

static enum pk_signature_reason parse_statement(
	const struct pk_buf *payload, json_t **statement, struct pk_err *err)
{
	pk_auto_json root = NULL;
	const char *type = NULL;
	int rc = pk_json_parse(pk_buf_cstr(payload), payload->len, "statement", &root, err);
	if (rc == 0)
		rc = pk_json_get_str(root, "_type", &type, err);
	if (rc < 0)
		return pk_signature_parse_failed(rc);
	if (strcmp(type, PK_INTOTO_STATEMENT) != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_NOT_A_SIGNATURE,
			"_type '%.80s': expected " PK_INTOTO_STATEMENT, type);
	*statement = pk_steal(root);
	return PK_SIGNATURE_OK;
}

enum pk_signature_reason pk_dsse_open(const struct pk_signature_claim *claim, const void *bundle,
	size_t n, json_t **statement, const struct pk_trusted_key **key, struct pk_err *err)
{
	pk_auto_json root = NULL;
	struct envelope envelope = {0};
	*statement = NULL;
	*key = NULL;
	if (n > PK_SIGNATURE_MAX_BYTES)
		return pk_signature_refuse(err, PK_SIGNATURE_TOO_BIG,
			"a bundle of %zu bytes, at most %d are allowed", n, PK_SIGNATURE_MAX_BYTES);
	int rc = pk_json_parse(bundle, n, "bundle", &root, err);
	if (rc < 0)
		return pk_signature_parse_failed(rc);
	pk_buf_init(&envelope.payload, PK_SIGNATURE_MAX_BYTES);
	pk_buf_init(&envelope.signature, PK_SIGNATURE_MAX_RAW);
	enum pk_signature_reason reason = read_bundle(root, &envelope, err);
	if (reason == PK_SIGNATURE_OK)
		reason = verify(claim, &envelope, key, err);
	if (reason == PK_SIGNATURE_OK)
		reason = parse_statement(&envelope.payload, statement, err);
	pk_buf_finish(&envelope.payload);
	pk_buf_finish(&envelope.signature);
	return reason;
}
