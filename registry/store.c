// SPDX-License-Identifier: Apache-2.0
// Content-addressed files on the node: names, quota, verification; writing is in store_write.c.
#include "registry/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fs.h"
#include "registry/store_private.h"

static int open_dir(int at_fd, const char *name, struct pk_err *err)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : pk_fail_errno(err, "store: %s", name);
}

// The folder is there afterwards, and its name survives a power cut.
static int make_dir(int at_fd, const char *name, int *out_fd, struct pk_err *err)
{
	if (mkdirat(at_fd, name, 0700) == 0) {
		if (fsync(at_fd) < 0)
			return pk_fail_errno(err, "store: fsync of the folder of %s", name);
	} else if (errno != EEXIST) {
		return pk_fail_errno(err, "store: cannot create %s", name);
	}
	*out_fd = open_dir(at_fd, name, err);
	return *out_fd < 0 ? *out_fd : 0;
}

static int open_folders(struct pk_store *store, struct pk_err *err)
{
	pk_auto_close int root_fd = -1;
	pk_auto_close int blobs_fd = -1;
	int rc = pk_fs_mkdirs(store->root, 0755, err);
	if (rc < 0)
		return rc;
	root_fd = open_dir(AT_FDCWD, store->root, err);
	if (root_fd < 0)
		return root_fd;
	rc = make_dir(root_fd, "tmp", &store->tmp_fd, err);
	if (rc == 0)
		rc = make_dir(root_fd, "blobs", &blobs_fd, err);
	if (rc == 0)
		rc = make_dir(blobs_fd, "sha256", &store->blobs_fd, err);
	if (rc == 0)
		rc = make_dir(blobs_fd, "bad", &store->bad_fd, err);
	return rc;
}

int pk_store_open(const char *root, int64_t quota_bytes, struct pk_store **out, struct pk_err *err)
{
	*out = NULL;
	if (quota_bytes < 0)
		return pk_fail(err, -EINVAL, "store: negative quota");
	pk_auto(pk_store) store = calloc(1, sizeof(*store));
	if (!store)
		return pk_fail(err, -ENOMEM, "store: out of memory");
	store->blobs_fd = store->bad_fd = store->tmp_fd = -1;
	store->quota_bytes = quota_bytes;
	store->root = strdup(root);
	if (!store->root)
		return pk_fail(err, -ENOMEM, "store: out of memory");
	int rc = open_folders(store, err);
	if (rc < 0)
		return rc;
	*out = pk_steal(store);
	return 0;
}

void pk_store_close(struct pk_store *store)
{
	if (!store)
		return;
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

// Adds the sizes of the regular files of one folder.
static int add_folder(int dir_fd, int64_t *bytes, struct pk_err *err)
{
	int fd = open_dir(dir_fd, ".", err);
	if (fd < 0)
		return fd;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return pk_fail_errno(err, "store: cannot list");
	}
	const struct dirent *entry;
	while ((entry = readdir(dir))) {
		struct stat st;
		if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && pk_add_overflow(*bytes, st.st_size, bytes))
			*bytes = INT64_MAX;
	}
	closedir(dir);
	return 0;
}

int pk_store_usage(const struct pk_store *store, int64_t *bytes, struct pk_err *err)
{
	*bytes = 0;
	int rc = add_folder(store->blobs_fd, bytes, err);
	if (rc == 0)
		rc = add_folder(store->bad_fd, bytes, err);
	if (rc == 0)
		rc = add_folder(store->tmp_fd, bytes, err);
	return rc;
}

int pk_store_room(const struct pk_store *store, int64_t need_bytes, struct pk_err *err)
{
	if (store->quota_bytes == 0 || need_bytes <= 0)
		return 0;
	int64_t used = 0;
	int64_t sum;
	int rc = pk_store_usage(store, &used, err);
	if (rc < 0)
		return rc;
	if (!pk_add_overflow(used, need_bytes, &sum) && sum <= store->quota_bytes)
		return 0;
	return pk_fail(err, -ENOSPC,
		"store: %" PRId64 " more bytes do not fit: %" PRId64 " of the quota of %" PRId64
		" bytes are used",
		need_bytes, used, store->quota_bytes);
}

// What is there under a blob's name but is not that blob must not be found there again.
static int move_aside(struct pk_store *store, const char *hex, struct pk_err *err)
{
	if (renameat(store->blobs_fd, hex, store->bad_fd, hex) < 0 &&
		unlinkat(store->blobs_fd, hex, 0) < 0)
		return pk_fail_errno(err, "store: cannot move the bad blob %s aside", hex);
	if (fsync(store->blobs_fd) < 0 || fsync(store->bad_fd) < 0)
		return pk_fail_errno(err, "store: fsync");
	return 0;
}

// Why the file under this name is not the blob: 0 (it is), -ENOENT, -ENOMEM, or -EBADMSG.
static int check_blob(const struct pk_store *store, const char *text,
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
	int rc = check_blob(store, text, digest, err);
	if (rc != -EBADMSG)
		return rc;
	int moved = move_aside(store, pk_store_hex(text), err);
	return moved < 0 ? moved : rc;
}
