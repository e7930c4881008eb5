// SPDX-License-Identifier: Apache-2.0
// Fetches an artifact's signatures in every allowed format and counts the keys that vouch for it.
#include "registry/signature.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/descriptor.h"
#include "registry/media_type.h"
#include "registry/signature_bundle.h"
#include "registry/signature_claim.h"
#include "registry/signature_cosign.h"

// One verification: what was found so far.
struct search {
	struct pk_registry *registry;
	struct pk_signature_claim claim;
	struct pk_signature_verdict *verdict;
	const char *format;             // the one under way
	enum pk_signature_reason worst; // the most telling refusal so far
	struct pk_err why;              // and its text
	int trouble;                    // an errno that may hide a good signature; 0: none
	struct pk_err trouble_text;
};

static unsigned threshold_of(const struct pk_signature_policy *policy)
{
	return policy->threshold ? policy->threshold : 1;
}

static bool is_enough(const struct search *search)
{
	return search->verdict->n_keys >= threshold_of(search->claim.policy);
}

static bool has_key(const struct pk_signature_verdict *verdict, const char *id)
{
	for (unsigned i = 0; i < verdict->n_keys; i++)
		if (strcmp(verdict->key_ids[i], id) == 0)
			return true;
	return false;
}

// Keys are counted, never signatures: of one ECDSA signature anybody can make a second.
static void count_key(struct search *search, const struct pk_trusted_key *key)
{
	struct pk_signature_verdict *verdict = search->verdict;
	const char *id = pk_key_id(key->key);
	snprintf(verdict->format, sizeof(verdict->format), "%s", search->format);
	if (!has_key(verdict, id) && verdict->n_keys < PK_SIGNATURE_MAX_KEYS)
		snprintf(verdict->key_ids[verdict->n_keys++], PK_KEY_ID_TEXT, "%s", id);
}

static void note(struct search *search, enum pk_signature_reason reason,
	const struct pk_trusted_key *key, const struct pk_err *err)
{
	search->verdict->n_found++;
	if (reason == PK_SIGNATURE_OK) {
		count_key(search, key);
		return;
	}
	if (reason == PK_SIGNATURE_TROUBLE && !search->trouble) {
		search->trouble = -ENOMEM;
		search->trouble_text = *err;
	}
	if (reason <= search->worst)
		return;
	search->worst = reason;
	search->why = *err;
	pk_err_prefix(&search->why, "%s", search->format);
}

// A read that failed: either this one candidate is no good, or nothing can be said now.
static void note_read(struct search *search, int rc, const struct pk_err *err)
{
	static const struct {
		int rc;
		enum pk_signature_reason reason;
	} verdicts[] = {
		{-EFBIG, PK_SIGNATURE_TOO_BIG},
		{-EBADMSG, PK_SIGNATURE_MALFORMED},
		{-EINVAL, PK_SIGNATURE_MALFORMED},
		{-ENOTSUP, PK_SIGNATURE_UNSUPPORTED},
		{-ENOENT, PK_SIGNATURE_MALFORMED},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(verdicts); i++) {
		if (verdicts[i].rc == rc) {
			note(search, verdicts[i].reason, NULL, err);
			return;
		}
	}
	if (search->trouble)
		return;
	// The same errno means "refused for good" here and "TLS" there.
	search->trouble = rc == -EKEYREJECTED ? -EPROTO : rc;
	search->trouble_text = *err;
}

static void try_cosign_layer(struct search *search, const struct pk_signature_cosign_layer *layer)
{
	struct pk_err err = {0};
	const struct pk_trusted_key *key = NULL;
	struct pk_buf payload pk_auto_buf;
	pk_buf_init(&payload, PK_SIGNATURE_MAX_BYTES);
	int rc = pk_registry_blob(
		search->registry, &layer->payload, PK_SIGNATURE_MAX_BYTES, &payload, &err);
	if (rc < 0) {
		note_read(search, rc, &err);
		return;
	}
	enum pk_signature_reason reason =
		pk_signature_cosign_check(&search->claim, layer->signature, &payload, &key, &err);
	note(search, reason, key, &err);
}

