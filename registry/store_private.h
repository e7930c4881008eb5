// SPDX-License-Identifier: Apache-2.0
// What the files of the store share.
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/fsops.h"
#include "registry/store.h"

#define PK_STORE_PART_SUFFIX ".part"
#define PK_STORE_PART_NAME   (PK_DIGEST_TEXT + 8)
#define PK_STORE_PART_MAX_S  (7 * 24 * 3600) // then nobody is going to continue it

struct pk_store {
	char *root;
	int64_t quota_bytes;   // 0: none
	int64_t reserve_bytes; // as in the options
	bool for_engines;
	int root_fd;  // ROOT
	int lock_fd;  // ROOT/lock: shared, or exclusive while it is cleaned
	int blobs_fd; // ROOT/blobs/sha256
	int bad_fd;   // ROOT/blobs/bad
	int tmp_fd;   // ROOT/tmp
};

// The hex part of "sha256:<hex>": the blob's file name.
static inline const char *pk_store_hex(const char digest_text[PK_DIGEST_TEXT])
{
	return digest_text + sizeof(PK_DIGEST_PREFIX) - 1;
}
// The other way: -EINVAL when the name is not 64 lower-case hex digits.
int pk_store_digest_of(const char *name, struct pk_digest *out);

// Calls each for every entry of a folder but "." and ".."; entries may be removed meanwhile. each
// returns 0 or what ends the walk.
int pk_store_walk(int dir_fd, int (*each)(void *ctx, const char *name, const struct stat *st),
	void *ctx, struct pk_err *err) pk_must_check;

// Whether a blob fits of which `allocated` bytes have their room on the disk already, not counting
// its own partial file ("<hex>.part") twice.
int pk_store_room_for(const struct pk_store *store, const char *part, int64_t size,
	int64_t allocated, struct pk_err *err) pk_must_check;

// Why the file under this name is not the blob: 0 (it is), -ENOENT, -ENOMEM, or -EBADMSG. text:
// "sha256:…" of digest.
int pk_store_check_blob(const struct pk_store *store, const char *text,
	const struct pk_digest *digest, struct pk_err *err) pk_must_check;
// Renames a file of blobs/sha256 to blobs/bad.
int pk_store_move_aside(struct pk_store *store, const char *hex, struct pk_err *err) pk_must_check;

// Removes partial files that are a week old, or whose blob is there, and that nobody writes. *out
// is added to; may be NULL.
int pk_store_drop_old_parts(struct pk_store *store, bool dry_run, struct pk_store_part_usage *out,
	struct pk_err *err) pk_must_check;
