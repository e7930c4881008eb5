// SPDX-License-Identifier: Apache-2.0
// Signatures in cosign's older form: what counts, and every way in which one must not.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/signature_cosign.h"
#include "signing.h"

struct found {
	enum pk_signature_reason reason;
	const struct pk_trusted_key *key;
	struct pk_err err;
};

static struct found check_raw(
	const struct signing *s, const char *signature, const void *payload, size_t n)
{
	struct found found = {0};
	struct pk_buf buf;
	pk_buf_init(&buf, 1 << 20);
	assert_int_equal(pk_buf_append(&buf, payload, n), 0);
	found.reason =
		pk_signature_cosign_check(&s->claim, signature, &buf, &found.key, &found.err);
	pk_buf_finish(&buf);
	if (found.reason != PK_SIGNATURE_OK)
		assert_true(found.err.text[0]);
	return found;
}

static struct found check_signed(const struct signing *s, int signer, const char *payload)
{
	char *signature = signing_sign(s->signers[signer], payload, strlen(payload));
	struct found found = check_raw(s, signature, payload, strlen(payload));
	free(signature);
	return found;
}

static char *good_payload(const struct signing *s)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(&s->digest, text);
	return signing_cosign_payload(text);
}

static void assert_reason(struct found found, enum pk_signature_reason reason)
{
	if (found.reason != reason)
		fail_msg("%s (%s), expected %s", pk_signature_reason_name(found.reason),
			found.err.text, pk_signature_reason_name(reason));
}

static void test_good(void **state)
{
	const struct signing *s = *state;
	char *payload = good_payload(s);
	for (int i = 0; i < N_PINNED; i++) {
		struct found found = check_signed(s, i, payload);
		assert_reason(found, PK_SIGNATURE_OK);
		assert_ptr_equal(found.key, &s->keys[i]);
	}
	char *upper = signing_replace(payload, "docker-manifest", "Docker-manifest");
	assert_reason(check_signed(s, KEY_A, upper), PK_SIGNATURE_OK);
	free(upper);
	free(payload);
}

// What a payload that our own key signed must still not say.
static void test_payloads(void **state)
{
	const struct signing *s = *state;
	static const struct {
		const char *from, *to;
		enum pk_signature_reason reason;
	} rows[] = {
		{"sha256:", "sha512:", PK_SIGNATURE_WRONG_DIGEST},
		{"sha256:", "SHA256:", PK_SIGNATURE_WRONG_DIGEST},
		{"sha256:", " sha256:", PK_SIGNATURE_WRONG_DIGEST},
		{"cosign container image signature", "something else",
			PK_SIGNATURE_NOT_A_SIGNATURE},
		{"\"type\":\"cosign container image signature\"", "\"type\":1",
			PK_SIGNATURE_MALFORMED},
		{"\"type\":\"cosign container image signature\"", "\"kind\":\"x\"",
			PK_SIGNATURE_MALFORMED},
		{"\"critical\":{", "\"critical\":{\"type\":\"x\",",
			PK_SIGNATURE_MALFORMED}, // twice
		{"\"image\":{", "\"image\":{\"docker-manifest-digest\":\"sha256:0\",",
			PK_SIGNATURE_MALFORMED},
		{"\"image\":{", "\"image\":{\"Docker-manifest-digest\":\"sha256:0\",",
			PK_SIGNATURE_MALFORMED},
		{"docker-manifest-digest", "DOCKER-MANIFEST-DIGEST", PK_SIGNATURE_MALFORMED},
		{"\"image\"", "\"picture\"", PK_SIGNATURE_MALFORMED},
		{"\"critical\"", "\"Critical\"", PK_SIGNATURE_MALFORMED},
		{"{\"critical\"", "[{\"critical\"", PK_SIGNATURE_MALFORMED},
		{"null}", "null} x", PK_SIGNATURE_MALFORMED},
		{"null}", "null", PK_SIGNATURE_MALFORMED},
	};
	char *good = good_payload(s);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char *payload = signing_replace(good, rows[i].from, rows[i].to);
		assert_reason(check_signed(s, KEY_A, payload), rows[i].reason);
		free(payload);
	}
	free(good);
}

