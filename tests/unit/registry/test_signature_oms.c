// SPDX-License-Identifier: Apache-2.0
// Signatures of loose files: the shapes of the public test vectors, and what must not count.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "fixture.h"
#include "registry/signature_oms.h"
#include "signing.h"

#define INTOTO "application/vnd.in-toto+json"

struct oms {
	struct signing *s;
	struct fixture *fx;
	struct pk_digest one, two; // of the files signme-1 and signme-2
};

static int setup(void **state)
{
	struct oms *oms = calloc(1, sizeof(*oms));
	struct pk_err err = {0};
	if (!oms || signing_setup((void **)&oms->s) < 0 || fixture_setup((void **)&oms->fx) < 0)
		return -1;
	oms->s->claim.seq = -1;
	*state = oms;
	if (pk_fs_mkdirs(fixture_path(oms->fx, "model/sub"), 0755, &err) < 0)
		return -1;
	fixture_write(fixture_path(oms->fx, "model/signme-1"), "one", 3);
	fixture_write(fixture_path(oms->fx, "model/sub/signme-2"), "two", 3);
	return pk_digest_bytes("one", 3, &oms->one) < 0 || pk_digest_bytes("two", 3, &oms->two) < 0;
}

static int teardown(void **state)
{
	struct oms *oms = *state;
	signing_teardown((void **)&oms->s);
	fixture_teardown((void **)&oms->fx);
	free(oms);
	return 0;
}

static char *good_statement(const struct oms *oms)
{
	uint8_t both[2 * PK_SHA256_BYTES];
	char text[2048], one[PK_DIGEST_TEXT], two[PK_DIGEST_TEXT];
	struct pk_digest root;
	memcpy(both, oms->one.bytes, PK_SHA256_BYTES);
	memcpy(both + PK_SHA256_BYTES, oms->two.bytes, PK_SHA256_BYTES);
	assert_int_equal(pk_digest_bytes(both, sizeof(both), &root), 0);
	pk_digest_format(&oms->one, one);
	pk_digest_format(&oms->two, two);
	snprintf(text, sizeof(text),
		"{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"name\":\"model\","
		"\"digest\":{\"sha256\":\"%s\"}}],"
		"\"predicateType\":\"https://model_signing/signature/v1.0\",\"predicate\":{"
		"\"resources\":[{\"digest\":\"%s\",\"algorithm\":\"sha256\",\"name\":\"signme-1\"},"
		"{\"digest\":\"%s\",\"algorithm\":\"sha256\",\"name\":\"sub/signme-2\"}],"
		"\"serialization\":{\"method\":\"files\",\"ignore_paths\":[\".gitattributes\","
		"\"ignore-me\"],\"hash_type\":\"sha256\",\"allow_symlinks\":false}}}",
		signing_hex(&root), one + 7, two + 7);
	return strdup(text);
}

static struct pk_err last;

static enum pk_signature_reason check_bundle(const struct oms *oms, const char *text)
{
	struct pk_signature_files files = {0};
	const struct pk_trusted_key *key;
	struct pk_buf bundle;
	pk_buf_init(&bundle, 1 << 20);
	pk_buf_str(&bundle, text);
	last = (struct pk_err){0};
	if (pk_signature_files_list(fixture_path(oms->fx, "model"), NULL, &files, &last) < 0)
		fail_msg("%s", last.text);
	enum pk_signature_reason reason =
		pk_signature_oms_check(&oms->s->claim, &bundle, &files, &key, &last);
	pk_signature_files_finish(&files);
	pk_buf_finish(&bundle);
	assert_true(reason == PK_SIGNATURE_OK || last.text[0]);
	return reason;
}

static enum pk_signature_reason check(const struct oms *oms, const char *statement)
{
	char *bundle = signing_bundle(oms->s->signers[KEY_A], INTOTO, statement, NULL);
	enum pk_signature_reason reason = check_bundle(oms, bundle);
	free(bundle);
	return reason;
}

static void assert_reason(
	const struct oms *oms, const char *statement, enum pk_signature_reason reason)
{
	enum pk_signature_reason found = check(oms, statement);
	if (found != reason)
		fail_msg("%s (%s), expected %s", pk_signature_reason_name(found), last.text,
			pk_signature_reason_name(reason));
}

