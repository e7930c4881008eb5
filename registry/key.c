// SPDX-License-Identifier: Apache-2.0
// Public keys by OpenSSL's EVP interface; nothing that is not pinned here is ever trusted.
#include "registry/key.h"

#include <errno.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/fs.h"

#define ED25519_SIGNATURE_BYTES 64
#define P256_NUMBER_BITS        256

struct kind {
	const char *name;
	// The DER up to the key's own bytes, and the length of the whole. Comparing the encoding
	// leaves no room for explicit curve parameters or compressed points, which would give one
	// key several ids.
	const uint8_t *prefix;
	size_t n_prefix, n_der;
	bool is_ecdsa;
};

// SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING 00 04 … } (RFC 5480).
static const uint8_t p256_prefix[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce,
	0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42,
	0x00, 0x04};
// SEQUENCE { SEQUENCE { id-Ed25519 }, BIT STRING 00 … } (RFC 8410).
static const uint8_t ed25519_prefix[] = {
	0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

static const struct kind kinds[] = {
	{"ecdsa-p256", p256_prefix, sizeof(p256_prefix), 91, true},
	{"ed25519", ed25519_prefix, sizeof(ed25519_prefix), 44, false},
};

struct pk_key {
	const struct kind *kind;
	EVP_PKEY *pkey;
	char id[PK_KEY_ID_TEXT];
};

void pk_key_destroy(struct pk_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

const char *pk_key_id(const struct pk_key *key)
{
	return key->id;
}

const char *pk_key_kind(const struct pk_key *key)
{
	return key->kind->name;
}

// The characters between "-----BEGIN PUBLIC KEY-----" and its end line. -EINVAL says what the file
// holds instead.
static int find_block(const char *text, const char **body, size_t *n_body, struct pk_err *err)
{
	static const char begin[] = "-----BEGIN PUBLIC KEY-----";
	static const char end[] = "-----END PUBLIC KEY-----";
	const char *block = strstr(text, "-----BEGIN ");
	if (!block)
		return pk_fail(err, -EINVAL, "no PEM block in it");
	if (strncmp(block, begin, strlen(begin)) != 0) {
		const char *line_end = strchr(block, '\n');
		const char *private = strstr(block, "PRIVATE KEY-----");
		bool is_private = private && (!line_end || private < line_end);
		return pk_fail(err, -EINVAL, "%s",
			is_private ? "this is a private key: pin its public half, and keep this "
				     "file away from nodes"
				   : "not a PEM block of type PUBLIC KEY");
	}
	*body = block + strlen(begin);
	const char *tail = strstr(*body, end);
	if (!tail)
		return pk_fail(err, -EINVAL, "the PEM block has no end line");
	if (strstr(tail + strlen(end), "-----BEGIN "))
		return pk_fail(err, -EINVAL, "more than one PEM block: one file, one key");
	*n_body = (size_t)(tail - *body);
	return 0;
}

static int decode_block(const char *body, size_t n, struct pk_buf *der, struct pk_err *err)
{
	struct pk_buf text pk_auto_buf;
	pk_buf_init(&text, PK_KEY_PEM_MAX);
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r\n", body[i]))
			pk_buf_append(&text, &body[i], 1);
	if (pk_buf_error(&text) < 0)
		return pk_fail(err, pk_buf_error(&text), "out of memory");
	return pk_base64_read(pk_buf_cstr(&text), text.len, der, err);
}

static const struct kind *kind_of(const void *der, size_t n)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(kinds); i++)
		if (n == kinds[i].n_der && memcmp(der, kinds[i].prefix, kinds[i].n_prefix) == 0)
			return &kinds[i];
	return NULL;
}

static int set_id(struct pk_key *key, const void *der, size_t n, struct pk_err *err)
{
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	if (pk_digest_bytes(der, n, &digest) < 0)
		return pk_fail(err, -ENOMEM, "cannot hash");
	pk_digest_format(&digest, text);
	memcpy(key->id, text + strlen(PK_DIGEST_PREFIX), PK_KEY_ID_TEXT);
	return 0;
}

