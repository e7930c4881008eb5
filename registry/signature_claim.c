// SPDX-License-Identifier: Apache-2.0
// Reasons, and which pinned key made a signature.
#include "registry/signature_claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"

static const struct {
	const char *word, *text;
} reasons[] = {
#define REASON(name, word, text) [PK_SIGNATURE_##name] = {word, text},
	PK_SIGNATURE_REASONS(REASON)
#undef REASON
};

const char *pk_signature_reason_name(enum pk_signature_reason reason)
{
	return reason < PK_SIGNATURE_N_REASONS ? reasons[reason].word : "?";
}

const char *pk_signature_reason_text(enum pk_signature_reason reason)
{
	return reason < PK_SIGNATURE_N_REASONS ? reasons[reason].text : "?";
}

// Name and target stand in the artifact itself. Whatever is wrong with the signatures that are
// there, a good one may be added to them.
bool pk_signature_reason_is_final(enum pk_signature_reason reason)
{
	return reason == PK_SIGNATURE_WRONG_NAME || reason == PK_SIGNATURE_WRONG_TARGET;
}

enum pk_signature_reason pk_signature_refuse(
	struct pk_err *err, enum pk_signature_reason reason, const char *fmt, ...)
{
	char detail[PK_ERR_TEXT_MAX];
	va_list args;
	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	pk_fail(err, -EKEYREJECTED, "%s", detail);
	return reason;
}

enum pk_signature_reason pk_signature_parse_failed(int rc)
{
	return rc == -ENOMEM ? PK_SIGNATURE_TROUBLE : PK_SIGNATURE_MALFORMED;
}

// cosign writes base64 of the SHA-256 of the key's DER, others the hex.
static bool hint_names(const char *hint, const struct pk_key *key)
{
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	struct pk_buf base64 pk_auto_buf;
	const char *id = pk_key_id(key);
	pk_buf_init(&base64, 2 * PK_SHA256_BYTES);
	snprintf(text, sizeof(text), PK_DIGEST_PREFIX "%s", id);
	if (strcmp(hint, id) == 0)
		return true;
	return pk_digest_parse(text, &digest) == 0 &&
	       pk_base64_write(digest.bytes, sizeof(digest.bytes), &base64) == 0 &&
	       strcmp(hint, pk_buf_cstr(&base64)) == 0;
}

static enum pk_signature_reason no_key(
	const struct pk_signature_claim *claim, const char *hint, struct pk_err *err)
{
	const struct pk_signature_policy *policy = claim->policy;
	if (!hint)
		return pk_signature_refuse(err, PK_SIGNATURE_BAD_SIGNATURE,
			"none of %zu pinned keys verifies it", policy->n_keys);
	for (size_t i = 0; i < policy->n_keys; i++)
		if (hint_names(hint, policy->keys[i].key))
			return pk_signature_refuse(err, PK_SIGNATURE_BAD_SIGNATURE,
				"it names the pinned key %.12s…, which does not verify it",
				pk_key_id(policy->keys[i].key));
	return pk_signature_refuse(err, PK_SIGNATURE_UNKNOWN_KEY, "it names the key '%.64s'", hint);
}

static enum pk_signature_reason check_time(
	const struct pk_key_rules *rules, int64_t now_s, struct pk_err *err)
{
	if (now_s > 0 && rules->not_before_s > now_s)
		return pk_signature_refuse(err, PK_SIGNATURE_KEY_NOT_YET,
			"not before %" PRId64 " (Unix time), now %" PRId64, rules->not_before_s,
			now_s);
	if (now_s > 0 && rules->not_after_s > 0 && now_s > rules->not_after_s)
		return pk_signature_refuse(err, PK_SIGNATURE_KEY_EXPIRED,
			"not after %" PRId64 " (Unix time), now %" PRId64, rules->not_after_s,
			now_s);
	return PK_SIGNATURE_OK;
}

static enum pk_signature_reason check_rules(const struct pk_signature_claim *claim,
	const struct pk_key_rules *rules, struct pk_err *err)
{
	if (rules->revoked)
		return pk_signature_refuse(err, PK_SIGNATURE_REVOKED_KEY, "revoked");
	bool bounded = rules->seq_min > 0 || rules->seq_max > 0;
	if (bounded && claim->seq < 0)
		return pk_signature_refuse(
			err, PK_SIGNATURE_KEY_RANGE, "the artifact states no sequence number");
	if (claim->seq < rules->seq_min && bounded)
		return pk_signature_refuse(err, PK_SIGNATURE_KEY_RANGE,
			"%" PRId64 " is below its first, %" PRId64, claim->seq, rules->seq_min);
	if (rules->seq_max > 0 && claim->seq > rules->seq_max)
		return pk_signature_refuse(err, PK_SIGNATURE_KEY_RANGE,
			"%" PRId64 " is above its last, %" PRId64, claim->seq, rules->seq_max);
	return check_time(rules, claim->policy->now_s, err);
}

enum pk_signature_reason pk_signature_find_key(const struct pk_signature_claim *claim,
	const struct pk_signature_bytes *bytes, const struct pk_trusted_key **key,
	struct pk_err *err)
{
	const struct pk_signature_policy *policy = claim->policy;
	*key = NULL;
	if (pk_key_check_form(bytes->signature, bytes->n_signature, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	for (size_t i = 0; i < policy->n_keys && !*key; i++)
		if (pk_key_verify(policy->keys[i].key, bytes->message, bytes->n_message,
			    bytes->signature, bytes->n_signature))
			*key = &policy->keys[i];
	if (!*key)
		return no_key(claim, bytes->hint, err);
	enum pk_signature_reason reason = check_rules(claim, &(*key)->rules, err);
	if (reason != PK_SIGNATURE_OK)
		pk_err_prefix(err, "key %.12s… (%s)", pk_key_id((*key)->key), (*key)->path);
	return reason;
}
