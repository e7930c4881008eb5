// SPDX-License-Identifier: Apache-2.0
// SHA-256 by OpenSSL's EVP interface.
#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PK_DIGEST_READ_BYTES 65536

struct pk_hasher {
	EVP_MD_CTX *ctx;
	bool failed; // OpenSSL refused; the digest then is all zero, which no content has
};

struct pk_hasher *pk_hasher_create(void)
{
	struct pk_hasher *hasher = calloc(1, sizeof(*hasher));
	if (!hasher)
		return NULL;
	hasher->ctx = EVP_MD_CTX_new();
	if (!hasher->ctx || EVP_DigestInit_ex(hasher->ctx, EVP_sha256(), NULL) != 1) {
		pk_hasher_destroy(hasher);
		return NULL;
	}
	return hasher;
}

void pk_hasher_destroy(struct pk_hasher *hasher)
{
	if (!hasher)
		return;
	EVP_MD_CTX_free(hasher->ctx);
	free(hasher);
}

void pk_hasher_update(struct pk_hasher *hasher, const void *bytes, size_t n)
{
	if (n && EVP_DigestUpdate(hasher->ctx, bytes, n) != 1)
		hasher->failed = true;
}

void pk_hasher_final(struct pk_hasher *hasher, struct pk_digest *out)
{
	*out = (struct pk_digest){0};
	if (!hasher->failed && EVP_DigestFinal_ex(hasher->ctx, out->bytes, NULL) == 1)
		return;
	hasher->failed = true;
	*out = (struct pk_digest){0};
}

int pk_digest_bytes(const void *bytes, size_t n, struct pk_digest *out)
{
	pk_auto(pk_hasher) hasher = pk_hasher_create();
	if (!hasher)
		return -ENOMEM;
	pk_hasher_update(hasher, bytes, n);
	pk_hasher_final(hasher, out);
	return hasher->failed ? -EIO : 0;
}

int pk_digest_fd(int fd, struct pk_digest *out, struct pk_err *err)
{
	pk_auto(pk_hasher) hasher = pk_hasher_create();
	pk_auto_free char *chunk = malloc(PK_DIGEST_READ_BYTES);
	if (!hasher || !chunk)
		return pk_fail(err, -ENOMEM, "digest: out of memory");
	for (off_t offset = 0;;) {
		ssize_t n = pread(fd, chunk, PK_DIGEST_READ_BYTES, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pk_fail_errno(err, "digest: read");
		if (n == 0)
			break;
		pk_hasher_update(hasher, chunk, (size_t)n);
		offset += n;
	}
	pk_hasher_final(hasher, out);
	return hasher->failed ? pk_fail(err, -EIO, "digest: OpenSSL refused SHA-256") : 0;
}

int pk_digest_file(const char *path, struct pk_digest *out, struct pk_err *err)
{
	pk_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return pk_fail_errno(err, "%s", path);
	int r = pk_digest_fd(fd, out, err);
	if (r < 0)
		pk_err_prefix(err, "%s", path);
	return r;
}

void pk_digest_format(const struct pk_digest *d, char out[PK_DIGEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	memcpy(out, PK_DIGEST_PREFIX, sizeof(PK_DIGEST_PREFIX) - 1);
	char *p = out + sizeof(PK_DIGEST_PREFIX) - 1;
	for (size_t i = 0; i < PK_SHA256_BYTES; i++) {
		*p++ = hex[d->bytes[i] >> 4];
		*p++ = hex[d->bytes[i] & 15];
	}
	*p = '\0';
}

static int pk_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int pk_digest_parse(const char *text, struct pk_digest *out)
{
	size_t n_prefix = sizeof(PK_DIGEST_PREFIX) - 1;
	if (strncmp(text, PK_DIGEST_PREFIX, n_prefix) != 0 ||
		strnlen(text, PK_DIGEST_TEXT) != n_prefix + 2 * PK_SHA256_BYTES)
		return -EINVAL;
	struct pk_digest d;
	for (size_t i = 0; i < PK_SHA256_BYTES; i++) {
		int hi = pk_hex_value(text[n_prefix + 2 * i]);
		int lo = pk_hex_value(text[n_prefix + 2 * i + 1]);
		if (hi < 0 || lo < 0)
			return -EINVAL;
		d.bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	*out = d;
	return 0;
}

bool pk_digest_equal(const struct pk_digest *a, const struct pk_digest *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
