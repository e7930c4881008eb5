// SPDX-License-Identifier: Apache-2.0
// How a blob gets into the store: partial file, hashed while it grows, then fsync and rename.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fault.h"
#include "base/fs.h"
#include "registry/store_private.h"

#define CHUNK_BYTES      (256 * 1024)
#define FLUSH_BYTES      (INT64_C(32) << 20) // bounds what a slow card must take at once
#define MAX_LOCK_ATTEMPT 16

struct pk_store_write {
	struct pk_store *store;
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	char part[PK_STORE_PART_NAME]; // "<hex>.part" below tmp/
	int64_t size;
	int fd;
	struct pk_hasher *hasher;
	int64_t n_hashed;
	int64_t n_flushed;
	bool lost; // the disk refused to keep what was written
	uint8_t *chunk;
};

static void write_free(struct pk_store_write *write)
{
	if (write->fd >= 0)
		pk_fsops()->close(write->fd); // drops the lock too
	pk_hasher_destroy(write->hasher);
	free(write->chunk);
	free(write);
}

// After a failed fsync the pages may be gone although a retry would say that all is well: such a
// partial file is not to be trusted, so it goes.
void pk_store_abort(struct pk_store_write *write)
{
	if (!write)
		return;
	if (write->lost)
		pk_store_discard(write);
	else
		write_free(write);
}

void pk_store_discard(struct pk_store_write *write)
{
	if (!write)
		return;
	pk_fsops()->unlink(write->store->tmp_fd, write->part, 0);
	write_free(write);
}

int pk_store_write_fd(const struct pk_store_write *write)
{
	return write->fd;
}

int64_t pk_store_write_have(const struct pk_store_write *write)
{
	return write->n_hashed;
}

