// SPDX-License-Identifier: Apache-2.0
// What store.c and store_write.c share.
#pragma once

#include <stdint.h>

#include "base/digest.h"
#include "registry/store.h"

struct pk_store {
	char *root;
	int64_t quota_bytes; // 0: none
	int blobs_fd;        // ROOT/blobs/sha256
	int bad_fd;          // ROOT/blobs/bad
	int tmp_fd;          // ROOT/tmp
};

// The hex part of "sha256:<hex>": the blob's file name.
static inline const char *pk_store_hex(const char digest_text[PK_DIGEST_TEXT])
{
	return digest_text + sizeof(PK_DIGEST_PREFIX) - 1;
}
