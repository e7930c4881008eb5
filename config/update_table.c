// SPDX-License-Identifier: Apache-2.0
// The schema tables of a model's updates: poll, window, signature, limits, check.
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "config/config_table.h"
#include "config/path.h"

static int verify_day(const char *text, struct pk_err *err)
{
	static const char days[] = "mon tue wed thu fri sat sun";
	const char *at = strlen(text) == 3 ? strstr(days, text) : NULL;
	if (at && (at - days) % 4 == 0)
		return 0;
	return pk_fail(err, -EINVAL, "must be one of %s", days);
}

static bool is_digit(char c, char max)
{
	return c >= '0' && c <= max;
}

static int verify_time(const char *text, struct pk_err *err)
{
	bool shape = strlen(text) == 5 && text[2] == ':' && is_digit(text[0], '2') &&
		     is_digit(text[1], text[0] == '2' ? '3' : '9') && is_digit(text[3], '5') &&
		     is_digit(text[4], '9');
	return shape ? 0 : pk_fail(err, -EINVAL, "must be a time of day like \"01:30\"");
}

static int verify_key_id(const char *text, struct pk_err *err)
{
	if (strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64)
		return 0;
	return pk_fail(err, -EINVAL, "must be a key's id: 64 hex digits, a-f in lower case");
}

static int verify_format(const char *text, struct pk_err *err)
{
	if (strcmp(text, "cosign") == 0 || strcmp(text, "bundle") == 0)
		return 0;
	return pk_fail(err, -EINVAL, "must be `cosign` or `bundle`");
}

static const struct pk_schema_row poll_rows[] = {
	{.key = "interval",
		.kind = PK_SCHEMA_DURATION,
		.def = "30m",
		.min = "1s",
		.max = "30d",
		PK_SCHEMA_AT(struct pk_poll_config, interval_ns),
		.help = "Time between two looks, on average."},
	{.key = "jitter",
		.kind = PK_SCHEMA_FLOAT,
		.def = "0.5",
		.min = "0",
		.max = "1",
		PK_SCHEMA_AT(struct pk_poll_config, jitter),
		.help = "The part of the interval that is random, so that a fleet spreads out."},
	{.key = "backoff_max",
		.kind = PK_SCHEMA_DURATION,
		.def = "6h",
		.min = "1s",
		.max = "30d",
		PK_SCHEMA_AT(struct pk_poll_config, backoff_max_ns),
		.help = "After failures the next try comes later and later, at most so much "
			"later."},
	{NULL},
};

const struct pk_schema pk_config_poll_schema = {
	.noun = "poll", .rows = poll_rows, .size = sizeof(struct pk_poll_config)};

static const struct pk_schema_name time_zones[] = {
	{"local", 0, "the node's time zone"},
	{"utc", 1, "UTC"},
	{NULL, 0, NULL},
};

static const struct pk_schema_row window_rows[] = {
	{.key = "days",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = verify_day,
		.max_items = 7,
		PK_SCHEMA_ARRAY(struct pk_window_config, days, n_days),
		.unset = "every day",
		.example = "[sat, sun]",
		.help = "Days on which the window opens: `mon` … `sun`."},
	{.key = "from",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_time,
		PK_SCHEMA_AT(struct pk_window_config, from),
		.unset = "it is always open",
		.example = "\"01:00\"",
		.help = "When it opens, hours and minutes in quotes."},
	{.key = "to",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_time,
		PK_SCHEMA_AT(struct pk_window_config, to),
		.unset = "a day after `from`",
		.example = "\"05:00\"",
		.help = "When it closes; a time before `from` is one of the next day."},
	{.key = "tz",
		.kind = PK_SCHEMA_ENUM,
		.names = time_zones,
		.def = "local",
		PK_SCHEMA_AT(struct pk_window_config, utc),
		.help = "Whose hours these are."},
	{.key = "holdoff",
		.kind = PK_SCHEMA_DURATION,
		.def = "0",
		.min = "0",
		.max = "1d",
		PK_SCHEMA_AT(struct pk_window_config, holdoff_ns),
		.help = "A random time up to this passes before a node swaps, so that a fleet does "
			"not do so at once."},
	{NULL},
};

