// SPDX-License-Identifier: Apache-2.0
// Pinned keys: which are taken, what is said of the others, one id per key, what they may sign.
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

#include "base/fs.h"
#include "fixture.h"
#include "registry/key.h"
#include "registry/signer.h"

#define PEM(body) "-----BEGIN PUBLIC KEY-----\n" body "-----END PUBLIC KEY-----\n"

#define P256                                                                                       \
	"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELGinEJWKowY+2iaVTYM9iz0QnUYv\n"                       \
	"H4ds0Rue/+eDxnMyMHc9DZXSoYrwBMhzznKZPaXf3zqjYhSoBXQXbitSUw==\n"
#define P256_ID    "d536197d623bf851793247fb23d2b14b326dbc0aca1e8dfd18b3bc5bcff1cb54"
#define ED25519    "MCowBQYDK2VwAyEAJLxgcKJOuoZAB1j04ejbXVN1GrIi3PXx6qSAhtZWq14=\n"
#define ED25519_ID "a9add54b5bdc946a4fce9dd483188c02cd8868ed83ba2290774ff97521f7a718"

static void check_accepted(const char *pem, const char *kind, const char *id)
{
	struct pk_err err = {0};
	pk_auto(pk_key) key = NULL;
	if (pk_key_parse(pem, strlen(pem), &key, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(pk_key_kind(key), kind);
	assert_string_equal(pk_key_id(key), id);
}

static void test_accepted(void **state)
{
	check_accepted(PEM(P256), "ecdsa-p256", P256_ID);
	check_accepted(PEM(ED25519), "ed25519", ED25519_ID);
	check_accepted("a comment\n" PEM(P256) "\n\n", "ecdsa-p256", P256_ID);
	check_accepted("-----BEGIN PUBLIC KEY-----\r\n" ED25519 "\r\n-----END PUBLIC KEY-----\r\n",
		"ed25519", ED25519_ID);
}

static void test_refused(void **state)
{
	static const struct {
		const char *pem;
		int rc;
		const char *why;
	} rows[] = {
		{"", -EINVAL, "no PEM block"},
		{"hello", -EINVAL, "no PEM block"},
		{"-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n", -EINVAL,
			"private key"},
		{"-----BEGIN EC PRIVATE KEY-----\nMC4=\n", -EINVAL, "private key"},
		{"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\neyJ=\n", -EINVAL, "private key"},
		{"-----BEGIN CERTIFICATE-----\nMC4=\n-----END CERTIFICATE-----\n", -EINVAL,
			"type PUBLIC KEY"},
		{PEM(P256) PEM(ED25519), -EINVAL, "more than one"},
		{"-----BEGIN PUBLIC KEY-----\n" P256, -EINVAL, "no end line"},
		{PEM("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELGinEJWKow"), -EINVAL, "base64"},
		{PEM("!!!!\n"), -EINVAL, "base64"},
		{PEM(""), -ENOTSUP, "neither"},
		// The same key with a compressed point and with explicit parameters: other ids.
		{PEM("MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADLGinEJWKowY+2iaVTYM9iz0QnUYv\n"
		     "H4ds0Rue/+eDxnM=\n"),
			-ENOTSUP, "uncompressed"},
		{PEM("MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA\n"
		     "AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////\n"
		     "///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd\n"
		     "NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5\n"
		     "RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA\n"
		     "//////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABCxopxCViqMGPtomlU2DPYs9\n"
		     "EJ1GLx+HbNEbnv/ng8ZzMjB3PQ2V0qGK8ATIc85ymT2l3986o2IUqAV0F24rUlM=\n"),
			-ENOTSUP, "named curve"},
		// P-384, secp256k1, X25519, RSA.
		{PEM("MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEQ+NlpUUBVWFiRIsiwfDpmy2FzqpXysV8\n"
		     "O9bDvrZiB+9BEnk+PUNgXCk/zZILxIv6h8+SyitKTKgAxYDulwzHd2R+YhX5EsVt\n"
		     "VcjOyRL26+rIJZ5GCZSSKtKzPSTghFz1\n"),
			-ENOTSUP, "P-256"},
		{PEM("MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEdXFOp+Lv/7X2npzLmUq0lwnw5Ku1Tf6v\n"
		     "l2K2tVJJZXZq3NjjnxkbDn37kpElkJkUUiTepdgH0RTTu3Ef2LuBsA==\n"),
			-ENOTSUP, "P-256"},
		{PEM("MCowBQYDK2VuAyEA68Aai+lTs5y696o31UVFmY0JnKdyqy1eF9j16yrIP2A=\n"), -ENOTSUP,
			"Ed25519"},
		{PEM("MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCwvbMCeefxzQiM/1+YXK2PcRyb\n"
		     "bwCIr+fKbQ+w2nErWOiXMoZYWcFE+iIarhLSbkSpnx48/E+NIXNLD/dFiTW9Cvzq\n"
		     "f6wr1FDlLDf5i+ep580x722vbNutPzfqxi1MoPhslrZWCRWDMevGYGNCTIOetBxm\n"
		     "962yAjnFqBHDGzH4LwIDAQAB\n"),
			-ENOTSUP, "P-256"},
		// A point that is not on the curve.
		{PEM("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELGinEJWKowY+2iaVTYM9iz0QnUYv\n"
		     "H4ds0Rue/+eDxnMyMHc9DZXSoYrwBMhzznKZPaXf3zqjYhSoBXQXbitSVA==\n"),
			-EINVAL, "no valid"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_err err = {0};
		struct pk_key *key = NULL;
		int rc = pk_key_parse(rows[i].pem, strlen(rows[i].pem), &key, &err);
		if (rc != rows[i].rc || key || !strstr(err.text, rows[i].why))
			fail_msg("row %zu: %d '%s'", i, rc, err.text);
	}
}

static void test_too_big_and_nul(void **state)
{
	struct pk_err err = {0};
	struct pk_key *key = NULL;
	char *text = calloc(1, PK_KEY_PEM_MAX + 1);
	memset(text, 'x', PK_KEY_PEM_MAX + 1);
	assert_int_equal(pk_key_parse(text, PK_KEY_PEM_MAX + 1, &key, &err), -EFBIG);
	static const char nul[] = PEM(P256) "\0" PEM(ED25519);
	assert_int_equal(pk_key_parse(nul, sizeof(nul) - 1, &key, &err), -EINVAL);
	assert_non_null(strstr(err.text, "NUL"));
	free(text);
}

static struct pk_signer *make(const char *kind)
{
	struct pk_err err = {0};
	struct pk_signer *signer = NULL;
	assert_int_equal(pk_signer_generate(kind, &signer, &err), 0);
	return signer;
}

static struct pk_buf sign(const struct pk_signer *signer, const char *message)
{
	struct pk_err err = {0};
	struct pk_buf signature;
	pk_buf_init(&signature, 128);
	assert_int_equal(pk_signer_sign(signer, message, strlen(message), &signature, &err), 0);
	return signature;
}

static void test_sign_and_verify(void **state)
{
	static const char *const kinds[] = {"ecdsa-p256", "ed25519"};
	for (size_t i = 0; i < PK_ARRAY_LEN(kinds); i++) {
		struct pk_signer *signer = make(kinds[i]), *other = make(kinds[i]);
		struct pk_buf good = sign(signer, "message");
		const struct pk_key *key = pk_signer_key(signer);
		assert_string_equal(pk_key_kind(key), kinds[i]);
		assert_true(pk_key_verify(key, "message", 7, good.data, good.len));
		assert_false(pk_key_verify(key, "messagf", 7, good.data, good.len));
		assert_false(pk_key_verify(key, "message", 6, good.data, good.len));
		assert_false(
			pk_key_verify(pk_signer_key(other), "message", 7, good.data, good.len));
		for (size_t n = 0; n < good.len; n++) // cut at every byte
			assert_false(pk_key_verify(key, "message", 7, good.data, n));
		for (size_t n = 0; n < good.len; n++) { // and each byte changed
			good.data[n] ^= 1;
			assert_false(pk_key_verify(key, "message", 7, good.data, good.len));
			good.data[n] ^= 1;
		}
		assert_int_equal(pk_buf_append(&good, "", 1), 0); // a byte too many
		assert_false(pk_key_verify(key, "message", 7, good.data, good.len));
		pk_buf_finish(&good);
		pk_signer_destroy(signer);
		pk_signer_destroy(other);
	}
}

// (r, n - s) verifies too: it is another signature by the same key.
static void test_malleable_twin_verifies(void **state)
{
	struct pk_signer *signer = make("ecdsa-p256");
	struct pk_buf good = sign(signer, "m");
	const uint8_t *at = (const uint8_t *)good.data;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)good.len);
	BIGNUM *order = NULL;
	assert_true(BN_hex2bn(
		&order, "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"));
	BIGNUM *s = BN_new();
	assert_int_equal(BN_sub(s, order, ECDSA_SIG_get0_s(sig)), 1);
	assert_int_equal(ECDSA_SIG_set0(sig, BN_dup(ECDSA_SIG_get0_r(sig)), s), 1);
	uint8_t *der = NULL;
	int n = i2d_ECDSA_SIG(sig, &der);
	assert_true(n > 0);
	assert_true(n != (int)good.len || memcmp(der, good.data, good.len) != 0);
	assert_true(pk_key_verify(pk_signer_key(signer), "m", 1, der, (size_t)n));
	OPENSSL_free(der);
	BN_free(order);
	ECDSA_SIG_free(sig);
	pk_buf_finish(&good);
	pk_signer_destroy(signer);
}

static void test_form(void **state)
{
	struct pk_err err = {0};
	static const uint8_t zero_r[] = {0x30, 6, 2, 1, 0, 2, 1, 1};
	static const uint8_t negative[] = {0x30, 6, 2, 1, 0x81, 2, 1, 1};
	static const uint8_t padded[] = {0x30, 7, 2, 2, 0, 1, 2, 1, 1};
	static const uint8_t long_form[] = {0x30, 0x81, 6, 2, 1, 1, 2, 1, 1};
	static const uint8_t good[] = {0x30, 6, 2, 1, 1, 2, 1, 1};
	uint8_t big[PK_KEY_SIGNATURE_MAX + 1] = {0x30};
	assert_int_equal(pk_key_check_form(good, sizeof(good), &err), 0);
	assert_int_equal(pk_key_check_form(zero_r, sizeof(zero_r), &err), -EINVAL);
	assert_int_equal(pk_key_check_form(negative, sizeof(negative), &err), -EINVAL);
	assert_int_equal(pk_key_check_form(padded, sizeof(padded), &err), -EINVAL);
	assert_int_equal(pk_key_check_form(long_form, sizeof(long_form), &err), -EINVAL);
	assert_int_equal(pk_key_check_form(big, sizeof(big), &err), -EINVAL);
	assert_int_equal(pk_key_check_form(big, 0, &err), -EINVAL);
}

static void test_signer_files(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_buf private, public;
	pk_buf_init(&private, PK_KEY_PEM_MAX);
	pk_buf_init(&public, PK_KEY_PEM_MAX);
	struct pk_signer *signer = make("ecdsa-p256"), *again = NULL;
	struct pk_key *key = NULL;
	const char *path = fixture_path(fx, "k.pem");
	assert_int_equal(pk_signer_private_pem(signer, "secret", &private, &err), 0);
	assert_int_equal(pk_signer_public_pem(signer, &public, &err), 0);
	fixture_write(path, private.data, private.len);
	assert_int_equal(pk_signer_load(path, NULL, &again, &err), -EACCES);
	assert_non_null(strstr(err.text, "needs a passphrase"));
	assert_int_equal(pk_signer_load(path, "other", &again, &err), -EACCES);
	assert_non_null(strstr(err.text, "wrong"));
	assert_int_equal(pk_signer_load(path, "secret", &again, &err), 0);
	assert_int_equal(pk_key_parse(public.data, public.len, &key, &err), 0);
	assert_string_equal(pk_key_id(key), pk_key_id(pk_signer_key(again)));
	pk_signer_destroy(again);
	fixture_write(path, public.data, public.len);
	assert_int_equal(pk_signer_load(path, NULL, &again, &err), -EINVAL);
	assert_null(again);
	assert_int_equal(pk_signer_generate("rsa", &again, &err), -EINVAL);
	pk_key_destroy(key);
	pk_signer_destroy(signer);
	pk_buf_finish(&private);
	pk_buf_finish(&public);
}

static void test_keyring(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_keyring ring = {0};
	const struct pk_key_rules early = {.seq_max = 10, .not_after_s = 500};
	const struct pk_key_rules later = {.seq_min = 5, .seq_max = 20, .not_before_s = 100};
	assert_int_equal(pk_fs_mkdirs(fixture_path(fx, "keys"), 0755, &err), 0);
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "keys"), NULL, &err), -ENOENT);
	fixture_write(fixture_path(fx, "keys/a.pem"), PEM(P256), strlen(PEM(P256)));
	fixture_write(fixture_path(fx, "keys/b.pem"), PEM(ED25519), strlen(PEM(ED25519)));
	fixture_write(fixture_path(fx, "keys/copy.pem"), PEM(P256), strlen(PEM(P256)));
	fixture_write(fixture_path(fx, "keys/README"), "x", 1);
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "keys"), &early, &err), 0);
	assert_int_equal(ring.n, 2); // one key in two files is one key
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "keys/a.pem"), &later, &err), 0);
	assert_int_equal(ring.n, 2);
	const struct pk_key_rules last = {.seq_max = 15, .not_after_s = 400};
	const char *ed_id = strcmp(pk_key_id(ring.keys[0].key), P256_ID) == 0
				    ? pk_key_id(ring.keys[1].key)
				    : pk_key_id(ring.keys[0].key);
	assert_int_equal(pk_keyring_limit(&ring, ed_id, &last, &err), 0);
	assert_int_equal(pk_keyring_limit(&ring, "00", &last, &err), -ENOENT);
	assert_int_equal(pk_keyring_revoke(&ring, P256_ID, &err), 0);
	assert_int_equal(pk_keyring_revoke(&ring, "00", &err), -ENOENT);
	for (size_t i = 0; i < ring.n; i++) {
		bool is_p256 = strcmp(pk_key_id(ring.keys[i].key), P256_ID) == 0;
		const struct pk_key_rules *rules = &ring.keys[i].rules;
		assert_int_equal(rules->revoked, is_p256);
		assert_int_equal(rules->seq_min, is_p256 ? 5 : 0);
		assert_int_equal(rules->seq_max, 10);
		assert_int_equal(rules->not_before_s, is_p256 ? 100 : 0);
		assert_int_equal(rules->not_after_s, is_p256 ? 500 : 400);
	}
	// Adding it anew does not bring it back.
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "keys"), NULL, &err), 0);
	fixture_write(fixture_path(fx, "keys/bad.pem"), "x", 1);
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "keys"), NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "bad.pem"));
	assert_int_equal(pk_keyring_add(&ring, fixture_path(fx, "none"), NULL, &err), -ENOENT);
	pk_keyring_finish(&ring);
	pk_keyring_finish(&ring);
}

#define WITH_FOLDER(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_big_and_nul),
		cmocka_unit_test(test_sign_and_verify),
		cmocka_unit_test(test_malleable_twin_verifies),
		cmocka_unit_test(test_form),
		WITH_FOLDER(test_signer_files),
		WITH_FOLDER(test_keyring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
