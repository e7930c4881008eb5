// SPDX-License-Identifier: Apache-2.0
// What the store holds, what it may hold, and what the disk has left.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "registry/store_private.h"

#define RESERVE_MIN_BYTES (INT64_C(64) << 20)
#define RESERVE_SHARE     20 // 1/20: 5 %
#define ENGINE_HEAD_BYTES (INT64_C(128) << 10)

int pk_store_walk(int dir_fd, int (*each)(void *ctx, const char *name, const struct stat *st),
	void *ctx, struct pk_err *err)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		int rc = pk_fail_errno(err, "store: cannot list");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	int rc = 0;
	for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		struct stat st;
		const char *name = entry->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
			fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			rc = each(ctx, name, &st);
	}
	closedir(dir);
	return rc;
}

struct sum {
	struct pk_store_part_usage usage;
	bool allocated;   // count the room that is taken, not only the length
	const char *skip; // name that does not count, or NULL
};

static int add_file(void *ctx, const char *name, const struct stat *st)
{
	struct sum *sum = ctx;
	if (!S_ISREG(st->st_mode) || (sum->skip && strcmp(name, sum->skip) == 0))
		return 0;
	int64_t bytes = st->st_size;
	if (sum->allocated)
		bytes = PK_MAX(bytes, (int64_t)st->st_blocks * 512);
	if (pk_add_overflow(sum->usage.bytes, bytes, &sum->usage.bytes))
		sum->usage.bytes = INT64_MAX;
	sum->usage.n_files++;
	return 0;
}

static int sum_folder(int dir_fd, bool allocated, const char *skip, struct pk_store_part_usage *out,
	struct pk_err *err)
{
	struct sum sum = {.allocated = allocated, .skip = skip};
	int rc = pk_store_walk(dir_fd, add_file, &sum, err);
	*out = sum.usage;
	return rc;
}

