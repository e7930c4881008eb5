// SPDX-License-Identifier: Apache-2.0
// SHA-256 over bytes and files, and the "sha256:<hex>" text form of the OCI image spec.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_SHA256_BYTES  32
#define PK_DIGEST_TEXT   72 // "sha256:" + 64 hex + NUL
#define PK_DIGEST_PREFIX "sha256:"

struct pk_digest {
	uint8_t bytes[PK_SHA256_BYTES];
};

struct pk_hasher; // streaming state

struct pk_hasher *pk_hasher_create(void) pk_must_check; // NULL: no memory
void pk_hasher_destroy(struct pk_hasher *hasher);
PK_DEFINE_AUTO(pk_hasher, pk_hasher_destroy);
void pk_hasher_update(struct pk_hasher *hasher, const void *bytes, size_t n);
void pk_hasher_final(struct pk_hasher *hasher, struct pk_digest *out); // once; then destroy

int pk_digest_bytes(const void *bytes, size_t n, struct pk_digest *out);
int pk_digest_fd(int fd, struct pk_digest *out, struct pk_err *err); // from offset 0 to the end
int pk_digest_file(const char *path, struct pk_digest *out, struct pk_err *err);

void pk_digest_format(const struct pk_digest *d, char out[PK_DIGEST_TEXT]); // "sha256:…"
// Accepts exactly "sha256:" + 64 lower-case hex digits. 0 or -EINVAL.
int pk_digest_parse(const char *text, struct pk_digest *out) pk_must_check;
bool pk_digest_equal(const struct pk_digest *a, const struct pk_digest *b);
