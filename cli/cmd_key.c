// SPDX-License-Identifier: Apache-2.0
// picketctl key: makes signing keys and says which key a file holds.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
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

#define GENERATE "key generate"
#define SHOW     "key show"

static void print_key(bool as_json, const char *path, const struct pk_key *key)
{
	if (!as_json) {
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

static int generate(int argc, char **argv)
{
	struct pk_err err = {0};
	struct pk_words words;
	const char *kind = "ecdsa-p256";
	bool as_json = false;
	pk_auto(pk_signer) signer = NULL;
	pk_auto_free char *private_path = NULL;
	pk_auto_free char *public_path = NULL;
	const struct pk_option rows[] = {PK_TEXT("kind", &kind), PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {
		GENERATE, usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one name"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	if (asprintf(&private_path, "%s.key.pem", words.at[0]) < 0 ||
		asprintf(&public_path, "%s.pub.pem", words.at[0]) < 0)
		return pk_print_failure(NULL, -ENOMEM);
	int rc = pk_signer_generate(kind, &signer, &err);
	if (rc == -EINVAL)
		return pk_usage_mistake(GENERATE, err.text);
	if (rc == 0)
		rc = write_pair(signer, private_path, public_path, &err);
	if (rc < 0)
		return pk_print_failure(&err, rc);
	print_key(as_json, public_path, pk_signer_key(signer));
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int show(int argc, char **argv)
{
	struct pk_words words;
	bool as_json = false;
	const struct pk_option rows[] = {PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {
		SHOW, usage, rows, PK_ARRAY_LEN(rows), 1, INT_MAX, "at least one file"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	code = PK_EXIT_OK;
	for (int i = 0; i < words.n; i++) {
		struct pk_err err = {0};
		pk_auto(pk_key) key = NULL;
		int rc = pk_key_load(words.at[i], &key, &err);
		if (rc < 0)
			code = pk_print_failure(&err, rc);
		else
			print_key(as_json, words.at[i], key);
	}
	return fflush(stdout) == 0 ? code : PK_EXIT_FAIL;
}

int pk_cmd_key(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {{"generate", generate}, {"show", show}};
	return PK_RUN_VERB("key", usage, verbs, argc, argv);
}