const struct pk_schema pk_config_window_schema = {
	.noun = "window", .rows = window_rows, .size = sizeof(struct pk_window_config)};

static const struct pk_schema_name tristates[] = {
	{"auto", PK_AUTO, "for whatever comes over a network"},
	{"true", PK_TRUE, "always"},
	{"false", PK_FALSE, "never"},
	{NULL, 0, NULL},
};

static int verify_utc(const char *text, struct pk_err *err)
{
	int64_t s;
	return pk_parse_utc(text, &s) == 0
		       ? 0
		       : pk_fail(err, -EINVAL, "must be like 2026-11-30 or 2026-11-30T19:24:27Z");
}

static const struct pk_schema_row key_rule_rows[] = {
	{.key = "not_before",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_utc,
		PK_SCHEMA_AT(struct pk_key_rule_config, not_before),
		.unset = "no bound",
		.example = "2026-01-01",
		.help = "UTC, from when on its signatures count on this node; a day alone is its "
			"first second."},
	{.key = "not_after",
		.kind = PK_SCHEMA_STRING,
		.verify = verify_utc,
		PK_SCHEMA_AT(struct pk_key_rule_config, not_after),
		.unset = "no bound",
		.example = "2027-01-01",
		.help = "UTC, until when. It keeps new models away; what runs goes on."},
	{.key = "seq_min",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "9007199254740992",
		PK_SCHEMA_AT(struct pk_key_rule_config, seq_min),
		.help = "Lowest sequence number of a model that it may sign."},
	{.key = "seq_max",
		.kind = PK_SCHEMA_INT,
		.def = "0",
		.min = "0",
		.max = "9007199254740992",
		PK_SCHEMA_AT(struct pk_key_rule_config, seq_max),
		.help = "Highest one; 0: no end. A key that is retired gets the last number it "
			"signed: no clock is needed for that."},
	{NULL},
};

static const struct pk_schema key_rule_schema = {
	.noun = "key rule",
	.rows = key_rule_rows,
	.size = sizeof(struct pk_key_rule_config),
	.name_offset = offsetof(struct pk_key_rule_config, id),
};

static const struct pk_schema_row signature_rows[] = {
	{.key = "required",
		.kind = PK_SCHEMA_ENUM,
		.names = tristates,
		.def = "auto",
		PK_SCHEMA_AT(struct pk_signature_config, required),
		.help = "Whether a model must be signed with one of `keys`. A folder or tar file "
			"(`oci:`, `file:`) is trusted by who may write it, unless this is `true`."},
	{.key = "keys",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_PATH,
		.resolve = pk_path_resolve,
		.max_items = 16,
		PK_SCHEMA_ARRAY(struct pk_signature_config, keys, n_keys),
		.unset = "none",
		.example = "[keys/release.pem]",
		.help = "PEM files of public keys (ECDSA P-256, Ed25519) that may sign."},
	{.key = "revoked",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = verify_key_id,
		.max_items = 16,
		PK_SCHEMA_ARRAY(struct pk_signature_config, revoked, n_revoked),
		.unset = "none",
		.help = "Ids of keys (SHA-256 of the public key) that may no longer."},
	{.key = "key_rules",
		.kind = PK_SCHEMA_TABLE,
		.child = &key_rule_schema,
		.verify = verify_key_id,
		.max_items = 16,
		PK_SCHEMA_ARRAY(struct pk_signature_config, key_rules, n_key_rules),
		.help = "What a key of `keys` may sign, by its id (`picketctl key show`)."},
	{.key = "threshold",
		.kind = PK_SCHEMA_INT,
		.def = "1",
		.min = "1",
		.max = "16",
		PK_SCHEMA_AT(struct pk_signature_config, threshold),
		.help = "So many different keys must have signed."},
	{.key = "formats",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.verify = verify_format,
		.max_items = 2,
		PK_SCHEMA_ARRAY(struct pk_signature_config, formats, n_formats),
		.unset = "both",
		.help = "`cosign` (a tag ending in .sig) and `bundle` (sigstore bundle)."},
	{.key = "model",
		.kind = PK_SCHEMA_STRING,
		.max = "128",
		PK_SCHEMA_AT(struct pk_signature_config, model),
		.unset = "not compared",
		.help = "The model's own name as it was signed; another model that is signed with "
			"the same key is refused."},
	{.key = "insecure",
		.kind = PK_SCHEMA_BOOL,
		.def = "false",
		PK_SCHEMA_AT(struct pk_signature_config, insecure),
		.help = "Has to be `true` for `required: false` with a registry: whoever can write "
			"there runs code on this node."},
	{NULL},
};

