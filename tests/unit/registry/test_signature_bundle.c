// SPDX-License-Identifier: Apache-2.0
// Signatures as sigstore bundles: what counts, and every way in which one must not.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/descriptor.h"
#include "registry/signature_bundle.h"
#include "signing.h"

#define INTOTO "application/vnd.in-toto+json"
#define SIGN   "https://sigstore.dev/cosign/sign/v1"

static struct pk_err last;

static enum pk_signature_reason check(
	const struct signing *s, const char *bundle, const struct pk_trusted_key **key)
{
	const struct pk_trusted_key *ignored;
	last = (struct pk_err){0};
	enum pk_signature_reason reason = pk_signature_bundle_check(
		&s->claim, bundle, strlen(bundle), key ? key : &ignored, &last);
	assert_true(reason == PK_SIGNATURE_OK || last.text[0]);
	return reason;
}

static void assert_reason(
	const struct signing *s, const char *bundle, enum pk_signature_reason reason)
{
	enum pk_signature_reason found = check(s, bundle, NULL);
	if (found != reason)
		fail_msg("%s (%s), expected %s", pk_signature_reason_name(found), last.text,
			pk_signature_reason_name(reason));
}

static char *good_bundle(const struct signing *s, int signer, const char *hint)
{
	char *statement = signing_statement(SIGN, signing_hex(&s->digest));
	char *bundle = signing_bundle(s->signers[signer], INTOTO, statement, hint);
	free(statement);
	return bundle;
}

static void test_good(void **state)
{
	const struct signing *s = *state;
	for (int i = 0; i < N_PINNED; i++) {
		const struct pk_trusted_key *key = NULL;
		char *bundle = good_bundle(s, i, NULL);
		assert_int_equal(check(s, bundle, &key), PK_SIGNATURE_OK);
		assert_ptr_equal(key, &s->keys[i]);
		free(bundle);
	}
}

// Shapes that other writers give the same thing.
static void test_shapes(void **state)
{
	const struct signing *s = *state;
	static const char *const rows[][2] = {
		{",\"keyid\":\"\"", ""},
		{"\"keyid\":\"\"", "\"keyid\":null"},
		{"\"keyid\":\"\"", "\"keyid\":\"any\""},
		{",\"tlogEntries\":[]", ""},
		{"\"hint\":\"\"",
			"\"rawBytes\":\"AAAA\",\"keyDetails\":\"PKIX_ECDSA_P256_SHA_256\""},
		{"\"publicKey\":{\"hint\":\"\"}", "\"certificate\":{\"rawBytes\":\"AAAA\"}"},
		{"application/vnd.dev.sigstore.bundle.v0.3+json",
			"application/vnd.dev.sigstore.bundle+json;version=0.3"},
		{"{\"mediaType\"", "{\"futureField\":[1,2],\"mediaType\""},
	};
	char *good = good_bundle(s, KEY_A, NULL);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *bundle = signing_replace(good, rows[i][0], rows[i][1]);
		assert_reason(s, bundle, PK_SIGNATURE_OK);
		free(bundle);
	}
	free(good);
}