// The payload is not looked at before a pinned key has verified it.
static void test_verify_then_parse(void **state)
{
	const struct signing *s = *state;
	struct found found = check_signed(s, KEY_FOREIGN, "not JSON at all");
	assert_reason(found, PK_SIGNATURE_BAD_SIGNATURE);
	assert_null(found.key);
	assert_reason(check_signed(s, KEY_A, "not JSON at all"), PK_SIGNATURE_MALFORMED);
}

static void test_signatures(void **state)
{
	const struct signing *s = *state;
	char *payload = good_payload(s);
	size_t n = strlen(payload);
	char *good = signing_sign(s->signers[KEY_A], payload, n);
	size_t n_good = strlen(good);
	assert_reason(check_signed(s, KEY_FOREIGN, payload), PK_SIGNATURE_BAD_SIGNATURE);
	assert_reason(check_raw(s, NULL, payload, n), PK_SIGNATURE_MALFORMED);
	assert_reason(check_raw(s, "", payload, n), PK_SIGNATURE_MALFORMED);
	assert_reason(check_raw(s, "AAAA", payload, n), PK_SIGNATURE_MALFORMED);
	payload[10] ^= 1;
	assert_reason(check_raw(s, good, payload, n), PK_SIGNATURE_BAD_SIGNATURE);
	payload[10] ^= 1;
	char *cut = strdup(good); // DER with its last bytes gone
	cut[n_good - 4] = '\0';
	assert_reason(check_raw(s, cut, payload, n), PK_SIGNATURE_MALFORMED);
	free(cut);
	char *spaced = signing_replace(good, good + 4, "\n");
	assert_reason(check_raw(s, spaced, payload, n), PK_SIGNATURE_MALFORMED);
	free(spaced);
	free(good);
	free(payload);
}

// The same bytes with unused bits set in the last character: another text for one signature.
static void test_base64_not_canonical(void **state)
{
	const struct signing *s = *state;
	char *payload = good_payload(s);
	char *signature = signing_sign(s->signers[KEY_ED], payload, strlen(payload));
	size_t n = strlen(signature); // 64 bytes: 88 characters, two of them '='
	assert_reason(check_raw(s, signature, payload, strlen(payload)), PK_SIGNATURE_OK);
	signature[n - 3]++;
	struct found found = check_raw(s, signature, payload, strlen(payload));
	assert_reason(found, PK_SIGNATURE_MALFORMED);
	assert_non_null(strstr(found.err.text, "not canonical"));
	signature[n - 3]--;
	signature[n - 1] = '\0'; // padding left out
	assert_reason(check_raw(s, signature, payload, strlen(payload)), PK_SIGNATURE_MALFORMED);
	free(signature);
	free(payload);
}

static void test_key_rules(void **state)
{
	struct signing *s = *state;
	static const struct {
		struct pk_key_rules rules;
		int64_t now_s, seq;
		enum pk_signature_reason reason;
	} rows[] = {
		{{.revoked = true}, 0, 7, PK_SIGNATURE_REVOKED_KEY},
		{{.seq_min = 7, .seq_max = 7}, 0, 7, PK_SIGNATURE_OK},
		{{.seq_min = 8}, 0, 7, PK_SIGNATURE_KEY_RANGE},
		{{.seq_max = 6}, 0, 7, PK_SIGNATURE_KEY_RANGE},
		{{.seq_max = 6}, 0, -1, PK_SIGNATURE_KEY_RANGE}, // states none
		{{.seq_min = 1}, 0, -1, PK_SIGNATURE_KEY_RANGE}, {{0}, 0, -1, PK_SIGNATURE_OK},
		{{.not_before_s = 100}, 99, 7, PK_SIGNATURE_KEY_NOT_YET},
		{{.not_before_s = 100}, 100, 7, PK_SIGNATURE_OK},
		{{.not_after_s = 100}, 100, 7, PK_SIGNATURE_OK},
		{{.not_after_s = 100}, 101, 7, PK_SIGNATURE_KEY_EXPIRED},
		{{.not_before_s = 100, .not_after_s = 200}, 0, 7, PK_SIGNATURE_OK}, // no clock
	};
	char *payload = good_payload(s);
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		s->keys[KEY_A].rules = rows[i].rules;
		s->policy.now_s = rows[i].now_s;
		s->claim.seq = rows[i].seq;
		assert_reason(check_signed(s, KEY_A, payload), rows[i].reason);
		if (rows[i].reason != PK_SIGNATURE_OK)
			assert_reason(check_signed(s, KEY_B, payload), PK_SIGNATURE_OK);
	}
	free(payload);
}