const struct pk_schema pk_config_signature_schema = {
	.noun = "signature", .rows = signature_rows, .size = sizeof(struct pk_signature_config)};

static const struct pk_schema_row limits_rows[] = {
	{.key = "artifact",
		.kind = PK_SCHEMA_BYTES,
		.def = "2GiB",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_limits_config, artifact_bytes),
		.help = "A larger artifact is refused before it is fetched; 0: no limit."},
	{.key = "bandwidth",
		.kind = PK_SCHEMA_BYTES,
		.def = "0",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_limits_config, bandwidth_bytes_per_s),
		.help = "Bytes per second; 0: no limit."},
	{.key = "bytes_per_day",
		.kind = PK_SCHEMA_BYTES,
		.def = "0",
		.min = "0",
		.max = "1TiB",
		PK_SCHEMA_AT(struct pk_limits_config, bytes_per_day),
		.help = "What may be received in a day, failed tries included; 0: no limit."},
	{NULL},
};

const struct pk_schema pk_config_limits_schema = {
	.noun = "limits", .rows = limits_rows, .size = sizeof(struct pk_limits_config)};

static const struct pk_schema_row check_rows[] = {
	{.key = "observe",
		.kind = PK_SCHEMA_DURATION,
		.def = "10m",
		.min = "0",
		.max = "7d",
		PK_SCHEMA_AT(struct pk_check_config, observe_ns),
		.help = "How long a new model is on probation; 0: not at all."},
	{.key = "min_fps_ratio",
		.kind = PK_SCHEMA_FLOAT,
		.def = "0.9",
		.min = "0",
		.max = "1",
		PK_SCHEMA_AT(struct pk_check_config, min_fps_ratio),
		.help = "Results per second, as a part of the last model's; 0: not judged."},
	{.key = "max_p95_ratio",
		.kind = PK_SCHEMA_FLOAT,
		.def = "1.5",
		.min = "0",
		.max = "1000",
		PK_SCHEMA_AT(struct pk_check_config, max_p95_ratio),
		.help = "Time from a frame to its result, 95th percentile, against the last "
			"model's; "
			"0: not judged."},
	{.key = "max_error_rate",
		.kind = PK_SCHEMA_FLOAT,
		.def = "0.01",
		.min = "0",
		.max = "1",
		PK_SCHEMA_AT(struct pk_check_config, max_error_rate),
		.help = "Part of the results without inference."},
	{.key = "min_detections_ratio",
		.kind = PK_SCHEMA_FLOAT,
		.def = "0.3",
		.min = "0",
		.max = "1",
		PK_SCHEMA_AT(struct pk_check_config, min_detections_ratio),
		.help = "Detections per frame, as a part of the last model's; 0: not judged."},
	{.key = "max_detections_ratio",
		.kind = PK_SCHEMA_FLOAT,
		.def = "5",
		.min = "0",
		.max = "1000",
		PK_SCHEMA_AT(struct pk_check_config, max_detections_ratio),
		.help = "The same upwards; 0: not judged."},
	{.key = "max_restarts",
		.kind = PK_SCHEMA_INT,
		.def = "1",
		.min = "0",
		.max = "100",
		PK_SCHEMA_AT(struct pk_check_config, max_restarts),
		.help = "So often may the worker crash meanwhile."},
	{NULL},
};

const struct pk_schema pk_config_check_schema = {
	.noun = "check", .rows = check_rows, .size = sizeof(struct pk_check_config)};