static void test_envelopes(void **state)
{
	const struct signing *s = *state;
	static const struct {
		const char *from, *to;
		enum pk_signature_reason reason;
	} rows[] = {
		{"bundle.v0.3+json", "bundle.v0.4+json", PK_SIGNATURE_UNSUPPORTED},
		{"bundle.v0.3+json", "bundle+json;version=0.1", PK_SIGNATURE_UNSUPPORTED},
		{"\"mediaType\"", "\"mediatype\"", PK_SIGNATURE_MALFORMED},
		{"\"verificationMaterial\"", "\"other\"", PK_SIGNATURE_MALFORMED},
		{"\"hint\":\"\"", "\"hint\":7", PK_SIGNATURE_MALFORMED},
		{"\"dsseEnvelope\"", "\"envelope\"", PK_SIGNATURE_MALFORMED},
		{"\"dsseEnvelope\"", "\"messageSignature\"", PK_SIGNATURE_NOT_A_SIGNATURE},
		{"\"dsseEnvelope\"", "\"messageSignature\":{},\"dsseEnvelope\"",
			PK_SIGNATURE_MALFORMED},
		{"\"dsseEnvelope\"", "\"dsseEnvelope\":{},\"dsseEnvelope\"",
			PK_SIGNATURE_MALFORMED},
		{"\"payload\":\"", "\"payload\":\"AAAA\",\"payload\":\"", PK_SIGNATURE_MALFORMED},
		{"\"payloadType\":\"application/vnd.in-toto+json\"",
			"\"payloadType\":\"application/json\"", PK_SIGNATURE_PAYLOAD_TYPE},
		{"\"signatures\":[{", "\"signatures\":[{\"sig\":\"AAAA\"},{",
			PK_SIGNATURE_EXTRA_SIGNATURES},
		{"\"keyid\":\"\"}]", "\"keyid\":\"\"},{}]", PK_SIGNATURE_EXTRA_SIGNATURES},
		{"\"signatures\":[", "\"signatures\":[],\"was\":[", PK_SIGNATURE_MALFORMED},
		{"\"keyid\":\"\"", "\"keyid\":[]", PK_SIGNATURE_MALFORMED},
		{"\"sig\":\"", "\"sig\":\"\\n", PK_SIGNATURE_MALFORMED},
		{"\"sig\":\"", "\"sig\":\"\",\"was\":\"", PK_SIGNATURE_MALFORMED},
		{"\"payload\":\"", "\"payload\":\"!", PK_SIGNATURE_MALFORMED},
		{"\"payload\":\"ey", "\"payload\":\"ez", PK_SIGNATURE_BAD_SIGNATURE},
		{"\"payload\":\"ey", "\"payload\":\"IHsgey", PK_SIGNATURE_BAD_SIGNATURE},
	};
	char *good = good_bundle(s, KEY_A, NULL);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *bundle = signing_replace(good, rows[i].from, rows[i].to);
		assert_reason(s, bundle, rows[i].reason);
		free(bundle);
	}
	free(good);
}

// What a statement that our own key signed must still not say.
static void test_statements(void **state)
{
	const struct signing *s = *state;
	static const struct {
		const char *from, *to;
		enum pk_signature_reason reason;
	} rows[] = {
		{SIGN, "https://spdx.dev/Document", PK_SIGNATURE_NOT_A_SIGNATURE},
		{SIGN, "https://sigstore.dev/cosign/sign/v1 ", PK_SIGNATURE_NOT_A_SIGNATURE},
		{SIGN, "https://model_signing/signature/v1.0", PK_SIGNATURE_NOT_A_SIGNATURE},
		{"Statement/v1", "Statement/v0.1", PK_SIGNATURE_NOT_A_SIGNATURE},
		{"\"_type\"", "\"type\"", PK_SIGNATURE_MALFORMED},
		{"\"predicateType\"", "\"predicate_type\"", PK_SIGNATURE_MALFORMED},
		{"{\"_type\"", "{\"predicateType\":\"x\",\"_type\"", PK_SIGNATURE_MALFORMED},
		{"\"subject\":[{", "\"subject\":[],\"was\":[{", PK_SIGNATURE_WRONG_DIGEST},
		{"\"subject\":[{", "\"subject\":{},\"was\":[{", PK_SIGNATURE_MALFORMED},
		{"\"sha256\":\"", "\"sha512\":\"", PK_SIGNATURE_WRONG_DIGEST},
		{"\"sha256\":\"", "\"sha256\":\"00", PK_SIGNATURE_WRONG_DIGEST},
		{"\"sha256\":\"", "\"sha256\":1,\"x\":\"", PK_SIGNATURE_MALFORMED},
		{"\"digest\":{", "\"digest\":[],\"was\":{", PK_SIGNATURE_MALFORMED},
		{"\"predicate\":{}}", "\"predicate\":{}} {}", PK_SIGNATURE_MALFORMED},
	};
	char *good = signing_statement(SIGN, signing_hex(&s->digest));
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *statement = signing_replace(good, rows[i].from, rows[i].to);
		char *bundle = signing_bundle(s->signers[KEY_A], INTOTO, statement, NULL);
		assert_reason(s, bundle, rows[i].reason);
		free(bundle);
		free(statement);
	}
	char *second = signing_replace(
		good, "\"subject\":[", "\"subject\":[{\"digest\":{\"sha256\":\"00\"}},");
	char *bundle = signing_bundle(s->signers[KEY_A], INTOTO, second, NULL);
	assert_reason(s, bundle, PK_SIGNATURE_OK); // one of several subjects
	free(bundle);
	free(second);
	free(good);
}

