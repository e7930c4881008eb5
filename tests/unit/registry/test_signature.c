// SPDX-License-Identifier: Apache-2.0
// Signing in a layout and verifying from it: thresholds, formats, names, and what may be in the
// way.
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/fs.h"
#include "fixture.h"
#include "registry/sign.h"
#include "registry/signature.h"
#include "signing.h"

struct world {
	struct signing *s;
	struct fixture *fx;
	struct pk_ref ref; // of the artifact in the layout
	struct pk_registry *registry;
	struct pk_manifest *manifest;
	struct pk_signature_verdict verdict; // of the last verification
	struct pk_err err;
};

// The artifact names itself "yolo", number 7, for orin and agx.
static void write_artifact(struct world *w, const char *annotations)
{
	char text[2048];
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
		"\"config\":{\"mediaType\":\"application/vnd.cncf.model.config.v1+json\","
		"\"digest\":\"sha256:"
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",\"size\":2},"
		"\"layers\":[],\"annotations\":{%s}}",
		annotations);
	fixture_manifest(w->fx, text, "v1");
	pk_manifest_destroy(w->manifest);
	assert_int_equal(pk_manifest_parse(text, strlen(text), &w->manifest, &w->err), 0);
}

#define IDENTITY                                                                                   \
	"\"dev.picket.model.name\":\"yolo\",\"dev.picket.model.seq\":\"7\","                       \
	"\"dev.picket.target\":\"orin,agx\""

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char text[200];
	if (!w || signing_setup((void **)&w->s) < 0 || fixture_setup((void **)&w->fx) < 0)
		return -1;
	*state = w;
	write_artifact(w, IDENTITY);
	snprintf(text, sizeof(text), "oci:%s:v1", w->fx->layout);
	return pk_ref_parse(text, &w->ref, &w->err) < 0 ||
	       pk_registry_open(&w->ref, NULL, &w->registry, &w->err) < 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	pk_registry_close(w->registry);
	pk_manifest_destroy(w->manifest);
	pk_ref_finish(&w->ref);
	signing_teardown((void **)&w->s);
	fixture_teardown((void **)&w->fx);
	free(w);
	return 0;
}

static struct pk_sign_result sign(struct world *w, int signer, unsigned format)
{
	struct pk_sign_result result;
	if (pk_sign_layout(&w->ref, w->s->signers[signer], format, &result, &w->err) < 0)
		fail_msg("%s", w->err.text);
	return result;
}

static int verify(struct world *w)
{
	w->err = (struct pk_err){0};
	int rc = pk_signature_verify(w->registry, w->manifest, &w->s->policy, &w->verdict, &w->err);
	assert_true(rc == 0 || w->err.text[0]);
	return rc;
}

static void assert_refused(struct world *w, enum pk_signature_reason reason)
{
	int rc = verify(w);
	if (rc != -EKEYREJECTED || w->verdict.reason != reason)
		fail_msg("%d %s (%s), expected %s", rc, pk_signature_reason_name(w->verdict.reason),
			w->err.text, pk_signature_reason_name(reason));
}

static void test_each_format(void **state)
{
	struct world *w = *state;
	static const unsigned formats[] = {PK_SIGNATURE_COSIGN, PK_SIGNATURE_BUNDLE};
	static const char *const names[] = {"cosign", "bundle"};
	assert_refused(w, PK_SIGNATURE_NONE_FOUND);
	assert_false(pk_signature_reason_is_final(w->verdict.reason)); // it may come later
	for (int i = 0; i < 2; i++) {
		assert_false(sign(w, KEY_A, formats[i]).already);
		w->s->policy.formats = formats[i];
		assert_int_equal(verify(w), 0);
		assert_string_equal(w->verdict.format, names[i]);
		assert_string_equal(w->verdict.name, "yolo");
		assert_int_equal(w->verdict.seq, 7);
		assert_int_equal(w->verdict.n_keys, 1);
		assert_string_equal(w->verdict.key_ids[0], pk_key_id(w->s->keys[KEY_A].key));
		w->s->policy.formats = formats[1 - i];
		if (i == 0)
			assert_refused(w, PK_SIGNATURE_NONE_FOUND);
		assert_true(sign(w, KEY_A, formats[i]).already);
	}
}

static void test_threshold(void **state)
{
	struct world *w = *state;
	w->s->policy.threshold = 2;
	sign(w, KEY_A, PK_SIGNATURE_COSIGN);
	sign(w, KEY_A, PK_SIGNATURE_BUNDLE); // one key in two formats is one key
	assert_refused(w, PK_SIGNATURE_THRESHOLD);
	assert_non_null(strstr(w->err.text, "1 of 2"));
	sign(w, KEY_FOREIGN, PK_SIGNATURE_COSIGN);
	assert_refused(w, PK_SIGNATURE_THRESHOLD);
	sign(w, KEY_ED, PK_SIGNATURE_BUNDLE);
	assert_int_equal(verify(w), 0);
	assert_int_equal(w->verdict.n_keys, 2);
	w->s->policy.threshold = 3;
	assert_refused(w, PK_SIGNATURE_THRESHOLD);
	sign(w, KEY_B, PK_SIGNATURE_COSIGN);
	assert_int_equal(verify(w), 0);
	w->s->keys[KEY_B].rules.revoked = true;
	assert_refused(w, PK_SIGNATURE_THRESHOLD);
}