int pk_key_from_der(const void *der, size_t n, struct pk_key **out, struct pk_err *err)
{
	*out = NULL;
	const struct kind *kind = kind_of(der, n);
	if (!kind)
		return pk_fail(err, -ENOTSUP,
			"neither an ECDSA P-256 key (named curve, uncompressed point) nor an "
			"Ed25519 key");
	pk_auto(pk_key) key = calloc(1, sizeof(*key));
	if (!key)
		return pk_fail(err, -ENOMEM, "out of memory");
	const uint8_t *at = der;
	key->kind = kind;
	key->pkey = d2i_PUBKEY(NULL, &at, (long)n);
	ERR_clear_error();
	if (!key->pkey) // a point that is not on the curve
		return pk_fail(err, -EINVAL, "no valid %s key", kind->name);
	int rc = set_id(key, der, n, err);
	if (rc == 0)
		*out = pk_steal(key);
	return rc;
}

int pk_key_parse(const void *pem, size_t n, struct pk_key **out, struct pk_err *err)
{
	*out = NULL;
	if (n > PK_KEY_PEM_MAX)
		return pk_fail(err, -EFBIG, "%zu bytes, at most %d are allowed", n, PK_KEY_PEM_MAX);
	struct pk_buf text pk_auto_buf;
	struct pk_buf der pk_auto_buf;
	pk_buf_init(&text, PK_KEY_PEM_MAX);
	pk_buf_init(&der, PK_KEY_PEM_MAX);
	const char *body = NULL;
	size_t n_body = 0;
	if (pk_buf_append(&text, pem, n) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (strlen(pk_buf_cstr(&text)) != n)
		return pk_fail(err, -EINVAL, "a NUL byte: not a PEM file");
	int rc = find_block(pk_buf_cstr(&text), &body, &n_body, err);
	if (rc == 0)
		rc = decode_block(body, n_body, &der, err);
	return rc < 0 ? rc : pk_key_from_der(der.data, der.len, out, err);
}

int pk_key_load(const char *path, struct pk_key **out, struct pk_err *err)
{
	struct pk_buf pem pk_auto_buf;
	*out = NULL;
	pk_buf_init(&pem, PK_KEY_PEM_MAX);
	int rc = pk_fs_read(path, PK_KEY_PEM_MAX, &pem, err);
	if (rc < 0)
		return rc;
	rc = pk_key_parse(pk_buf_cstr(&pem), pem.len, out, err);
	if (rc < 0)
		pk_err_prefix(err, "%s", path);
	return rc;
}

// A number of a signature: 1 .. 2^256 - 1; OpenSSL compares it with the curve's order.
static bool number_ok(const BIGNUM *number)
{
	return !BN_is_negative(number) && !BN_is_zero(number) &&
	       BN_num_bits(number) <= P256_NUMBER_BITS;
}

// DER has exactly one form: what is written again must be what was read.
static bool ecdsa_form_ok(const uint8_t *bytes, size_t n)
{
	const uint8_t *at = bytes;
	ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &at, (long)n);
	bool ok = false;
	if (signature && at == bytes + n) {
		uint8_t *again = NULL;
		int n_again = i2d_ECDSA_SIG(signature, &again);
		ok = n_again == (int)n && memcmp(again, bytes, n) == 0 &&
		     number_ok(ECDSA_SIG_get0_r(signature)) &&
		     number_ok(ECDSA_SIG_get0_s(signature));
		OPENSSL_free(again);
	}
	ECDSA_SIG_free(signature);
	ERR_clear_error();
	return ok;
}

int pk_key_check_form(const void *signature, size_t n, struct pk_err *err)
{
	if (n == 0 || n > PK_KEY_SIGNATURE_MAX)
		return pk_fail(err, -EINVAL, "a signature of %zu bytes", n);
	if (n == ED25519_SIGNATURE_BYTES || ecdsa_form_ok(signature, n))
		return 0;
	return pk_fail(err, -EINVAL,
		"%zu bytes that are neither the DER of an ECDSA P-256 signature nor Ed25519's", n);
}

bool pk_key_verify(const struct pk_key *key, const void *message, size_t n_message,
	const void *signature, size_t n_signature)
{
	if (key->kind->is_ecdsa ? !ecdsa_form_ok(signature, n_signature)
				: n_signature != ED25519_SIGNATURE_BYTES)
		return false;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const EVP_MD *hash = key->kind->is_ecdsa ? EVP_sha256() : NULL;
	bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, hash, NULL, key->pkey) == 1 &&
		  EVP_DigestVerify(ctx, signature, n_signature, message, n_message) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}