static void test_good(void **state)
{
	const struct oms *oms = *state;
	char *statement = good_statement(oms);
	assert_reason(oms, statement, PK_SIGNATURE_OK);
	static const char *const also[][2] = {
		{"\"name\":\"model\"", "\"name\":\"another name\""},
		{",\"ignore_paths\":[\".gitattributes\",\"ignore-me\"]", ""},
		{"\"allow_symlinks\":false", "\"allow_symlinks\":true"},
		{"\"name\":\"signme-1\"", "\"name\":\"signme-1\",\"uri\":\"x\""},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(also); i++) {
		char *text = signing_replace(statement, also[i][0], also[i][1]);
		assert_reason(oms, text, PK_SIGNATURE_OK);
		free(text);
	}
	free(statement);
}

static void test_statements(void **state)
{
	const struct oms *oms = *state;
	static const struct {
		const char *from, *to;
		enum pk_signature_reason reason;
	} rows[] = {
		// The public vector "wrong-predicate".
		{"https://model_signing/signature/v1.0", "https://example.com/wrong-predicate/v1.0",
			PK_SIGNATURE_NOT_A_SIGNATURE},
		{"https://model_signing/signature/v1.0", "https://model_signing/Digests/v0.1",
			PK_SIGNATURE_NOT_A_SIGNATURE},
		{"https://model_signing/signature/v1.0", "https://sigstore.dev/cosign/sign/v1",
			PK_SIGNATURE_NOT_A_SIGNATURE},
		{"Statement/v1", "Statement/v0.1", PK_SIGNATURE_NOT_A_SIGNATURE},
		{"\"method\":\"files\"", "\"method\":\"shards\"", PK_SIGNATURE_UNSUPPORTED},
		{"\"method\":\"files\"", "\"method\":\"files\",\"shard_size\":8",
			PK_SIGNATURE_MALFORMED},
		{"\"hash_type\":\"sha256\"", "\"hash_type\":\"blake2b\"", PK_SIGNATURE_UNSUPPORTED},
		{"\"algorithm\":\"sha256\"", "\"algorithm\":\"blake3\"", PK_SIGNATURE_UNSUPPORTED},
		{"\"serialization\"", "\"was\"", PK_SIGNATURE_MALFORMED},
		{"\"allow_symlinks\":false", "\"allow_symlinks\":0", PK_SIGNATURE_MALFORMED},
		{"\"ignore-me\"", "\"../ignore-me\"", PK_SIGNATURE_MALFORMED},
		{"\"ignore-me\"", "\"/etc\"", PK_SIGNATURE_MALFORMED},
		{"\"ignore-me\"", "\"\"", PK_SIGNATURE_MALFORMED},
		{"\"ignore-me\"", "7", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"signme-1\"", "\"name\":\"zignme-1\"", PK_SIGNATURE_MISSING_FILE},
		{"\"name\":\"signme-1\"", "\"name\":\"./signme-1\"", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"signme-1\"", "\"name\":\"../signme-1\"", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"signme-1\"", "\"name\":\"/signme-1\"", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"signme-1\"", "\"name\":\"a//signme-1\"", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"signme-1\"", "\"name\":\"signme-1/\"", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"sub/signme-2\"", "\"name\":\"signme-1\"", PK_SIGNATURE_MALFORMED},
		{"\"resources\":[", "\"resources\":[],\"was\":[", PK_SIGNATURE_MALFORMED},
		{"\"digest\":\"", "\"digest\":\"0", PK_SIGNATURE_MALFORMED},
		{"\"subject\":[", "\"subject\":[{},", PK_SIGNATURE_MALFORMED},
		{"\"name\":\"model\"", "\"name\":\"\"", PK_SIGNATURE_MALFORMED},
		{"\"sha256\":\"", "\"sha256\":\"0", PK_SIGNATURE_WRONG_DIGEST},
	};
	char *good = good_statement(oms);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *statement = signing_replace(good, rows[i].from, rows[i].to);
		assert_reason(oms, statement, rows[i].reason);
		free(statement);
	}
	free(good);
}