// The lock is on the file, and the file may have been renamed into place by its former owner
// between our open and our lock: then the name is somebody else's, or nobody's, and we start again.
static bool still_named(const struct pk_store_write *write)
{
	struct stat ours;
	struct stat named;
	return fstat(write->fd, &ours) == 0 &&
	       fstatat(write->store->tmp_fd, write->part, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static int open_part(struct pk_store_write *write, struct pk_err *err)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	for (int i = 0; i < MAX_LOCK_ATTEMPT; i++) {
		struct stat st;
		write->fd = pk_fsops()->open(write->store->tmp_fd, write->part, flags, 0600);
		if (write->fd < 0)
			return pk_fail_errno(err, "store: tmp/%s", write->part);
		if (fstat(write->fd, &st) < 0 || !S_ISREG(st.st_mode))
			return pk_fail(
				err, -EINVAL, "store: tmp/%s is not a regular file", write->part);
		if (flock(write->fd, LOCK_EX | LOCK_NB) < 0)
			return pk_fail(
				err, -EBUSY, "store: another process is fetching %s", write->text);
		if (still_named(write))
			return 0;
		pk_fsops()->close(write->fd);
		write->fd = -1;
	}
	return pk_fail(err, -EBUSY, "store: tmp/%s keeps vanishing", write->part);
}

static int restart_hash(struct pk_store_write *write, struct pk_err *err)
{
	pk_hasher_destroy(write->hasher);
	write->hasher = pk_hasher_create();
	write->n_hashed = 0;
	write->n_flushed = 0;
	return write->hasher ? 0 : pk_fail(err, -ENOMEM, "store: out of memory");
}

static int hash_up_to(struct pk_store_write *write, int64_t end, struct pk_err *err)
{
	while (write->n_hashed < end) {
		size_t want = (size_t)PK_MIN(end - write->n_hashed, (int64_t)CHUNK_BYTES);
		ssize_t n = pread(write->fd, write->chunk, want, write->n_hashed);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pk_fail_errno(err, "store: reading back tmp/%s", write->part);
		if (n == 0)
			return pk_fail(
				err, -EIO, "store: tmp/%s shrinks while it is read", write->part);
		pk_hasher_update(write->hasher, write->chunk, (size_t)n);
		write->n_hashed += n;
	}
	return 0;
}

// What is on the disk and hashed needs no memory: the frames need it more.
static int flush(struct pk_store_write *write, struct pk_err *err)
{
	write->n_flushed = write->n_hashed;
	if (pk_fsops()->fdatasync(write->fd) < 0) {
		write->lost = true;
		return pk_fail_errno(err, "store: fdatasync of tmp/%s", write->part);
	}
	(void)posix_fadvise(write->fd, 0, write->n_flushed, POSIX_FADV_DONTNEED);
	return 0;
}

int pk_store_write_advance(struct pk_store_write *write, struct pk_err *err)
{
	struct stat st;
	if (fstat(write->fd, &st) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	if (st.st_size > write->size)
		return pk_fail(err, -EBADMSG,
			"%s: more bytes than the %" PRId64 " that were announced", write->text,
			write->size);
	if (st.st_size < write->n_hashed) {
		int rc = restart_hash(write, err);
		if (rc < 0)
			return rc;
	}
	int rc = hash_up_to(write, st.st_size, err);
	if (rc < 0)
		return rc;
	PK_FAULT("store/advance");
	return write->n_hashed - write->n_flushed < FLUSH_BYTES ? 0 : flush(write, err);
}

// What an earlier attempt left is taken over, unless there is more of it than the blob is long.
static int take_prefix(struct pk_store_write *write, struct pk_err *err)
{
	struct stat st;
	int rc = restart_hash(write, err);
	if (rc < 0)
		return rc;
	if (fstat(write->fd, &st) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	if (st.st_size > write->size && pk_fsops()->ftruncate(write->fd, 0) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	rc = pk_store_write_advance(write, err);
	if (rc < 0)
		return rc;
	if (lseek(write->fd, write->n_hashed, SEEK_SET) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	return 0;
}

// Early word of a full disk: the blocks are taken now, the length still tells how far we are.
static int reserve_disk(struct pk_store_write *write, struct pk_err *err)
{
	const struct pk_fsops *ops = pk_fsops();
	int64_t missing = write->size - write->n_hashed;
	if (missing == 0)
		return 0;
	if (ops->fallocate(write->fd, FALLOC_FL_KEEP_SIZE, write->n_hashed, missing) == 0)
		return 0;
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return 0; // this file system cannot; the writes will tell
	int code = errno == EFBIG ? -EFBIG : -ENOSPC;
	if (ops->ftruncate(write->fd, write->n_hashed) < 0) // gives back what it got
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	return pk_fail(err, code, "store: the disk has no room for %" PRId64 " more bytes of %s",
		missing, write->text);
}

static int check_room(struct pk_store_write *write, struct pk_err *err)
{
	const struct pk_store *store = write->store;
	struct stat st;
	if (fstat(write->fd, &st) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	int64_t allocated = PK_MAX((int64_t)st.st_size, (int64_t)st.st_blocks * 512);
	int rc = pk_store_room_for(store, write->part, write->size, allocated, err);
	// The bad copy is the first to make room for a fresh one.
	if (rc == -ENOSPC && pk_fsops()->unlink(store->bad_fd, pk_store_hex(write->text), 0) == 0)
		rc = pk_store_room_for(store, write->part, write->size, allocated, err);
	return rc;
}

// Nobody else looks at the room between our look and our taking it.
static int take_room(struct pk_store_write *write, struct pk_err *err)
{
	int tmp_fd = write->store->tmp_fd;
	if (flock(tmp_fd, LOCK_EX) < 0)
		return pk_fail_errno(err, "store: lock of tmp");
	int rc = check_room(write, err);
	if (rc == 0)
		rc = reserve_disk(write, err);
	(void)flock(tmp_fd, LOCK_UN);
	return rc;
}

static int prepare(struct pk_store_write *write, struct pk_err *err)
{
	int rc = open_part(write, err);
	if (rc < 0)
		return rc;
	PK_FAULT("store/part");
	rc = take_prefix(write, err);
	if (rc == 0)
		rc = take_room(write, err);
	PK_FAULT("store/room");
	return rc;
}

int pk_store_begin(struct pk_store *store, const struct pk_digest *digest, int64_t size,
	struct pk_store_write **out, struct pk_err *err)
{
	*out = NULL;
	if (size < 0)
		return pk_fail(err, -EINVAL, "store: negative size");
	struct pk_store_write *write = calloc(1, sizeof(*write));
	if (!write)
		return pk_fail(err, -ENOMEM, "store: out of memory");
	write->store = store;
	write->digest = *digest;
	write->size = size;
	write->fd = -1;
	pk_digest_format(digest, write->text);
	snprintf(write->part, sizeof(write->part), "%s" PK_STORE_PART_SUFFIX,
		pk_store_hex(write->text));
	write->chunk = malloc(CHUNK_BYTES);
	int rc = write->chunk ? prepare(write, err) : pk_fail(err, -ENOMEM, "store: out of memory");
	if (rc == 0) {
		*out = write;
		return 0;
	}
	// An empty file says nothing; a longer one is worth keeping for the next attempt.
	if (write->fd >= 0 && rc != -EBUSY && write->n_hashed == 0)
		pk_store_discard(write);
	else
		pk_store_abort(write);
	return rc;
}

static int check_content(struct pk_store_write *write, struct pk_err *err)
{
	int rc = pk_store_write_advance(write, err);
	if (rc < 0)
		return rc;
	if (write->n_hashed != write->size)
		return pk_fail(err, -EBADMSG,
			"%s: %" PRId64 " bytes instead of the %" PRId64 " that were announced",
			write->text, write->n_hashed, write->size);
	struct pk_digest found;
	pk_hasher_final(write->hasher, &found);
	if (!pk_digest_equal(&found, &write->digest)) {
		char text[PK_DIGEST_TEXT];
		pk_digest_format(&found, text);
		return pk_fail(err, -EBADMSG, "%s: the bytes that came have the digest %s",
			write->text, text);
	}
	return 0;
}

static int sync_part(struct pk_store_write *write, struct pk_err *err)
{
	const struct pk_fsops *ops = pk_fsops();
	if (ops->fchmod(write->fd, 0400) < 0)
		return pk_fail_errno(err, "store: tmp/%s", write->part);
	PK_FAULT("store/checked");
	if (ops->fsync(write->fd) < 0)
		return pk_fail_errno(err, "store: fsync of tmp/%s", write->part);
	(void)posix_fadvise(write->fd, 0, 0, POSIX_FADV_DONTNEED);
	PK_FAULT("store/synced");
	return 0;
}

// Content first, then the name: a name never points at bytes that a power cut may still take.
static int publish(struct pk_store_write *write, struct pk_err *err)
{
	const struct pk_fsops *ops = pk_fsops();
	const struct pk_store *store = write->store;
	const char *hex = pk_store_hex(write->text);
	int rc = sync_part(write, err);
	if (rc < 0)
		return rc;
	if (ops->rename(store->tmp_fd, write->part, store->blobs_fd, hex) < 0)
		return pk_fail_errno(err, "store: cannot name %s", write->text);
	PK_FAULT("store/named");
	if (ops->fsync(store->blobs_fd) < 0 || ops->fsync(store->tmp_fd) < 0) {
		rc = pk_fail_errno(err, "store: fsync of the folder");
		ops->unlink(store->blobs_fd, hex, 0); // who finds it would believe that it stays
		return rc;
	}
	PK_FAULT("store/durable");
	if (faccessat(store->bad_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ops->unlink(store->bad_fd, hex, 0); // it has done its duty
	return 0;
}

int pk_store_finish(struct pk_store_write *write, struct pk_err *err)
{
	int rc = check_content(write, err);
	if (rc == 0)
		rc = publish(write, err);
	if (rc < 0)
		pk_store_discard(write);
	else
		pk_store_abort(write);
	return rc;
}

int pk_store_put(struct pk_store *store, const struct pk_digest *digest, const void *bytes,
	size_t n, struct pk_err *err)
{
	struct pk_store_write *write = NULL;
	int rc = pk_store_begin(store, digest, (int64_t)n, &write, err);
	if (rc < 0)
		return rc;
	// Nothing is saved by continuing what is in memory anyway.
	if (pk_fsops()->ftruncate(write->fd, 0) < 0 || lseek(write->fd, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = pk_store_write_advance(write, err); // the old prefix is no longer hashed
	if (rc == 0)
		rc = pk_fs_write_all(write->fd, bytes, n);
	if (rc < 0) {
		pk_fail(err, rc, "store: writing tmp/%s: %s", write->part, strerror(-rc));
		pk_store_discard(write);
		return rc;
	}
	return pk_store_finish(write, err);
}
