// SPDX-License-Identifier: Apache-2.0
// A private key that signs artifacts, by OpenSSL's EVP interface.
#include "registry/signer.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

struct pk_signer {
	EVP_PKEY *pkey;
	struct pk_key *key;
};

void pk_signer_destroy(struct pk_signer *signer)
{
	if (!signer)
		return;
	EVP_PKEY_free(signer->pkey);
	pk_key_destroy(signer->key);
	free(signer);
}

const struct pk_key *pk_signer_key(const struct pk_signer *signer)
{
	return signer->key;
}

struct passphrase {
	const char *text; // NULL: none
	bool asked;
};

static int give_passphrase(char *out, int size, int writing, void *ctx)
{
	struct passphrase *passphrase = ctx;
	passphrase->asked = true;
	size_t n = passphrase->text ? strlen(passphrase->text) : 0;
	if (n == 0 || n > (size_t)size)
		return -1;
	memcpy(out, passphrase->text, n);
	return (int)n;
}

// Takes pkey over.
static int wrap(EVP_PKEY *pkey, struct pk_signer **out, struct pk_err *err)
{
	pk_auto(pk_signer) signer = calloc(1, sizeof(*signer));
	if (!signer) {
		EVP_PKEY_free(pkey);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	uint8_t *der = NULL;
	signer->pkey = pkey;
	int n = i2d_PUBKEY(pkey, &der);
	if (n < 0) {
		ERR_clear_error();
		return pk_fail(err, -EINVAL, "no public half in it");
	}
	int rc = pk_key_from_der(der, (size_t)n, &signer->key, err);
	OPENSSL_free(der);
	if (rc == 0)
		*out = pk_steal(signer);
	return rc;
}

static int parse(const struct pk_buf *pem, const char *passphrase, struct pk_signer **out,
	struct pk_err *err)
{
	struct passphrase ctx = {.text = passphrase};
	BIO *bio = BIO_new_mem_buf(pk_buf_cstr(pem), (int)pem->len);
	EVP_PKEY *pkey = bio ? PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &ctx) : NULL;
	BIO_free(bio);
	ERR_clear_error();
	if (pkey)
		return wrap(pkey, out, err);
	if (ctx.asked)
		return pk_fail(err, -EACCES, "%s",
			passphrase ? "the passphrase is wrong" : "it needs a passphrase");
	if (strstr(pk_buf_cstr(pem), "SIGSTORE PRIVATE KEY") ||
		strstr(pk_buf_cstr(pem), "COSIGN PRIVATE KEY"))
		return pk_fail(err, -ENOTSUP,
			"encrypted in cosign's own way: keep the key as PKCS #8 and give it to "
			"cosign with `cosign import-key-pair`");
	return pk_fail(err, -EINVAL, "no PEM private key");
}

int pk_signer_load(
	const char *path, const char *passphrase, struct pk_signer **out, struct pk_err *err)
{
	struct pk_buf pem pk_auto_buf;
	*out = NULL;
	pk_buf_init(&pem, PK_KEY_PEM_MAX);
	int rc = pk_fs_read(path, PK_KEY_PEM_MAX, &pem, err);
	if (rc < 0)
		return rc;
	rc = parse(&pem, passphrase, out, err);
	if (pem.data)
		OPENSSL_cleanse(pem.data, pem.cap);
	if (rc < 0)
		pk_err_prefix(err, "%s", path);
	return rc;
}

int pk_signer_generate(const char *kind, struct pk_signer **out, struct pk_err *err)
{
	EVP_PKEY *pkey = NULL;
	*out = NULL;
	if (strcmp(kind, "ecdsa-p256") == 0)
		pkey = EVP_EC_gen("prime256v1");
	else if (strcmp(kind, "ed25519") == 0)
		pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	else
		return pk_fail(err, -EINVAL,
			"'%s': expected one of the kinds ecdsa-p256 and ed25519", kind);
	ERR_clear_error();
	return pkey ? wrap(pkey, out, err) : pk_fail(err, -EIO, "OpenSSL could not make a key");
}

static const EVP_MD *hash_of(const struct pk_signer *signer)
{
	return EVP_PKEY_is_a(signer->pkey, "EC") ? EVP_sha256() : NULL;
}

int pk_signer_sign(const struct pk_signer *signer, const void *message, size_t n,
	struct pk_buf *signature, struct pk_err *err)
{
	uint8_t bytes[PK_KEY_SIGNATURE_MAX];
	size_t n_bytes = sizeof(bytes);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = ctx && EVP_DigestSignInit(ctx, NULL, hash_of(signer), NULL, signer->pkey) == 1 &&
		  EVP_DigestSign(ctx, bytes, &n_bytes, message, n) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	if (!ok)
		return pk_fail(err, -EIO, "OpenSSL could not sign");
	return pk_buf_append(signature, bytes, n_bytes) == 0
		       ? 0
		       : pk_fail(err, -ENOMEM, "out of memory");
}

static int take_bio(BIO *bio, bool written, struct pk_buf *out, struct pk_err *err)
{
	char *text = NULL;
	long n = written ? BIO_get_mem_data(bio, &text) : 0;
	int rc = n > 0 ? pk_buf_append(out, text, (size_t)n) : -EIO;
	if (text)
		OPENSSL_cleanse(text, (size_t)n);
	BIO_free(bio);
	ERR_clear_error();
	return rc < 0 ? pk_fail(err, rc, "OpenSSL could not write the key") : 0;
}

int pk_signer_private_pem(const struct pk_signer *signer, const char *passphrase,
	struct pk_buf *out, struct pk_err *err)
{
	struct passphrase ctx = {.text = passphrase};
	BIO *bio = BIO_new(BIO_s_mem());
	bool ok = bio && PEM_write_bio_PKCS8PrivateKey(bio, signer->pkey,
				 passphrase ? EVP_aes_256_cbc() : NULL, NULL, 0, give_passphrase,
				 &ctx) == 1;
	return take_bio(bio, ok, out, err);
}

int pk_signer_public_pem(const struct pk_signer *signer, struct pk_buf *out, struct pk_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	bool ok = bio && PEM_write_bio_PUBKEY(bio, signer->pkey) == 1;
	return take_bio(bio, ok, out, err);
}
