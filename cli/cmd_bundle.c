// SPDX-License-Identifier: Apache-2.0
// picketctl bundle: create packs a model with its card into an OCI layout; sign and verify are in
// files of their own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bundle_cmd.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "config/card.h"
#include "registry/bundle.h"
#include "registry/registry.h"

#define CREATE "bundle create"

static const char usage[] =
	"usage: picketctl bundle create --onnx FILE --card FILE --out oci:FOLDER:TAG\n"
	"                               [--golden DIR] [--calibration FILE] [--name NAME]\n"
	"                               [--seq N] [--target CLASS,…] [--rollout PERCENT]\n"
	"                               [--version TEXT] [--created TIME] [--json]\n"
	"       picketctl bundle sign oci:FOLDER:TAG --key KEY.pem [--format cosign|bundle]\n"
	"       picketctl bundle verify REF --key PUB.pem…\n"
	"\n"
	"create packs a model into an OCI image layout, which is made when it is missing and "
	"keeps\n"
	"its other tags. The same files give the same digest. sign adds a signature to the "
	"layout,\n"
	"verify checks one: see their --help.\n"
	"\n"
	"  --onnx FILE         the model\n"
	"  --card FILE         its card; checked first\n"
	"  --golden DIR        golden samples: every file in DIR\n"
	"  --calibration FILE  ranges for int8, from picketctl engine calibrate\n"
	"  --name NAME         what nodes know the model by (default: the card's name)\n"
	"  --seq N             number of this release, higher than that of the one before; nodes\n"
	"                      refuse to go back\n"
	"  --target CLASS,…    only for nodes of these classes\n"
	"  --rollout PERCENT   share of the fleet that takes it at first\n"
	"  --version TEXT      org.opencontainers.image.version\n"
	"  --created TIME      2026-11-30T19:24:27Z; left out unless given, because it changes the "
	"digest\n"
	"  --json              one JSON object instead of text\n";

struct options {
	struct pk_bundle_options bundle;
	const char *out;
	bool json;
};

static int parse_options(int argc, char **argv, struct options *out)
{
	const struct pk_option rows[] = {
		PK_TEXT("onnx", &out->bundle.onnx_path),
		PK_TEXT("card", &out->bundle.card_path),
		PK_TEXT("golden", &out->bundle.golden_dir),
		PK_TEXT("calibration", &out->bundle.calibration_path),
		PK_TEXT("name", &out->bundle.name),
		PK_TEXT("seq", &out->bundle.seq),
		PK_TEXT("target", &out->bundle.target),
		PK_TEXT("rollout", &out->bundle.rollout),
		PK_TEXT("version", &out->bundle.version),
		PK_TEXT("created", &out->bundle.created),
		PK_TEXT("out", &out->out),
		PK_FLAG("json", &out->json),
	};
	const struct pk_verb_line line = {CREATE, usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	return pk_options_parse(&line, argc, argv, NULL);
}

static struct pk_card *load_card(const char *path)
{
	struct pk_card *card = NULL;
	struct pk_problems problems = {0};
	if (pk_card_load(path, &card, &problems) < 0) {
		pk_problems_print(&problems, stderr);
		fprintf(stderr, "picketctl: %s: not a valid model card; nothing was written\n",
			path);
	}
	pk_problems_finish(&problems);
	return card;
}

static void print_result(const struct options *options, const struct pk_digest *digest)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	if (!options->json) {
		printf("%s\noci:%s:%s\n", text, options->bundle.folder, options->bundle.tag);
		return;
	}
	pk_auto_json json = json_pack("{s:s, s:s, s:s, s:s, s:s?}", "digest", text, "name",
		options->bundle.name, "folder", options->bundle.folder, "tag", options->bundle.tag,
		"version", options->bundle.version);
	pk_auto_free char *line = json ? pk_json_canonical(json) : NULL;
	puts(line ? line : "{}");
}

static int create_at(struct options *options, const struct pk_ref *ref)
{
	struct pk_err err = {0};
	struct pk_digest digest;
	pk_auto(pk_card) card = load_card(options->bundle.card_path);
	if (!card)
		return PK_EXIT_FAIL;
	if (!options->bundle.name)
		options->bundle.name = card->name;
	options->bundle.folder = ref->location;
	options->bundle.tag = ref->tag;
	int rc = pk_bundle_create(&options->bundle, &digest, &err);
	if (rc < 0)
		return pk_print_failure(&err, rc);
	print_result(options, &digest);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int cmd_create(int argc, char **argv)
{
	struct options options = {0};
	struct pk_ref ref;
	struct pk_err err = {0};
	int code = parse_options(argc, argv, &options);
	if (code != PK_GO_ON)
		return code;
	if (!options.bundle.onnx_path || !options.bundle.card_path || !options.out)
		return pk_usage_mistake(CREATE, "--onnx, --card and --out are required");
	if (pk_ref_parse(options.out, &ref, &err) < 0)
		return pk_usage_mistake(CREATE, err.text);
	if (strcmp(ref.scheme, "oci") != 0)
		code = pk_usage_mistake(CREATE, "--out takes oci:FOLDER:TAG");
	else if (ref.has_digest || !ref.tag)
		code = pk_usage_mistake(CREATE, "--out takes a tag, not a digest");
	else
		code = create_at(&options, &ref);
	pk_ref_finish(&ref);
	return code;
}

int pk_cmd_bundle(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {
		{"create", cmd_create},
		{"sign", pk_bundle_cmd_sign},
		{"verify", pk_bundle_cmd_verify},
	};
	return PK_RUN_VERB("bundle", usage, verbs, argc, argv);
}
