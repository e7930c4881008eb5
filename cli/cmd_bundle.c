// SPDX-License-Identifier: Apache-2.0
// picketctl bundle: create packs a model with its card into an OCI layout; sign and verify are in
// files of their own.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/bundle_cmd.h"
#include "cli/cmd.h"
#include "config/card.h"
#include "registry/bundle.h"
#include "registry/registry.h"

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
	bool help;
};

static int fail(const struct pk_err *err, int rc)
{
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, rc));
	return PK_EXIT_FAIL;
}

static int wrong_usage(const char *why)
{
	fprintf(stderr, "picketctl: %s\nsee picketctl bundle --help\n", why);
	return PK_EXIT_USAGE;
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"onnx", required_argument, NULL, 'o'},
		{"card", required_argument, NULL, 'c'},
		{"golden", required_argument, NULL, 'g'},
		{"calibration", required_argument, NULL, 'C'},
		{"name", required_argument, NULL, 'n'},
		{"seq", required_argument, NULL, 's'},
		{"target", required_argument, NULL, 'T'},
		{"rollout", required_argument, NULL, 'r'},
		{"version", required_argument, NULL, 'v'},
		{"created", required_argument, NULL, 't'},
		{"out", required_argument, NULL, 'O'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const struct {
		int c;
		const char **value;
	} texts[] = {
		{'o', &out->bundle.onnx_path},
		{'c', &out->bundle.card_path},
		{'g', &out->bundle.golden_dir},
		{'C', &out->bundle.calibration_path},
		{'n', &out->bundle.name},
		{'s', &out->bundle.seq},
		{'T', &out->bundle.target},
		{'r', &out->bundle.rollout},
		{'v', &out->bundle.version},
		{'t', &out->bundle.created},
		{'O', &out->out},
	};
	int c;
	optind = 0; // main has used getopt before
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == '?')
			return -EINVAL;
		out->json |= c == 'j';
		out->help |= c == 'h';
		for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++)
			if (texts[i].c == c)
				*texts[i].value = optarg;
	}
	return optind == argc ? 0 : -EINVAL;
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
		return fail(&err, rc);
	print_result(options, &digest);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int cmd_create(int argc, char **argv)
{
	struct options options = {0};
	struct pk_ref ref;
	struct pk_err err = {0};
	if (parse_options(argc, argv, &options) < 0)
		return wrong_usage("bundle create: unknown option or argument");
	if (options.help) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	if (!options.bundle.onnx_path || !options.bundle.card_path || !options.out)
		return wrong_usage("bundle create: --onnx, --card and --out are required");
	if (pk_ref_parse(options.out, &ref, &err) < 0)
		return wrong_usage(err.text);
	int code = PK_EXIT_USAGE;
	if (strcmp(ref.scheme, "oci") != 0)
		wrong_usage("bundle create: --out takes oci:FOLDER:TAG");
	else if (ref.has_digest || !ref.tag)
		wrong_usage("bundle create: --out takes a tag, not a digest");
	else
		code = create_at(&options, &ref);
	pk_ref_finish(&ref);
	return code;
}

int pk_cmd_bundle(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {
		{"create", cmd_create},
		{"sign", pk_bundle_cmd_sign},
		{"verify", pk_bundle_cmd_verify},
	};
	for (size_t i = 0; argc > 1 && i < PK_ARRAY_LEN(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	return wrong_usage(argc > 1 ? "bundle: unknown verb" : "bundle: which verb?");
}
