// SPDX-License-Identifier: Apache-2.0
// picketctl bundle sign: adds a signature to the artifact in an OCI layout.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bundle_cmd.h"
#include "cli/cmd.h"
#include "registry/sign.h"
#include "registry/signature.h"

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
	bool json, help;
};

static const struct {
	const char *name;
	unsigned bit;
} formats[] = {
	{"bundle", PK_SIGNATURE_BUNDLE},
	{"cosign", PK_SIGNATURE_COSIGN},
};

static int fail(const struct pk_err *err, int rc)
{
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, rc));
	return PK_EXIT_FAIL;
}

static int wrong_usage(const char *why)
{
	fprintf(stderr, "picketctl: bundle sign: %s\nsee picketctl bundle sign --help\n", why);
	return PK_EXIT_USAGE;
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"key", required_argument, NULL, 'k'},
		{"format", required_argument, NULL, 'f'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;
	optind = 0; // main has used getopt before
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == '?')
			return -EINVAL;
		out->json |= c == 'j';
		out->help |= c == 'h';
		if (c == 'k')
			out->key = optarg;
		if (c == 'f')
			out->format = optarg;
	}
	out->ref = argv[optind];
	return out->help || optind + 1 == argc ? 0 : -EINVAL;
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
		return fail(&err, rc);
	print_result(options, signer, &result);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_bundle_cmd_sign(int argc, char **argv)
{
	struct options options = {.format = "bundle"};
	struct pk_ref ref;
	struct pk_err err = {0};
	if (parse_options(argc, argv, &options) < 0)
		return wrong_usage("it takes one artifact, oci:FOLDER:TAG");
	if (options.help) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	if (!options.key)
		return wrong_usage("--key is required");
	if (!format_bit(options.format))
		return wrong_usage("--format takes bundle or cosign");
	if (pk_ref_parse(options.ref, &ref, &err) < 0)
		return wrong_usage(err.text);
	int code = sign(&options, &ref);
	pk_ref_finish(&ref);
	return code;
}
