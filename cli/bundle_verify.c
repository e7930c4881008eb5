// SPDX-License-Identifier: Apache-2.0
// picketctl bundle verify: who signed an artifact, or a folder of files.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "cli/bundle_cmd.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/transfer.h"
#include "registry/registry.h"
#include "registry/signature.h"
#include "registry/signature_oms.h"

#define VERB "bundle verify"

static const char usage[] =
	"usage: picketctl bundle verify REF --key PUB.pem… [--name NAME] [--target CLASS]\n"
	"                               [--threshold N] [--format cosign|bundle] [--json]\n"
	"       picketctl bundle verify FOLDER --oms SIGNATURE --key PUB.pem… [--json]\n"
	"\n"
	"Checks as a node does, offline, with pinned keys only. The first form takes an artifact "
	"in\n"
	"a registry or layout, the second loose files with an OpenSSF Model Signing bundle.\n"
	"\n"
	"  --key PUB.pem     public key (ECDSA P-256 or Ed25519), or a folder of *.pem; "
	"repeatable\n"
	"  --revoked PUB.pem a key that must not count; repeatable\n"
	"  --name NAME       what the artifact must call itself\n"
	"  --target CLASS    class of the node it is for\n"
	"  --threshold N     how many different keys must have signed (default 1)\n"
	"  --format NAME     only this form of signature counts (default: any)\n"
	"  --oms FILE        the signature of a folder's files\n"
	"  --config FILE     take `registries` from there (default: the node's picket.yaml)\n"
	"  --ca FILE, --auth FILE, --user NAME --password-file FILE, --insecure\n"
	"                    for a registry, as with picketctl pull\n"
	"  --json            one JSON object instead of text\n"
	"\n"
	"Exit code: 0 verified, 1 failed, 2 usage, 3 unreachable, 4 not verified.\n";

struct options {
	struct pk_transfer transfer; // how to reach a registry
	const char *what, *oms, *format, *threshold;
	struct pk_signature_policy policy;
	struct pk_keyring keys;
	bool json;
};

static const char *add_key(struct options *out, const char *path, bool revoked)
{
	static struct pk_err err;
	const struct pk_key_rules rules = {.revoked = revoked};
	return pk_keyring_add(&out->keys, path, &rules, &err) < 0 ? err.text : NULL;
}

static const char *take_key(void *to, const char *path)
{
	return add_key(to, path, false);
}

static const char *take_revoked(void *to, const char *path)
{
	return add_key(to, path, true);
}

static int parse_options(int argc, char **argv, struct options *out)
{
	struct pk_registry_host *host = &out->transfer.host;
	const struct pk_option rows[] = {
		PK_CALL("key", take_key, out),
		PK_CALL("revoked", take_revoked, out),
		PK_TEXT("name", &out->policy.model_name),
		PK_TEXT("target", &out->policy.target),
		PK_TEXT("threshold", &out->threshold),
		PK_TEXT("format", &out->format),
		PK_TEXT("oms", &out->oms),
		PK_TEXT("config", &out->transfer.config),
		PK_TEXT("ca", &host->ca_path),
		PK_TEXT("auth", &host->auth_path),
		PK_TEXT("user", &host->user),
		PK_TEXT("password-file", &host->password_path),
		PK_FLAG("insecure", &host->insecure),
		PK_FLAG("json", &out->json),
	};
	const struct pk_verb_line line = {VERB, usage, rows, PK_ARRAY_LEN(rows), 1, 1,
		"one reference, or one folder with --oms"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code == PK_GO_ON)
		out->what = words.at[0];
	return code;
}

// NULL, or what is wrong with them.
static const char *take_policy(struct options *options)
{
	struct pk_signature_policy *policy = &options->policy;
	const char *threshold = options->threshold;
	policy->required = true;
	policy->keys = options->keys.keys;
	policy->n_keys = options->keys.n;
	policy->now_s = time(NULL);
	if (policy->n_keys == 0)
		return "--key is required";
	if (threshold &&
		(threshold[0] < '1' || threshold[0] > '0' + PK_SIGNATURE_MAX_KEYS || threshold[1]))
		return "--threshold takes 1 to 8";
	policy->threshold = threshold ? (unsigned)(threshold[0] - '0') : 1;
	if (!options->format)
		return NULL;
	if (strcmp(options->format, "cosign") == 0)
		policy->formats = PK_SIGNATURE_COSIGN;
	else if (strcmp(options->format, "bundle") == 0)
		policy->formats = PK_SIGNATURE_BUNDLE;
	else
		return "--format takes bundle or cosign";
	return NULL;
}

struct answer {
	struct pk_signature_verdict verdict;
	char digest[PK_DIGEST_TEXT]; // "": loose files
	int rc;
	struct pk_err err;
};