// Signed as one type and shown as another: the type is part of what is signed.
static void test_type_is_signed(void **state)
{
	const struct signing *s = *state;
	char *statement = signing_statement(SIGN, signing_hex(&s->digest));
	char *other = signing_bundle(s->signers[KEY_A], "text/plain", statement, NULL);
	assert_reason(s, other, PK_SIGNATURE_PAYLOAD_TYPE);
	char *renamed = signing_replace(other, "text/plain", INTOTO);
	assert_reason(s, renamed, PK_SIGNATURE_BAD_SIGNATURE);
	free(renamed);
	free(other);
	free(statement);
}

static void test_hints(void **state)
{
	const struct signing *s = *state;
	const char *id = pk_key_id(s->keys[KEY_A].key);
	char *foreign = good_bundle(s, KEY_FOREIGN, NULL);
	assert_reason(s, foreign, PK_SIGNATURE_BAD_SIGNATURE); // names nobody
	char *lying = signing_replace(foreign, "\"hint\":\"\"", "\"hint\":\"somebody\"");
	assert_reason(s, lying, PK_SIGNATURE_UNKNOWN_KEY);
	free(lying);
	free(foreign);
	char *hinted = good_bundle(s, KEY_FOREIGN, id); // a hint is no signature
	assert_reason(s, hinted, PK_SIGNATURE_BAD_SIGNATURE);
	assert_non_null(strstr(last.text, "names the pinned key"));
	free(hinted);
	hinted = good_bundle(s, KEY_B, "nobody"); // and a wrong one does not harm
	assert_reason(s, hinted, PK_SIGNATURE_OK);
	free(hinted);
}

static void test_too_big(void **state)
{
	const struct signing *s = *state;
	char *big = calloc(1, PK_SIGNATURE_MAX_BYTES + 2);
	memset(big, ' ', PK_SIGNATURE_MAX_BYTES + 1);
	assert_reason(s, big, PK_SIGNATURE_TOO_BIG);
	free(big);
}

#define ENTRY(type, rest)                                                                          \
	"{\"mediaType\":\"" type "\",\"digest\":"                                                  \
	"\"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\","             \
	"\"size\":2" rest "}"
#define MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define INDEX    "application/vnd.oci.image.index.v1+json"
#define TYPE     ",\"artifactType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\""

