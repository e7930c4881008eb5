// SPDX-License-Identifier: Apache-2.0
// picketctl key: makes signing keys and says which key a file holds.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "registry/signer.h"

static const char usage[] =
	"usage: picketctl key generate NAME [--kind ecdsa-p256|ed25519] [--json]\n"
	"       picketctl key show PUB.pem… [--json]\n"
	"\n"
	"generate writes NAME.key.pem, which signs and stays where releases are made, and\n"
	"NAME.pub.pem, which nodes pin (/etc/picket/keys). Existing files are not touched. With\n"
	"PICKET_KEY_PASSPHRASE set, the private key is encrypted with it.\n"
	"show prints the id of each public key, as logs and verdicts name it.\n"
	"\n"
	"  --kind   ecdsa-p256 (default; cosign can sign with it too) or ed25519\n"
	"  --json   JSON instead of text\n";

struct options {
	const char *kind;
	bool json, help;
	char **args;
	int n_args;
};

static int fail(const struct pk_err *err, int rc)
{
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, rc));
	return PK_EXIT_FAIL;
}

static int wrong_usage(const char *why)
{
	fprintf(stderr, "picketctl: key: %s\nsee picketctl key --help\n", why);
	return PK_EXIT_USAGE;
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option longs[] = {
		{"kind", required_argument, NULL, 'k'},
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
			out->kind = optarg;
	}
	out->args = argv + optind;
	out->n_args = argc - optind;
	return 0;
}

static void print_key(const struct options *options, const char *path, const struct pk_key *key)
{
	if (!options->json) {
		printf("%s  %-10s  %s\n", pk_key_id(key), pk_key_kind(key), path);
		return;
	}
	pk_auto_json json = json_pack(
		"{s:s, s:s, s:s}", "id", pk_key_id(key), "kind", pk_key_kind(key), "path", path);
	pk_auto_free char *line = json ? pk_json_canonical(json) : NULL;
	puts(line ? line : "{}");
}

static int write_new(const char *path, const struct pk_buf *text, mode_t mode, struct pk_err *err)
{
	if (pk_fs_exists(path))
		return pk_fail(err, -EEXIST, "%s: it is there already; nothing was written", path);
	return pk_fs_write_atomic(path, pk_buf_cstr(text), text->len, mode, err);
}

static int write_pair(const struct pk_signer *signer, const char *private_path,
	const char *public_path, struct pk_err *err)
{
	const char *passphrase = getenv("PICKET_KEY_PASSPHRASE");
	struct pk_buf private pk_auto_buf;
	struct pk_buf public pk_auto_buf;
	pk_buf_init(&private, PK_KEY_PEM_MAX);
	pk_buf_init(&public, PK_KEY_PEM_MAX);
	int rc = pk_signer_private_pem(
		signer, passphrase && passphrase[0] ? passphrase : NULL, &private, err);
	if (rc == 0)
		rc = pk_signer_public_pem(signer, &public, err);
	if (rc == 0 && pk_fs_exists(public_path))
		rc = pk_fail(
			err, -EEXIST, "%s: it is there already; nothing was written", public_path);
	if (rc == 0)
		rc = write_new(private_path, &private, 0600, err);
	if (rc == 0)
		rc = write_new(public_path, &public, 0644, err);
	if (private.data)
		explicit_bzero(private.data, private.cap);
	return rc;
}

static int generate(const struct options *options)
{
	struct pk_err err = {0};
	pk_auto(pk_signer) signer = NULL;
	pk_auto_free char *private_path = NULL;
	pk_auto_free char *public_path = NULL;
	if (options->n_args != 1)
		return wrong_usage("generate takes one name");
	if (asprintf(&private_path, "%s.key.pem", options->args[0]) < 0 ||
		asprintf(&public_path, "%s.pub.pem", options->args[0]) < 0)
		return fail(NULL, -ENOMEM);
	int rc = pk_signer_generate(options->kind, &signer, &err);
	if (rc == -EINVAL)
		return wrong_usage(err.text);
	if (rc == 0)
		rc = write_pair(signer, private_path, public_path, &err);
	if (rc < 0)
		return fail(&err, rc);
	print_key(options, public_path, pk_signer_key(signer));
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int show(const struct options *options)
{
	int code = PK_EXIT_OK;
	if (options->n_args < 1)
		return wrong_usage("show takes at least one file");
	for (int i = 0; i < options->n_args; i++) {
		struct pk_err err = {0};
		pk_auto(pk_key) key = NULL;
		int rc = pk_key_load(options->args[i], &key, &err);
		if (rc < 0)
			code = fail(&err, rc);
		else
			print_key(options, options->args[i], key);
	}
	return fflush(stdout) == 0 ? code : PK_EXIT_FAIL;
}

int pk_cmd_key(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct options *options);
	} verbs[] = {
		{"generate", generate},
		{"show", show},
	};
	struct options options = {.kind = "ecdsa-p256"};
	const char *verb = argc > 1 ? argv[1] : "";
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	for (size_t i = 0; i < PK_ARRAY_LEN(verbs); i++) {
		if (strcmp(verb, verbs[i].name) != 0)
			continue;
		if (parse_options(argc - 1, argv + 1, &options) < 0)
			return wrong_usage("unknown option");
		if (!options.help)
			return verbs[i].run(&options);
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	return wrong_usage(argc > 1 ? "unknown verb" : "which verb?");
}
