// SPDX-License-Identifier: Apache-2.0
// Signatures as sigstore bundles.
#include "registry/signature_bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registry/descriptor.h"
#include "registry/dsse.h"
#include "registry/media_type.h"

#define MAX_SUBJECTS 256

void pk_signature_bundle_free(struct pk_descriptor *entries, size_t n_entries)
{
	for (size_t i = 0; entries && i < n_entries; i++)
		pk_descriptor_finish(&entries[i]);
	free(entries);
}

// 2: it says that it is a signature, 1: it may be one, 0: it is something else. Who filters these
// lists differs between registries, so everything is looked at here again.
static int rank_entry(const json_t *entry)
{
	const char *type = json_string_value(json_object_get(entry, "artifactType"));
	// Some registries give the type of the config instead, which says nothing.
	if (type && strcmp(type, PK_MEDIA_EMPTY) != 0 && !pk_dsse_is_bundle(type))
		return 0;
	const json_t *annotations = json_object_get(entry, "annotations");
	const char *predicate =
		json_string_value(json_object_get(annotations, PK_ANNOTATION_BUNDLE_PREDICATE));
	return predicate && strcmp(predicate, PK_PREDICATE_COSIGN) == 0 ? 2 : 1;
}

// An entry that is no descriptor is passed over: whoever may add to the list could otherwise hide a
// good signature behind it.
static int take_entries(
	const json_t *array, int rank, struct pk_descriptor *entries, size_t *n_entries)
{
	size_t i;
	const json_t *entry;
	json_array_foreach (array, i, entry) {
		struct pk_descriptor *next = &entries[*n_entries];
		if (*n_entries == PK_SIGNATURE_MAX_FOUND)
			return 0;
		if (rank_entry(entry) != rank)
			continue;
		int rc = pk_descriptor_parse(entry, next, NULL);
		if (rc == -ENOMEM)
			return rc;
		if (rc == 0 && strcmp(next->media_type, PK_MEDIA_MANIFEST) == 0)
			++*n_entries;
		else
			pk_descriptor_finish(next);
	}
	return 0;
}

int pk_signature_bundle_list(const void *index, size_t n, struct pk_descriptor **entries,
	size_t *n_entries, struct pk_err *err)
{
	pk_auto_json root = NULL;
	json_t *array = NULL;
	*entries = NULL;
	*n_entries = 0;
	if (n > PK_SIGNATURE_MAX_MANIFEST)
		return pk_fail(err, -EFBIG, "referrers: %zu bytes, at most %d are allowed", n,
			PK_SIGNATURE_MAX_MANIFEST);
	int rc = pk_json_parse(index, n, "referrers", &root, err);
	if (rc == 0)
		rc = pk_json_get_arr(root, "manifests", &array, err);
	if (rc < 0)
		return rc;
	struct pk_descriptor *found = calloc(PK_SIGNATURE_MAX_FOUND, sizeof(*found));
	if (!found)
		return pk_fail(err, -ENOMEM, "out of memory");
	rc = take_entries(array, 2, found, n_entries);
	if (rc == 0)
		rc = take_entries(array, 1, found, n_entries);
	if (rc < 0) {
		pk_signature_bundle_free(found, *n_entries);
		*n_entries = 0;
		return pk_fail(err, rc, "out of memory");
	}
	*entries = found;
	return 0;
}