static void test_list(void **state)
{
	struct pk_descriptor *entries = NULL;
	size_t n = 0;
	struct pk_err err = {0};
	static const char text[] =
		"{\"manifests\":[1,{},{\"size\":-1}," ENTRY(MANIFEST, "") "," ENTRY(
			MANIFEST, ",\"artifactType\":\"application/spdx+json\"") "," ENTRY(MANIFEST,
			",\"artifactType\":\"application/vnd.oci.empty.v1+json\"") "," ENTRY(INDEX,
			TYPE) "," ENTRY(MANIFEST, ",\"title\":1" TYPE) "]}";
	assert_int_equal(pk_signature_bundle_list(text, strlen(text), &entries, &n, &err), 0);
	assert_int_equal(n, 3);
	pk_signature_bundle_free(entries, n);
	struct pk_buf many;
	pk_buf_init(&many, 1 << 16);
	pk_buf_str(&many, "{\"manifests\":[");
	for (int i = 0; i < 40; i++) // attestations must not crowd out the signature behind them
		pk_buf_str(&many, ENTRY(MANIFEST, TYPE) ",");
	pk_buf_str(&many,
		"{\"mediaType\":\"" MANIFEST "\",\"size\":9,\"digest\":"
		"\"sha256:00006fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",");
	pk_buf_str(&many,
		"\"annotations\":{\"dev.sigstore.bundle.predicateType\":\"" SIGN "\"}" TYPE "}]}");
	assert_int_equal(pk_signature_bundle_list(many.data, many.len, &entries, &n, &err), 0);
	assert_int_equal(n, PK_SIGNATURE_MAX_FOUND);
	assert_int_equal(entries[0].size, 9);
	pk_signature_bundle_free(entries, n);
	pk_buf_finish(&many);
	static const char *const bad[] = {
		"", "[]", "{}", "{\"manifests\":{}}", "{\"manifests\":[],\"manifests\":[]}"};
	for (size_t i = 0; i < PK_ARRAY_LEN(bad); i++) {
		assert_int_equal(
			pk_signature_bundle_list(bad[i], strlen(bad[i]), &entries, &n, &err),
			-EINVAL);
		assert_null(entries);
	}
}

static enum pk_signature_reason layer_of(const struct signing *s, const char *text)
{
	struct pk_descriptor layer;
	struct pk_err err = {0};
	enum pk_signature_reason reason =
		pk_signature_bundle_layer(&s->digest, text, strlen(text), &layer, &err);
	assert_true(reason == PK_SIGNATURE_OK || (err.text[0] && !layer.media_type));
	pk_descriptor_finish(&layer);
	return reason;
}

static void test_layer(void **state)
{
	const struct signing *s = *state;
	char good[1024];
	snprintf(good, sizeof(good),
		"{\"subject\":{\"mediaType\":\"" MANIFEST "\",\"digest\":\"sha256:%s\",\"size\":1},"
		"\"layers\":[" ENTRY("application/vnd.dev.sigstore.bundle.v0.3+json", "") "]}",
		signing_hex(&s->digest));
	static const struct {
		const char *from, *to;
		enum pk_signature_reason reason;
	} rows[] = {
		{"\"subject\"", "\"was\"", PK_SIGNATURE_MALFORMED},
		{"\"layers\":[", "\"layers\":[" ENTRY("application/x", "") ",",
			PK_SIGNATURE_MALFORMED},
		{"\"layers\"", "\"was\"", PK_SIGNATURE_MALFORMED},
		{"sigstore.bundle.v0.3", "sigstore.bundle.v0.9", PK_SIGNATURE_UNSUPPORTED},
		{"\"size\":2", "\"size\":-2", PK_SIGNATURE_MALFORMED},
		{"{", "[", PK_SIGNATURE_MALFORMED},
	};
	assert_int_equal(layer_of(s, good), PK_SIGNATURE_OK);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *text = signing_replace(good, rows[i].from, rows[i].to);
		assert_int_equal(layer_of(s, text), rows[i].reason);
		free(text);
	}
	char *at = strstr(good, "\"digest\":\"sha256:") + strlen("\"digest\":\"sha256:");
	*at = *at == '0' ? '1' : '0';
	assert_int_equal(layer_of(s, good), PK_SIGNATURE_WRONG_DIGEST); // of something else
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, signing_setup, signing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_good),
		TEST(test_shapes),
		TEST(test_envelopes),
		TEST(test_statements),
		TEST(test_type_is_signed),
		TEST(test_hints),
		TEST(test_too_big),
		TEST(test_list),
		TEST(test_layer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