static void print_json(const struct answer *answer)
{
	const struct pk_signature_verdict *verdict = &answer->verdict;
	pk_auto_json keys = json_array();
	for (unsigned i = 0; i < verdict->n_keys; i++)
		json_array_append_new(keys, json_string(verdict->key_ids[i]));
	pk_auto_json json = json_pack("{s:b, s:s, s:s, s:s, s:s, s:I, s:s, s:O, s:i}", "verified",
		answer->rc == 0, "reason", pk_signature_reason_name(verdict->reason), "text",
		answer->rc == 0 ? "" : pk_err_text(&answer->err, answer->rc), "digest",
		answer->digest, "name", verdict->name, "seq", (json_int_t)verdict->seq, "format",
		verdict->format, "keys", keys, "found", (int)verdict->n_found);
	pk_auto_free char *line = json ? pk_json_canonical(json) : NULL;
	puts(line ? line : "{}");
}

static void add_row(struct pk_table *table, const char *name, const char *value)
{
	if (!value[0])
		return;
	pk_table_add(table, "%s", name);
	pk_table_add(table, "%s", value);
}

static void print_text(const struct answer *answer)
{
	static const char *const headings[] = {"verified", "yes"};
	const struct pk_signature_verdict *verdict = &answer->verdict;
	struct pk_table table = {.headings = headings, .n_columns = PK_ARRAY_LEN(headings)};
	char seq[24] = "";
	if (verdict->seq >= 0)
		snprintf(seq, sizeof(seq), "%" PRId64, verdict->seq);
	add_row(&table, "digest", answer->digest);
	add_row(&table, "name", verdict->name);
	add_row(&table, "seq", seq);
	add_row(&table, "format", verdict->format);
	for (unsigned i = 0; i < verdict->n_keys; i++)
		add_row(&table, "key", verdict->key_ids[i]);
	pk_table_print(&table);
	pk_table_finish(&table);
}

static int exit_code(int rc)
{
	if (rc == 0)
		return PK_EXIT_OK;
	if (rc == -EKEYREJECTED)
		return PK_EXIT_UNVERIFIED;
	return pk_registry_error_is_transient(rc) ? PK_EXIT_UNREACHABLE : PK_EXIT_FAIL;
}

static int print_answer(const struct options *options, const struct answer *answer)
{
	if (options->json)
		print_json(answer);
	else if (answer->rc == 0)
		print_text(answer);
	else
		(void)pk_print_failure(&answer->err, answer->rc);
	return fflush(stdout) == 0 ? exit_code(answer->rc) : PK_EXIT_FAIL;
}

static void verify_artifact(
	const struct options *options, const struct pk_ref *ref, struct answer *answer)
{
	struct pk_err *err = &answer->err;
	struct pk_buf bytes pk_auto_buf;
	pk_auto(pk_registry) registry = NULL;
	pk_auto(pk_manifest) manifest = NULL;
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = pk_registry_open(ref, &options->transfer.options, &registry, err);
	if (rc == 0)
		rc = pk_registry_manifest(registry, ref, PK_MANIFEST_MAX_BYTES, &bytes, err);
	if (rc == 0)
		rc = pk_manifest_parse(pk_buf_cstr(&bytes), bytes.len, &manifest, err);
	if (rc == 0) {
		pk_digest_format(&manifest->digest, answer->digest);
		rc = pk_signature_verify(
			registry, manifest, &options->policy, &answer->verdict, err);
	}
	answer->rc = rc;
}

static int verify(struct options *options)
{
	struct answer answer = {.verdict = {.reason = PK_SIGNATURE_TROUBLE, .seq = -1}};
	struct pk_ref ref;
	if (options->oms) {
		answer.rc = pk_signature_oms_verify(options->what, options->oms, &options->policy,
			&answer.verdict, &answer.err);
		return print_answer(options, &answer);
	}
	if (pk_ref_parse(options->what, &ref, &answer.err) < 0)
		return pk_usage_mistake(VERB, answer.err.text);
	int code = pk_transfer_prepare(&options->transfer, &ref);
	if (code == PK_EXIT_OK) {
		verify_artifact(options, &ref, &answer);
		code = print_answer(options, &answer);
	}
	pk_ref_finish(&ref);
	return code;
}

static int run(int argc, char **argv, struct options *options)
{
	int code = parse_options(argc, argv, options);
	if (code != PK_GO_ON)
		return code;
	const char *why = take_policy(options);
	return why ? pk_usage_mistake(VERB, why) : verify(options);
}

int pk_bundle_cmd_verify(int argc, char **argv)
{
	struct options options = {0};
	int code = run(argc, argv, &options);
	pk_transfer_finish(&options.transfer);
	pk_keyring_finish(&options.keys);
	return code;
}