static enum pk_signature_reason check_subject(
	const struct pk_digest *digest, const json_t *root, struct pk_err *err)
{
	json_t *object = NULL;
	struct pk_descriptor subject;
	if (pk_json_get_obj(root, "subject", &object, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	int rc = pk_descriptor_parse(object, &subject, err);
	if (rc < 0) {
		pk_err_prefix(err, "subject");
		return pk_signature_parse_failed(rc);
	}
	bool same = pk_digest_equal(&subject.digest, digest);
	pk_descriptor_finish(&subject);
	return same ? PK_SIGNATURE_OK
		    : pk_signature_refuse(err, PK_SIGNATURE_WRONG_DIGEST,
			      "a referrer whose subject is something else");
}

static enum pk_signature_reason only_layer(
	const json_t *root, struct pk_descriptor *layer, struct pk_err *err)
{
	json_t *layers = NULL;
	if (pk_json_get_arr(root, "layers", &layers, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (json_array_size(layers) != 1)
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED,
			"%zu layers, exactly one bundle is expected", json_array_size(layers));
	const json_t *json = json_array_get(layers, 0);
	// Its one type with a parameter is no media type to the parser of descriptors.
	int rc = pk_descriptor_parse(json, layer, err);
	if (rc < 0)
		return pk_signature_parse_failed(rc);
	if (pk_dsse_is_bundle(layer->media_type))
		return PK_SIGNATURE_OK;
	enum pk_signature_reason reason = pk_signature_refuse(
		err, PK_SIGNATURE_UNSUPPORTED, "a layer of type '%.80s'", layer->media_type);
	pk_descriptor_finish(layer);
	return reason;
}

enum pk_signature_reason pk_signature_bundle_layer(const struct pk_digest *digest,
	const void *manifest, size_t n, struct pk_descriptor *layer, struct pk_err *err)
{
	pk_auto_json root = NULL;
	*layer = (struct pk_descriptor){0};
	int rc = pk_json_parse(manifest, n, "referrer", &root, err);
	if (rc < 0)
		return pk_signature_parse_failed(rc);
	enum pk_signature_reason reason = check_subject(digest, root, err);
	return reason == PK_SIGNATURE_OK ? only_layer(root, layer, err) : reason;
}

// 1: the subject has this digest, 0: another one, -EINVAL.
static int subject_is(const json_t *subject, const char *wanted_hex, struct pk_err *err)
{
	json_t *digests = NULL;
	const char *hex = NULL;
	int rc = pk_json_get_obj(subject, "digest", &digests, err);
	if (rc == 0)
		rc = pk_json_opt_str(digests, "sha256", &hex, err);
	return rc < 0 ? rc : hex && strcmp(hex, wanted_hex) == 0;
}

static enum pk_signature_reason check_subjects(
	const struct pk_digest *digest, const json_t *statement, struct pk_err *err)
{
	json_t *subjects = NULL;
	char text[PK_DIGEST_TEXT];
	if (pk_json_get_arr(statement, "subject", &subjects, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	size_t n = json_array_size(subjects);
	if (n > MAX_SUBJECTS)
		return pk_signature_refuse(err, PK_SIGNATURE_TOO_BIG, "%zu subjects", n);
	pk_digest_format(digest, text);
	for (size_t i = 0; i < n; i++) {
		int rc = subject_is(
			json_array_get(subjects, i), text + strlen(PK_DIGEST_PREFIX), err);
		if (rc < 0)
			return PK_SIGNATURE_MALFORMED;
		if (rc > 0)
			return PK_SIGNATURE_OK;
	}
	return pk_signature_refuse(
		err, PK_SIGNATURE_WRONG_DIGEST, "none of its %zu subjects is the artifact", n);
}

enum pk_signature_reason pk_signature_bundle_check(const struct pk_signature_claim *claim,
	const void *bundle, size_t n, const struct pk_trusted_key **key, struct pk_err *err)
{
	pk_auto_json statement = NULL;
	const char *predicate = NULL;
	enum pk_signature_reason reason = pk_dsse_open(claim, bundle, n, &statement, key, err);
	if (reason != PK_SIGNATURE_OK)
		return reason;
	if (pk_json_get_str(statement, "predicateType", &predicate, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	// The same key also signs lists of parts and test reports; those vouch for nothing here.
	if (strcmp(predicate, PK_PREDICATE_COSIGN) != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_NOT_A_SIGNATURE,
			"an attestation of type '%.100s'", predicate);
	return check_subjects(claim->digest, statement, err);
}