// Of a folder that others make: not there is empty.
static int sum_beside(const struct pk_store *store, const char *name,
	struct pk_store_part_usage *out, struct pk_err *err)
{
	pk_auto_close int fd =
		openat(store->root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*out = (struct pk_store_part_usage){0};
	return fd < 0 ? 0 : sum_folder(fd, false, NULL, out, err);
}

static int sum_all(const struct pk_store *store, const char *skip_part,
	struct pk_store_usage_detail *out, struct pk_err *err)
{
	int rc = sum_folder(store->blobs_fd, false, NULL, &out->blobs, err);
	if (rc == 0)
		rc = sum_folder(store->bad_fd, false, NULL, &out->bad, err);
	if (rc == 0)
		rc = sum_folder(store->tmp_fd, true, skip_part, &out->parts, err);
	if (rc == 0)
		rc = sum_beside(store, "engines", &out->engines, err);
	if (rc == 0)
		rc = sum_beside(store, "timing", &out->timing, err);
	const int64_t terms[] = {out->blobs.bytes, out->bad.bytes, out->parts.bytes,
		out->engines.bytes, out->timing.bytes};
	out->total_bytes = 0;
	for (size_t i = 0; i < PK_ARRAY_LEN(terms); i++)
		if (pk_add_overflow(out->total_bytes, terms[i], &out->total_bytes))
			out->total_bytes = INT64_MAX;
	return rc;
}

static int64_t bytes_of(uint64_t n_blocks, uint64_t block)
{
	int64_t bytes;
	return pk_mul_overflow(n_blocks, block, &bytes) ? INT64_MAX : bytes;
}

static int look_at_disk(
	const struct pk_store *store, struct pk_store_usage_detail *out, struct pk_err *err)
{
	struct statvfs fs;
	if (pk_fsops()->statvfs(store->blobs_fd, &fs) < 0)
		return pk_fail_errno(err, "store: cannot tell the room on the disk");
	out->disk_bytes = bytes_of(fs.f_blocks, fs.f_frsize);
	out->disk_free_bytes = bytes_of(fs.f_bavail, fs.f_frsize);
	out->quota_bytes = store->quota_bytes;
	out->reserve_bytes = PK_MAX(store->reserve_bytes, INT64_C(0));
	if (store->reserve_bytes == PK_STORE_RESERVE_DEFAULT)
		out->reserve_bytes = PK_MAX(RESERVE_MIN_BYTES, out->disk_bytes / RESERVE_SHARE);
	return 0;
}

int pk_store_usage(const struct pk_store *store, int64_t *bytes, struct pk_err *err)
{
	struct pk_store_usage_detail detail = {0};
	int rc = sum_all(store, NULL, &detail, err);
	*bytes = detail.total_bytes;
	return rc;
}

int pk_store_usage_detail(
	const struct pk_store *store, struct pk_store_usage_detail *out, struct pk_err *err)
{
	*out = (struct pk_store_usage_detail){0};
	int rc = sum_all(store, NULL, out, err);
	return rc < 0 ? rc : look_at_disk(store, out, err);
}

static int check_quota(
	const struct pk_store *store, const char *skip_part, int64_t need, struct pk_err *err)
{
	struct pk_store_usage_detail detail = {0};
	int64_t sum;
	if (store->quota_bytes == 0)
		return 0;
	int rc = sum_all(store, skip_part, &detail, err);
	if (rc < 0)
		return rc;
	if (!pk_add_overflow(detail.total_bytes, need, &sum) && sum <= store->quota_bytes)
		return 0;
	return pk_fail(err, -ENOSPC,
		"store: %" PRId64 " more bytes do not fit: %" PRId64 " of the quota of %" PRId64
		" bytes are used",
		need, detail.total_bytes, store->quota_bytes);
}

static int check_reserve(const struct pk_store *store, int64_t need, struct pk_err *err)
{
	struct pk_store_usage_detail disk = {0};
	int64_t sum;
	if (store->reserve_bytes == PK_STORE_RESERVE_NONE || need <= 0)
		return 0;
	int rc = look_at_disk(store, &disk, err);
	if (rc < 0)
		return rc;
	if (!pk_add_overflow(disk.reserve_bytes, need, &sum) && sum <= disk.disk_free_bytes)
		return 0;
	return pk_fail(err, -ENOSPC,
		"store: the disk has no room for %" PRId64 " more bytes: %" PRId64
		" are free and %" PRId64 " of them are kept in reserve",
		need, disk.disk_free_bytes, disk.reserve_bytes);
}

int pk_store_room_for(const struct pk_store *store, const char *part, int64_t size,
	int64_t allocated, struct pk_err *err)
{
	int rc = check_quota(store, part, size, err);
	return rc < 0 ? rc : check_reserve(store, size - PK_MIN(size, allocated), err);
}

int pk_store_room(const struct pk_store *store, int64_t need_bytes, struct pk_err *err)
{
	return need_bytes <= 0 ? 0 : pk_store_room_for(store, NULL, need_bytes, 0, err);
}

int64_t pk_store_engine_bytes(const struct pk_store *store, int64_t artifact_bytes)
{
	int64_t one;
	if (!store->for_engines)
		return 0;
	return pk_add_overflow(artifact_bytes, ENGINE_HEAD_BYTES, &one) || one > INT64_MAX / 2
		       ? INT64_MAX
		       : 2 * one;
}

int64_t pk_store_need_bytes(
	const struct pk_store *store, const struct pk_digest *digest, int64_t size)
{
	char text[PK_DIGEST_TEXT], part[PK_STORE_PART_NAME];
	struct stat st;
	if (pk_store_has(store, digest, size))
		return 0;
	pk_digest_format(digest, text);
	snprintf(part, sizeof(part), "%s" PK_STORE_PART_SUFFIX, pk_store_hex(text));
	if (fstatat(store->tmp_fd, part, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return size;
	int64_t taken = PK_MAX((int64_t)st.st_size, (int64_t)st.st_blocks * 512);
	return size - PK_MIN(size, taken);
}
