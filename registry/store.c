// SPDX-License-Identifier: Apache-2.0
// Content-addressed files on the node: folders, lock, names, verification. Writing is in
// store_write.c, sizes and room in store_room.c, cleaning in gc.c.
#include "registry/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fault.h"
#include "base/fs.h"
#include "registry/store_private.h"

#define LOCK_ATTEMPTS 50
#define LOCK_PAUSE_NS 100000000

static int open_dir(int at_fd, const char *name, struct pk_err *err)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : pk_fail_errno(err, "store: %s", name);
}

// The folder is there afterwards, and its name survives a power cut.
static int make_dir(int at_fd, const char *name, int *out_fd, struct pk_err *err)
{
	const struct pk_fsops *ops = pk_fsops();
	if (ops->mkdir(at_fd, name, 0700) == 0) {
		PK_FAULT("store/folder");
		if (ops->fsync(at_fd) < 0)
			return pk_fail_errno(err, "store: fsync of the folder of %s", name);
	} else if (errno != EEXIST) {
		return pk_fail_errno(err, "store: cannot create %s", name);
	}
	*out_fd = open_dir(at_fd, name, err);
	return *out_fd < 0 ? *out_fd : 0;
}

static int open_folders(struct pk_store *store, struct pk_err *err)
{
	pk_auto_close int blobs_fd = -1;
	int rc = pk_fs_mkdirs(store->root, 0755, err);
	if (rc < 0)
		return rc;
	store->root_fd = open_dir(AT_FDCWD, store->root, err);
	if (store->root_fd < 0)
		return store->root_fd;
	rc = make_dir(store->root_fd, "tmp", &store->tmp_fd, err);
	if (rc == 0)
		rc = make_dir(store->root_fd, "blobs", &blobs_fd, err);
	if (rc == 0)
		rc = make_dir(blobs_fd, "sha256", &store->blobs_fd, err);
	if (rc == 0)
		rc = make_dir(blobs_fd, "bad", &store->bad_fd, err);
	return rc;
}

// Cleaning takes a moment: wait for its end, but not for ever.
static int lock_shared(struct pk_store *store, struct pk_err *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	store->lock_fd =
		openat(store->root_fd, "lock", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (store->lock_fd < 0)
		return pk_fail_errno(err, "store: %s/lock", store->root);
	for (int i = 0; flock(store->lock_fd, LOCK_SH | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return pk_fail_errno(err, "store: %s/lock", store->root);
		if (i == LOCK_ATTEMPTS)
			return pk_fail(
				err, -EBUSY, "store: another process cleans %s", store->root);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int open_store(struct pk_store *store, struct pk_err *err)
{
	int rc = open_folders(store, err);
	if (rc == 0)
		rc = lock_shared(store, err);
	return rc < 0 ? rc : pk_store_drop_old_parts(store, false, NULL, err);
}

int pk_store_open_with(const char *root, const struct pk_store_options *options,
	struct pk_store **out, struct pk_err *err)
{
	const struct pk_store_options defaults = {0};
	options = options ? options : &defaults;
	*out = NULL;
	if (options->quota_bytes < 0)
		return pk_fail(err, -EINVAL, "store: negative quota");
	pk_auto(pk_store) store = calloc(1, sizeof(*store));
	if (!store)
		return pk_fail(err, -ENOMEM, "store: out of memory");
	store->root_fd = store->lock_fd = store->blobs_fd = store->bad_fd = store->tmp_fd = -1;
	store->quota_bytes = options->quota_bytes;
	store->reserve_bytes = options->reserve_bytes;
	store->for_engines = options->for_engines;
	store->root = strdup(root);
	if (!store->root)
		return pk_fail(err, -ENOMEM, "store: out of memory");
	int rc = open_store(store, err);
	if (rc < 0)
		return rc;
	*out = pk_steal(store);
	return 0;
}

int pk_store_open(const char *root, int64_t quota_bytes, struct pk_store **out, struct pk_err *err)
{
	const struct pk_store_options options = {.quota_bytes = quota_bytes};
	return pk_store_open_with(root, &options, out, err);
}

void pk_store_close(struct pk_store *store)
{
	if (!store)
		return;
	pk_auto_close_impl(&store->lock_fd);
	pk_auto_close_impl(&store->root_fd);
	pk_auto_close_impl(&store->blobs_fd);
	pk_auto_close_impl(&store->bad_fd);
	pk_auto_close_impl(&store->tmp_fd);
	free(store->root);
	free(store);
}

char *pk_store_path(const struct pk_store *store, const struct pk_digest *digest)
{
	char text[PK_DIGEST_TEXT];
	char *path = NULL;
	pk_digest_format(digest, text);
	if (asprintf(&path, "%s/blobs/sha256/%s", store->root, pk_store_hex(text)) < 0)
		return NULL;
	return path;
}

bool pk_store_has(const struct pk_store *store, const struct pk_digest *digest, int64_t size)
{
	char text[PK_DIGEST_TEXT];
	struct stat st;
	pk_digest_format(digest, text);
	if (fstatat(store->blobs_fd, pk_store_hex(text), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return S_ISREG(st.st_mode) && (size < 0 || st.st_size == size);
}

int pk_store_digest_of(const char *name, struct pk_digest *out)
{
	char text[PK_DIGEST_TEXT];
	if (strnlen(name, PK_DIGEST_TEXT) != 2 * PK_SHA256_BYTES)
		return -EINVAL;
	snprintf(text, sizeof(text), PK_DIGEST_PREFIX "%.64s", name);
	return pk_digest_parse(text, out);
}

// What is there under a blob's name but is not that blob must not be found there again.
int pk_store_move_aside(struct pk_store *store, const char *hex, struct pk_err *err)
{
	const struct pk_fsops *ops = pk_fsops();
	if (ops->rename(store->blobs_fd, hex, store->bad_fd, hex) < 0 &&
		ops->unlink(store->blobs_fd, hex, 0) < 0)
		return pk_fail_errno(err, "store: cannot move the bad blob %s aside", hex);
	PK_FAULT("store/aside");
	if (ops->fsync(store->blobs_fd) < 0 || ops->fsync(store->bad_fd) < 0)
		return pk_fail_errno(err, "store: fsync");
	return 0;
}

int pk_store_check_blob(const struct pk_store *store, const char *text,
	const struct pk_digest *digest, struct pk_err *err)
{
	pk_auto_close int fd = openat(store->blobs_fd, pk_store_hex(text),
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return pk_fail(err, -ENOENT, "store: %s is not there", text);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return pk_fail(
			err, -EBADMSG, "store: %s cannot be opened: %s", text, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return pk_fail(err, -EBADMSG, "store: %s is not a regular file", text);
	struct pk_digest found;
	int rc = pk_digest_fd(fd, &found, err);
	// Hashing a store must not push the frames' memory out.
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		return pk_fail(err, -EBADMSG, "store: %s cannot be read: %s", text, strerror(-rc));
	if (pk_digest_equal(&found, digest))
		return 0;
	return pk_fail(err, -EBADMSG, "store: the content of %s does not match its digest", text);
}

int pk_store_verify(struct pk_store *store, const struct pk_digest *digest, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	int rc = pk_store_check_blob(store, text, digest, err);
	if (rc != -EBADMSG)
		return rc;
	int moved = pk_store_move_aside(store, pk_store_hex(text), err);
	return moved < 0 ? moved : rc;
}