// base64 of (r, n - s) for base64 of (r, s).
static char *twin_of(const char *base64)
{
	struct pk_buf raw;
	struct pk_err err = {0};
	BIGNUM *order = NULL, *s = BN_new();
	pk_buf_init(&raw, 128);
	assert_int_equal(pk_base64_read(base64, strlen(base64), &raw, &err), 0);
	const uint8_t *at = (const uint8_t *)raw.data;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)raw.len);
	assert_true(BN_hex2bn(
		&order, "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"));
	assert_int_equal(BN_sub(s, order, ECDSA_SIG_get0_s(sig)), 1);
	assert_int_equal(ECDSA_SIG_set0(sig, BN_dup(ECDSA_SIG_get0_r(sig)), s), 1);
	uint8_t *der = NULL;
	int n = i2d_ECDSA_SIG(sig, &der);
	char *text = signing_base64(der, (size_t)n);
	OPENSSL_free(der);
	BN_free(order);
	ECDSA_SIG_free(sig);
	pk_buf_finish(&raw);
	return text;
}

// A .sig manifest of n layers as "TAG.sig", all over one payload.
static void write_cosign(
	struct world *w, const char *payload, const char *const *signatures, size_t n)
{
	struct pk_buf text;
	struct pk_digest digest, blob;
	char index[2048], tag[80];
	fixture_blob(w->fx, payload, strlen(payload), &blob);
	pk_buf_init(&text, 1 << 18);
	pk_buf_str(&text, "{\"schemaVersion\":2,\"layers\":[");
	for (size_t i = 0; i < n; i++)
		pk_buf_printf(&text,
			"%s{\"mediaType\":\"application/vnd.dev.cosign.simplesigning.v1+json\","
			"\"digest\":\"sha256:%s\",\"size\":%zu,\"annotations\":{"
			"\"dev.cosignproject.cosign/signature\":\"%s\"}}",
			i ? "," : "", signing_hex(&blob), strlen(payload), signatures[i]);
	pk_buf_str(&text, "]}");
	fixture_blob(w->fx, text.data, text.len, &digest);
	snprintf(tag, sizeof(tag), "sha256-%s.sig", signing_hex(&w->manifest->digest));
	snprintf(index, sizeof(index),
		"{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":"
		"\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"sha256:%s\","
		"\"size\":%zu,\"annotations\":{\"org.opencontainers.image.ref.name\":\"%s\"}}]}",
		signing_hex(&digest), text.len, tag);
	fixture_index(w->fx, index);
	pk_buf_finish(&text);
}

static char *payload_for(const struct world *w)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(&w->manifest->digest, text);
	return signing_cosign_payload(text);
}

// Two different signatures, one key: anybody can make the second of the first.
static void test_malleable_twin_is_no_second_key(void **state)
{
	struct world *w = *state;
	char *payload = payload_for(w);
	char *first = signing_sign(w->s->signers[KEY_A], payload, strlen(payload));
	char *again = signing_sign(w->s->signers[KEY_A], payload, strlen(payload));
	char *twin = twin_of(first);
	assert_string_not_equal(first, twin);
	const char *const all[] = {first, twin, again};
	w->s->policy.threshold = 2;
	write_cosign(w, payload, all, 3);
	assert_refused(w, PK_SIGNATURE_THRESHOLD);
	assert_int_equal(w->verdict.n_found, 3);
	w->s->policy.threshold = 1;
	write_cosign(w, payload, all + 1, 1); // the twin alone is a signature by that key
	assert_int_equal(verify(w), 0);
	free(twin);
	free(again);
	free(first);
	free(payload);
}

// Whatever else lies there, one good signature is enough; up to the bound.
static void test_junk_around(void **state)
{
	struct world *w = *state;
	char *payload = payload_for(w);
	char *good = signing_sign(w->s->signers[KEY_A], payload, strlen(payload));
	char *foreign = signing_sign(w->s->signers[KEY_FOREIGN], payload, strlen(payload));
	const char *all[PK_SIGNATURE_MAX_FOUND + 1];
	for (size_t i = 0; i < PK_ARRAY_LEN(all); i++)
		all[i] = i % 2 ? foreign : "not base64";
	all[PK_SIGNATURE_MAX_FOUND - 1] = good;
	write_cosign(w, payload, all, PK_ARRAY_LEN(all));
	assert_int_equal(verify(w), 0);
	all[PK_SIGNATURE_MAX_FOUND - 1] = foreign;
	all[PK_SIGNATURE_MAX_FOUND] = good; // one too late
	write_cosign(w, payload, all, PK_ARRAY_LEN(all));
	assert_refused(w, PK_SIGNATURE_BAD_SIGNATURE);
	assert_int_equal(w->verdict.n_found, PK_SIGNATURE_MAX_FOUND);
	free(foreign);
	free(good);
	free(payload);
}