static void test_big_payload(void **state)
{
	const struct signing *s = *state;
	char *big = calloc(1, PK_SIGNATURE_MAX_BYTES + 2);
	memset(big, ' ', PK_SIGNATURE_MAX_BYTES + 1);
	assert_reason(check_signed(s, KEY_A, big), PK_SIGNATURE_TOO_BIG);
	free(big);
}

#define LAYER(type, rest)                                                                          \
	"{\"mediaType\":\"" type "\",\"digest\":"                                                  \
	"\"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\","             \
	"\"size\":2" rest "}"
#define SIMPLE "application/vnd.dev.cosign.simplesigning.v1+json"

static void test_list(void **state)
{
	struct pk_signature_cosign_layer *layers = NULL;
	size_t n = 0;
	struct pk_err err = {0};
	static const char text[] =
		"{\"layers\":[" LAYER("application/x", "") "," LAYER(SIMPLE, "") "," LAYER(SIMPLE,
			",\"annotations\":{\"dev.cosignproject.cosign/signature\":\"AA==\"}") "]}";
	assert_int_equal(pk_signature_cosign_list(text, strlen(text), &layers, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_null(layers[0].signature);
	assert_string_equal(layers[1].signature, "AA==");
	pk_signature_cosign_free(layers, n);

	struct pk_buf many;
	pk_buf_init(&many, 1 << 16);
	pk_buf_str(&many, "{\"layers\":[");
	for (int i = 0; i < 40; i++)
		pk_buf_printf(&many, "%s" LAYER(SIMPLE, ""), i ? "," : "");
	pk_buf_str(&many, "]}");
	assert_int_equal(pk_signature_cosign_list(many.data, many.len, &layers, &n, &err), 0);
	assert_int_equal(n, PK_SIGNATURE_MAX_FOUND);
	pk_signature_cosign_free(layers, n);
	pk_buf_finish(&many);

	static const char *const bad[] = {"", "[]", "{}", "{\"layers\":{}}", "{\"layers\":[1]}",
		"{\"layers\":[],\"layers\":[]}",
		"{\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"layers\":[]}",
		"{\"layers\":[" LAYER(SIMPLE, ",\"annotations\":1") "]}"};
	for (size_t i = 0; i < PK_ARRAY_LEN(bad); i++) {
		assert_int_equal(
			pk_signature_cosign_list(bad[i], strlen(bad[i]), &layers, &n, &err),
			-EINVAL);
		assert_null(layers);
		assert_int_equal(n, 0);
	}
}

static void test_tag(void **state)
{
	struct pk_digest digest = {{0x12, 0xab}};
	char tag[PK_SIGNATURE_COSIGN_TAG];
	pk_signature_cosign_tag(&digest, tag);
	assert_string_equal(
		tag, "sha256-12ab000000000000000000000000000000000000000000000000000000000000.sig");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, signing_setup, signing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_good),
		TEST(test_payloads),
		TEST(test_verify_then_parse),
		TEST(test_signatures),
		TEST(test_base64_not_canonical),
		TEST(test_key_rules),
		TEST(test_big_payload),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_tag),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