static void search_cosign(struct search *search)
{
	char tag[PK_SIGNATURE_COSIGN_TAG];
	struct pk_signature_cosign_layer *layers = NULL;
	size_t n = 0;
	struct pk_err err = {0};
	struct pk_buf manifest pk_auto_buf;
	pk_buf_init(&manifest, PK_SIGNATURE_MAX_MANIFEST);
	pk_signature_cosign_tag(search->claim.digest, tag);
	const struct pk_ref ref = {.scheme = "", .tag = tag};
	int rc = pk_registry_manifest(
		search->registry, &ref, PK_SIGNATURE_MAX_MANIFEST, &manifest, &err);
	if (rc == -ENOENT)
		return;
	if (rc == 0)
		rc = pk_signature_cosign_list(
			pk_buf_cstr(&manifest), manifest.len, &layers, &n, &err);
	if (rc < 0)
		note_read(search, rc, &err);
	for (size_t i = 0; i < n && !is_enough(search); i++)
		try_cosign_layer(search, &layers[i]);
	pk_signature_cosign_free(layers, n);
}

// The bundle that a referrer holds; false: it was noted why there is none.
static bool fetch_bundle(struct search *search, const struct pk_descriptor *entry,
	struct pk_buf *bundle, struct pk_err *err)
{
	struct pk_descriptor layer = {0};
	struct pk_buf manifest pk_auto_buf;
	pk_buf_init(&manifest, PK_SIGNATURE_MAX_MANIFEST);
	const struct pk_ref ref = {.scheme = "", .has_digest = true, .digest = entry->digest};
	int rc = pk_registry_manifest(
		search->registry, &ref, PK_SIGNATURE_MAX_MANIFEST, &manifest, err);
	if (rc < 0) {
		note_read(search, rc, err);
		return false;
	}
	enum pk_signature_reason reason = pk_signature_bundle_layer(
		search->claim.digest, pk_buf_cstr(&manifest), manifest.len, &layer, err);
	if (reason != PK_SIGNATURE_OK) {
		note(search, reason, NULL, err);
		return false;
	}
	rc = pk_registry_blob(search->registry, &layer, PK_SIGNATURE_MAX_BYTES, bundle, err);
	pk_descriptor_finish(&layer);
	if (rc < 0)
		note_read(search, rc, err);
	return rc == 0;
}

static void try_referrer(struct search *search, const struct pk_descriptor *entry)
{
	struct pk_err err = {0};
	const struct pk_trusted_key *key = NULL;
	struct pk_buf bundle pk_auto_buf;
	pk_buf_init(&bundle, PK_SIGNATURE_MAX_BYTES);
	if (!fetch_bundle(search, entry, &bundle, &err))
		return;
	enum pk_signature_reason reason = pk_signature_bundle_check(
		&search->claim, pk_buf_cstr(&bundle), bundle.len, &key, &err);
	note(search, reason, key, &err);
}

static void search_bundles(struct search *search)
{
	struct pk_descriptor *entries = NULL;
	size_t n = 0;
	struct pk_err err = {0};
	struct pk_buf index pk_auto_buf;
	pk_buf_init(&index, PK_SIGNATURE_MAX_MANIFEST);
	// All types are asked for: who first wrote these bundles named their type otherwise.
	int rc = pk_registry_referrers(search->registry, search->claim.digest, NULL, &index, &err);
	if (rc == -ENOENT)
		return;
	if (rc == 0)
		rc = pk_signature_bundle_list(pk_buf_cstr(&index), index.len, &entries, &n, &err);
	if (rc < 0)
		note_read(search, rc, &err);
	for (size_t i = 0; i < n && !is_enough(search); i++)
		try_referrer(search, &entries[i]);
	pk_signature_bundle_free(entries, n);
}

static void search_all(struct search *search)
{
	static const struct {
		unsigned bit;
		const char *name;
		void (*run)(struct search *search);
	} formats[] = {
		{PK_SIGNATURE_COSIGN, "cosign", search_cosign},
		{PK_SIGNATURE_BUNDLE, "bundle", search_bundles},
	};
	unsigned wanted = search->claim.policy->formats;
	for (size_t i = 0; i < PK_ARRAY_LEN(formats) && !is_enough(search); i++) {
		if (wanted && !(wanted & formats[i].bit))
			continue;
		search->format = formats[i].name;
		formats[i].run(search);
	}
}