static void test_wrong_bytes_behind_a_digest(void **state)
{
	struct world *w = *state;
	struct pk_digest blob;
	char *payload = payload_for(w);
	char *good = signing_sign(w->s->signers[KEY_A], payload, strlen(payload));
	const char *const all[] = {good};
	write_cosign(w, payload, all, 1);
	assert_int_equal(pk_digest_bytes(payload, strlen(payload), &blob), 0);
	fixture_flip(fixture_blob_path(w->fx, &blob), 5);
	assert_refused(w, PK_SIGNATURE_MALFORMED);
	fixture_write(fixture_blob_path(w->fx, &blob), payload, strlen(payload) - 1);
	assert_refused(w, PK_SIGNATURE_MALFORMED);
	assert_int_equal(remove(fixture_blob_path(w->fx, &blob)), 0);
	assert_refused(w, PK_SIGNATURE_MALFORMED);
	free(good);
	free(payload);
}

static void test_identity(void **state)
{
	struct world *w = *state;
	struct pk_signature_policy *policy = &w->s->policy;
	sign(w, KEY_A, PK_SIGNATURE_BUNDLE);
	policy->model_name = "yolo";
	policy->target = "agx";
	assert_int_equal(verify(w), 0);
	policy->model_name = "YOLO";
	assert_refused(w, PK_SIGNATURE_WRONG_NAME);
	assert_true(pk_signature_reason_is_final(w->verdict.reason));
	policy->model_name = "yolo";
	policy->target = "ag";
	assert_refused(w, PK_SIGNATURE_WRONG_TARGET);
	policy->target = "nano";
	assert_refused(w, PK_SIGNATURE_WRONG_TARGET);
	policy->required = false; // these are no matter of signatures alone
	assert_refused(w, PK_SIGNATURE_WRONG_TARGET);
	policy->target = NULL;
	assert_int_equal(verify(w), 0);
	assert_int_equal(w->verdict.reason, PK_SIGNATURE_OFF);
	assert_int_equal(w->verdict.n_keys, 0);
	policy->required = true;
	write_artifact(w, "");
	sign(w, KEY_A, PK_SIGNATURE_BUNDLE);
	assert_refused(w, PK_SIGNATURE_WRONG_NAME);
	assert_int_equal(w->verdict.seq, -1);
	policy->model_name = NULL;
	policy->target = "any"; // it names no target
	assert_int_equal(verify(w), 0);
}

// A signature of another artifact, moved to this one's place.
static void test_signature_of_another(void **state)
{
	struct world *w = *state;
	struct pk_digest other = {{1}};
	char text[PK_DIGEST_TEXT];
	pk_digest_format(&other, text);
	char *payload = signing_cosign_payload(text);
	char *good = signing_sign(w->s->signers[KEY_A], payload, strlen(payload));
	const char *const all[] = {good};
	write_cosign(w, payload, all, 1);
	assert_refused(w, PK_SIGNATURE_WRONG_DIGEST);
	free(good);
	free(payload);
}

static void test_policies(void **state)
{
	struct world *w = *state;
	w->s->policy.threshold = 4;
	assert_int_equal(verify(w), -EINVAL);
	w->s->policy.threshold = 9;
	assert_int_equal(verify(w), -EINVAL);
	w->s->policy.n_keys = 0;
	w->s->policy.threshold = 0;
	assert_int_equal(verify(w), -EINVAL);
	assert_non_null(strstr(w->err.text, "no key is pinned"));
}

static void test_sign_errors(void **state)
{
	struct world *w = *state;
	struct pk_sign_result result;
	struct pk_ref ref;
	char text[200];
	snprintf(text, sizeof(text), "oci:%s:nothing", w->fx->layout);
	assert_int_equal(pk_ref_parse(text, &ref, &w->err), 0);
	assert_int_equal(
		pk_sign_layout(&ref, w->s->signers[0], PK_SIGNATURE_BUNDLE, &result, &w->err),
		-ENOENT);
	pk_ref_finish(&ref);
	assert_int_equal(pk_ref_parse("reg.example/m:v1", &ref, &w->err), 0);
	assert_int_equal(
		pk_sign_layout(&ref, w->s->signers[0], PK_SIGNATURE_BUNDLE, &result, &w->err),
		-EINVAL);
	pk_ref_finish(&ref);
}

static void test_reason_names(void **state)
{
	for (int i = 0; i < PK_SIGNATURE_N_REASONS; i++) {
		assert_true(pk_signature_reason_name(i)[0] && pk_signature_reason_text(i)[0]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				pk_signature_reason_name(i), pk_signature_reason_name(j));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_format),
		TEST(test_threshold),
		TEST(test_malleable_twin_is_no_second_key),
		TEST(test_junk_around),
		TEST(test_wrong_bytes_behind_a_digest),
		TEST(test_identity),
		TEST(test_signature_of_another),
		TEST(test_policies),
		TEST(test_sign_errors),
		cmocka_unit_test(test_reason_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
