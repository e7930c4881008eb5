// SPDX-License-Identifier: Apache-2.0
// picketctl bundle sign: adds a signature to the artifact in an OCI layout.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bundle_cmd.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "registry/sign.h"
#include "registry/signature.h"

#define VERB "bundle sign"

static const char usage[] =
	"usage: picketctl bundle sign oci:FOLDER:TAG --key KEY.pem [--format cosign|bundle] "
	"[--json]\n"
	"\n"
	"Signs the artifact's digest and puts the signature beside it into the layout; picketctl\n"
	"push carries it along. Other keys' signatures stay; signing twice adds nothing.\n"
	"\n"
	"  --key KEY.pem   private key, ECDSA P-256 or Ed25519, PKCS #8; an encrypted one takes "
	"its\n"
	"                  passphrase from PICKET_KEY_PASSPHRASE\n"
	"  --format        bundle (default): a sigstore bundle that refers to the artifact\n"
	"                  cosign: the older form, under the tag sha256-….sig\n"
	"  --json          one JSON object instead of text\n";

struct options {
	const char *ref, *key, *format;
	bool json;
};

static const struct {
	const char *name;
	unsigned bit;
} formats[] = {
	{"bundle", PK_SIGNATURE_BUNDLE},
	{"cosign", PK_SIGNATURE_COSIGN},
};

static int parse_options(int argc, char **argv, struct options *out)
{
	const struct pk_option rows[] = {
		PK_TEXT("key", &out->key),
		PK_TEXT("format", &out->format),
		PK_FLAG("json", &out->json),
	};
	const struct pk_verb_line line = {
		VERB, usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one artifact, oci:FOLDER:TAG"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code == PK_GO_ON)
		out->ref = words.at[0];
	return code;
}

static unsigned format_bit(const char *name)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].bit;
	return 0;
}

static void print_result(const struct options *options, const struct pk_signer *signer,
	const struct pk_sign_result *result)
{
	char digest[PK_DIGEST_TEXT];
	const struct pk_key *key = pk_signer_key(signer);
	pk_digest_format(&result->digest, digest);
	if (!options->json) {
		printf("%s\n%s by the %s key %s\n", digest,
			result->already ? "was signed already" : "signed", pk_key_kind(key),
			pk_key_id(key));
		return;
	}
	pk_auto_json json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "digest", digest, "key",
		pk_key_id(key), "kind", pk_key_kind(key), "format", options->format, "tag",
		result->tag, "already", result->already);
	pk_auto_free char *line = json ? pk_json_canonical(json) : NULL;
	puts(line ? line : "{}");
}

static int sign(const struct options *options, const struct pk_ref *ref)
{
	struct pk_err err = {0};
	struct pk_sign_result result;
	pk_auto(pk_signer) signer = NULL;
	int rc = pk_signer_load(options->key, getenv("PICKET_KEY_PASSPHRASE"), &signer, &err);
	if (rc == 0)
		rc = pk_sign_layout(ref, signer, format_bit(options->format), &result, &err);
	if (rc < 0)
		return pk_print_failure(&err, rc);
	print_result(options, signer, &result);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_bundle_cmd_sign(int argc, char **argv)
{
	struct options options = {.format = "bundle"};
	struct pk_ref ref;
	struct pk_err err = {0};
	int code = parse_options(argc, argv, &options);
	if (code != PK_GO_ON)
		return code;
	if (!options.key)
		return pk_usage_mistake(VERB, "--key is required");
	if (!format_bit(options.format))
		return pk_usage_mistake(VERB, "--format takes bundle or cosign");
	if (pk_ref_parse(options.ref, &ref, &err) < 0)
		return pk_usage_mistake(VERB, err.text);
	code = sign(&options, &ref);
	pk_ref_finish(&ref);
	return code;
}