static int refuse(struct search *search, enum pk_signature_reason reason, const struct pk_err *why,
	struct pk_err *err)
{
	search->verdict->reason = reason;
	const char *text = pk_signature_reason_text(reason);
	return why && why->text[0]
		       ? pk_fail(err, -EKEYREJECTED, "signature: %s: %s", text, why->text)
		       : pk_fail(err, -EKEYREJECTED, "signature: %s", text);
}

static int conclude(struct search *search, struct pk_err *err)
{
	struct pk_signature_verdict *verdict = search->verdict;
	struct pk_err why = {0};
	if (is_enough(search)) {
		verdict->reason = PK_SIGNATURE_OK;
		return 0;
	}
	if (search->trouble)
		return pk_fail(err, search->trouble, "signature: it cannot be judged now: %s",
			pk_err_text(&search->trouble_text, search->trouble));
	if (verdict->n_keys > 0) {
		pk_fail(&why, 0, "%u of %u", verdict->n_keys, threshold_of(search->claim.policy));
		return refuse(search, PK_SIGNATURE_THRESHOLD, &why, err);
	}
	if (verdict->n_found == 0)
		return refuse(search, PK_SIGNATURE_NONE_FOUND, NULL, err);
	return refuse(search, search->worst, &search->why, err);
}

static int check_policy(const struct pk_signature_policy *policy, struct pk_err *err)
{
	unsigned threshold = threshold_of(policy);
	if (!policy->required)
		return 0;
	if (policy->n_keys == 0)
		return pk_fail(err, -EINVAL,
			"signature: required, but no key is pinned: nothing can be verified");
	if (threshold > PK_SIGNATURE_MAX_KEYS || threshold > policy->n_keys)
		return pk_fail(err, -EINVAL,
			"signature: a threshold of %u with %zu pinned keys, at most %d", threshold,
			policy->n_keys, PK_SIGNATURE_MAX_KEYS);
	return 0;
}

// Name and target stand in the manifest, so a signature over its digest covers them. Without this
// a good signature of one model would do for every other that the same key signed.
static int check_identity(
	struct search *search, const struct pk_manifest *manifest, struct pk_err *err)
{
	const struct pk_signature_policy *policy = search->claim.policy;
	const char *name = manifest->model_name;
	struct pk_err why = {0};
	if (policy->model_name && (!name || strcmp(name, policy->model_name) != 0)) {
		if (name)
			pk_fail(&why, 0, "it calls itself '%s', expected '%s'", name,
				policy->model_name);
		else
			pk_fail(&why, 0, "it states no name, expected '%s'", policy->model_name);
		return refuse(search, PK_SIGNATURE_WRONG_NAME, &why, err);
	}
	if (policy->target && !pk_manifest_is_for(manifest, policy->target)) {
		pk_fail(&why, 0, "it is for '%s', this node is '%s'", manifest->target,
			policy->target);
		return refuse(search, PK_SIGNATURE_WRONG_TARGET, &why, err);
	}
	return 0;
}

int pk_signature_verify(struct pk_registry *registry, const struct pk_manifest *manifest,
	const struct pk_signature_policy *policy, struct pk_signature_verdict *out,
	struct pk_err *err)
{
	*out = (struct pk_signature_verdict){
		.reason = PK_SIGNATURE_TROUBLE, .seq = manifest->model_seq};
	snprintf(out->name, sizeof(out->name), "%s",
		manifest->model_name ? manifest->model_name : "");
	struct search search = {
		.registry = registry,
		.claim = {.policy = policy,
			.digest = &manifest->digest,
			.seq = manifest->model_seq},
		.verdict = out,
	};
	int rc = check_policy(policy, err);
	if (rc < 0)
		return rc;
	if (policy->required) {
		search_all(&search);
		rc = conclude(&search, err);
	} else {
		out->reason = PK_SIGNATURE_OFF;
	}
	return rc < 0 ? rc : check_identity(&search, manifest, err);
}