static void test_files(void **state)
{
	const struct oms *oms = *state;
	const char *folder = oms->fx->dir;
	char path[128];
	char *good = good_statement(oms);
	fixture_write(fixture_path(oms->fx, "model/ignore-me"), "x", 1);
	assert_reason(oms, good, PK_SIGNATURE_OK);
	snprintf(path, sizeof(path), "%s/model/.git", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	fixture_write(fixture_path(oms->fx, "model/.git/HEAD"), "x", 1);
	assert_reason(oms, good, PK_SIGNATURE_OK);
	fixture_write(fixture_path(oms->fx, "model/sub/ignore-me"), "x", 1); // only at the top
	assert_reason(oms, good, PK_SIGNATURE_EXTRA_FILE);
	assert_non_null(strstr(last.text, "sub/ignore-me"));
	assert_int_equal(unlink(fixture_path(oms->fx, "model/sub/ignore-me")), 0);
	fixture_write(fixture_path(oms->fx, "model/.gitignored"), "x", 1);
	assert_reason(oms, good, PK_SIGNATURE_EXTRA_FILE);
	assert_int_equal(unlink(fixture_path(oms->fx, "model/.gitignored")), 0);
	fixture_write(fixture_path(oms->fx, "model/signme-1"), "One", 3);
	assert_reason(oms, good, PK_SIGNATURE_WRONG_DIGEST);
	assert_int_equal(unlink(fixture_path(oms->fx, "model/signme-1")), 0);
	assert_reason(oms, good, PK_SIGNATURE_MISSING_FILE);
	free(good);
}

// The public vectors "missing-envelope" and "key" (made with a key of P-384), and a foreign key.
static void test_bundles(void **state)
{
	const struct oms *oms = *state;
	static const char missing[] =
		"{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
		"\"verificationMaterial\":{\"publicKey\":{\"hint\":\"e8450dec\"},"
		"\"tlogEntries\":[]}}";
	assert_int_equal(check_bundle(oms, missing), PK_SIGNATURE_MALFORMED);
	char *statement = good_statement(oms);
	char *bundle = signing_bundle(oms->s->signers[KEY_FOREIGN], INTOTO, statement, NULL);
	assert_int_equal(check_bundle(oms, bundle), PK_SIGNATURE_BAD_SIGNATURE);
	char *at = strstr(bundle, "\"sig\":\"") + 7;
	char *end = strchr(at, '"');
	char tail[256];
	snprintf(tail, sizeof(tail), "%s", end);
	*at = '\0';
	char p384[8192];
	snprintf(p384, sizeof(p384),
		"%sMGQCMDNHlJBKxhHVeSWQ+RWXT2LKSOcd3fF6jQLxRs8zdXnJI9Ff8zKrDeMLvprDzqzKZQIwQmpM"
		"u2WZsNmlfMD+5S0UqwBnJ3/xLPjO+bYmBn/c5fg80jHloGe9fmjR5d57Y1XM%s",
		bundle, tail);
	assert_int_equal(check_bundle(oms, p384), PK_SIGNATURE_MALFORMED);
	assert_non_null(strstr(last.text, "102 bytes"));
	free(bundle);
	free(statement);
}

static void test_on_disk(void **state)
{
	const struct oms *oms = *state;
	struct pk_signature_verdict verdict;
	struct pk_err err = {0};
	char folder[100], signature[120], link[120];
	snprintf(folder, sizeof(folder), "%s/model", oms->fx->dir);
	snprintf(signature, sizeof(signature), "%s/model.sig", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	char *statement = good_statement(oms);
	char *bundle = signing_bundle(oms->s->signers[KEY_ED], INTOTO, statement, NULL);
	fixture_write(signature, bundle, strlen(bundle)); // beside the files, and not one of them
	assert_int_equal(
		pk_signature_oms_verify(folder, signature, &oms->s->policy, &verdict, &err), 0);
	assert_string_equal(verdict.key_ids[0], pk_key_id(oms->s->keys[KEY_ED].key));
	assert_string_equal(verdict.format, "oms");
	fixture_write(fixture_path(oms->fx, "model/more"), "x", 1);
	assert_int_equal(
		pk_signature_oms_verify(folder, signature, &oms->s->policy, &verdict, &err),
		-EKEYREJECTED);
	assert_int_equal(verdict.reason, PK_SIGNATURE_EXTRA_FILE);
	assert_non_null(strstr(err.text, "a file that nobody signed"));
	assert_int_equal(symlink("signme-1", link), 0);
	assert_int_equal(
		pk_signature_oms_verify(folder, signature, &oms->s->policy, &verdict, &err),
		-ELOOP);
	assert_int_equal(verdict.reason, PK_SIGNATURE_TROUBLE);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(
		pk_signature_oms_verify(folder, signature, &oms->s->policy, &verdict, &err),
		-EINVAL);
	free(bundle);
	free(statement);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_good),
		TEST(test_statements),
		TEST(test_files),
		TEST(test_bundles),
		TEST(test_on_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
