// SPDX-License-Identifier: Apache-2.0
// Content-addressed files on the node: ROOT/blobs/sha256/<hex>. One thread at a time per store.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"

struct pk_store;

#define PK_STORE_RESERVE_DEFAULT 0    // max(64 MiB, 5 % of the file system)
#define PK_STORE_RESERVE_NONE    (-1) // the disk may be filled to the last byte

struct pk_store_options {
	int64_t quota_bytes;   // of the sum of all files; 0: no limit
	int64_t reserve_bytes; // of the disk stay free; or one of the above
	bool for_engines;      // a pull asks for the room of what is built of it, too
};

// Creates the folders when missing (ROOT/blobs/sha256, ROOT/blobs/bad, ROOT/tmp; owner only), drops
// partial files that are of no use (a week old, or of a blob that is there), and holds ROOT/lock
// shared until it is closed: any number of processes may fetch (one per blob), one at a time
// cleans, alone (gc.h). options: NULL for the defaults. -EBUSY: the store is being cleaned.
int pk_store_open_with(const char *root, const struct pk_store_options *options,
	struct pk_store **out, struct pk_err *err) pk_must_check;
// The same with a quota and the default reserve.
int pk_store_open(const char *root, int64_t quota_bytes, struct pk_store **out, struct pk_err *err)
	pk_must_check;
void pk_store_close(struct pk_store *store);
PK_DEFINE_AUTO(pk_store, pk_store_close);

// malloc'ed path of a blob, there or not; NULL: no memory.
char *pk_store_path(const struct pk_store *store, const struct pk_digest *digest) pk_must_check;
// Regular file of exactly this size (size < 0: any) under that name; does not read it.
bool pk_store_has(const struct pk_store *store, const struct pk_digest *digest, int64_t size);
// Re-hashes a blob: 0, -ENOENT, or -EBADMSG (it is then moved aside to blobs/bad/).
int pk_store_verify(struct pk_store *store, const struct pk_digest *digest, struct pk_err *err);

// Bytes in the store: blobs, bad blobs, partial files (with the room that is taken for them), and
// what ROOT/engines and ROOT/timing hold.
int pk_store_usage(const struct pk_store *store, int64_t *bytes, struct pk_err *err) pk_must_check;

struct pk_store_part_usage {
	int64_t bytes;
	int n_files;
};
struct pk_store_usage_detail {
	struct pk_store_part_usage blobs, bad, parts, engines, timing;
	int64_t total_bytes;
	int64_t quota_bytes;   // 0: none
	int64_t reserve_bytes; // 0: none
	int64_t disk_free_bytes, disk_bytes;
};
int pk_store_usage_detail(const struct pk_store *store, struct pk_store_usage_detail *out,
	struct pk_err *err) pk_must_check;

// 0 when need more bytes stay within the quota and leave the reserve free, else -ENOSPC with the
// figures.
int pk_store_room(const struct pk_store *store, int64_t need_bytes, struct pk_err *err)
	pk_must_check;
// Room that a blob of this size still needs: 0 when it is there, less when a part of it is.
int64_t pk_store_need_bytes(
	const struct pk_store *store, const struct pk_digest *digest, int64_t size);

// What is going to be built of an artifact with so many bytes, about: two engines of its size,
// whose weights begin at 64 KiB, and their other sections. 0 unless the store was opened
// for_engines.
int64_t pk_store_engine_bytes(const struct pk_store *store, int64_t artifact_bytes);

// Writing: begin gives an fd (a partial file of an earlier attempt is continued: *have bytes are
// there and were hashed again), the caller appends, finish checks size and digest, then makes it
// visible (fsync + rename). A mismatch is -EBADMSG and nothing stays. begin fails before any byte
// is written: -ENOSPC (quota, reserve or disk, with the figures), -EBUSY (another process writes
// this blob). Once the disk has refused to keep what was written (fsync), the partial file is not
// kept either.
struct pk_store_write;
int pk_store_begin(struct pk_store *store, const struct pk_digest *digest, int64_t size,
	struct pk_store_write **out, struct pk_err *err) pk_must_check;
int pk_store_write_fd(const struct pk_store_write *write);
int64_t pk_store_write_have(const struct pk_store_write *write); // bytes there and hashed
// Hashes what was appended to the fd since the last call; starts afresh when the fd was truncated.
// -EBADMSG as soon as there is more than `size`: endless data stops here.
int pk_store_write_advance(struct pk_store_write *write, struct pk_err *err) pk_must_check;
int pk_store_finish(struct pk_store_write *write, struct pk_err *err); // frees write in any case
void pk_store_abort(struct pk_store_write *write);   // keeps the partial file for a later resume
void pk_store_discard(struct pk_store_write *write); // removes the partial file

// begin, write, finish in one step for bytes in memory that hash to digest.
int pk_store_put(struct pk_store *store, const struct pk_digest *digest, const void *bytes,
	size_t n, struct pk_err *err) pk_must_check;
