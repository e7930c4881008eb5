// SPDX-License-Identifier: Apache-2.0
// Sweeping what no root needs.
#include "registry/gc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fault.h"
#include "registry/store_private.h"

#define TMP_MAX_S (24 * 3600) // a file that is being written for longer is not being written

struct sweep {
	struct pk_store *store;
	const struct pk_store_marks *marks;
	struct pk_store_gc_report *report;
	bool dry_run;
	struct pk_err *err;
};

static void count(struct pk_store_part_usage *usage, const struct stat *st)
{
	usage->n_files++;
	if (pk_add_overflow(usage->bytes, (int64_t)st->st_size, &usage->bytes))
		usage->bytes = INT64_MAX;
}

static int drop(struct sweep *sweep, int dir_fd, const char *name,
	struct pk_store_part_usage *usage, const struct stat *st)
{
	count(usage, st);
	if (sweep->dry_run)
		return 0;
	if (pk_fsops()->unlink(dir_fd, name, 0) < 0 && errno != ENOENT)
		return pk_fail_errno(sweep->err, "store: cannot remove %s", name);
	PK_FAULT("gc/removed");
	return 0;
}

static int sweep_blob(void *ctx, const char *name, const struct stat *st)
{
	struct sweep *sweep = ctx;
	struct pk_digest digest;
	if (S_ISDIR(st->st_mode) || pk_store_digest_of(name, &digest) < 0)
		return 0; // foreign: not ours to remove
	if (sweep->report->incomplete || pk_store_marks_find(sweep->marks, &digest)) {
		count(&sweep->report->kept, st);
		return 0;
	}
	return drop(sweep, sweep->store->blobs_fd, name, &sweep->report->blobs, st);
}

// The bad copy of a root tells that its layers are needed, until it was fetched again.
static int sweep_bad(void *ctx, const char *name, const struct stat *st)
{
	struct sweep *sweep = ctx;
	struct pk_digest digest;
	if (S_ISDIR(st->st_mode))
		return 0;
	if (pk_store_digest_of(name, &digest) == 0 && pk_store_marks_find(sweep->marks, &digest) &&
		!pk_store_has(sweep->store, &digest, -1))
		return 0;
	return drop(sweep, sweep->store->bad_fd, name, &sweep->report->bad, st);
}

static int sweep_all(struct sweep *sweep)
{
	const struct pk_fsops *ops = pk_fsops();
	struct pk_store *store = sweep->store;
	struct pk_err *err = sweep->err;
	int rc = pk_store_walk(store->blobs_fd, sweep_blob, sweep, err);
	if (rc == 0)
		rc = pk_store_walk(store->bad_fd, sweep_bad, sweep, err);
	if (rc == 0)
		rc = pk_store_drop_old_parts(store, sweep->dry_run, &sweep->report->parts, err);
	if (rc < 0 || sweep->dry_run)
		return rc;
	if (ops->fsync(store->blobs_fd) < 0 || ops->fsync(store->bad_fd) < 0)
		return pk_fail_errno(err, "store: fsync of the folder");
	PK_FAULT("gc/durable");
	return 0;
}

// A failed change of a lock loses the lock that was there.
static int lock_alone(struct pk_store *store, struct pk_err *err)
{
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int rc = errno == EWOULDBLOCK ? pk_fail(err, -EBUSY,
						"store: %s is in use by another process "
						"(picketd, or a pull)",
						store->root)
				      : pk_fail_errno(err, "store: %s/lock", store->root);
	(void)flock(store->lock_fd, LOCK_SH);
	return rc;
}

int pk_store_gc(struct pk_store *store, const struct pk_store_roots *roots, bool dry_run,
	struct pk_store_gc_report *report, struct pk_err *err)
{
	struct pk_store_marks marks;
	struct sweep sweep = {
		.store = store, .marks = &marks, .report = report, .dry_run = dry_run, .err = err};
	*report = (struct pk_store_gc_report){0};
	int rc = dry_run ? 0 : lock_alone(store, err);
	if (rc < 0)
		return rc;
	rc = pk_store_marks_make(&marks, store, roots, err);
	report->incomplete = marks.incomplete;
	report->why = marks.why;
	if (rc == 0)
		rc = sweep_all(&sweep);
	pk_store_marks_finish(&marks);
	if (!dry_run)
		(void)flock(store->lock_fd, LOCK_SH);
	return rc;
}

static bool is_old(const struct stat *st, int64_t max_s)
{
	// A clock that was wrong once (no RTC) gives times to come: those are young.
	return pk_realtime_ns() / PK_NS_PER_S - (int64_t)st->st_mtime > max_s;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

struct part_sweep {
	struct pk_store *store;
	struct pk_store_part_usage *out;
	bool dry_run;
};

// Old, or of a blob that is there: a power cut may keep both names of a rename.
static bool is_useless(const struct pk_store *store, const char *name, const struct stat *st)
{
	char hex[2 * PK_SHA256_BYTES + 1];
	struct pk_digest digest;
	if (is_old(st, PK_STORE_PART_MAX_S))
		return true;
	snprintf(hex, sizeof(hex), "%s", name);
	return pk_store_digest_of(hex, &digest) == 0 && pk_store_has(store, &digest, -1);
}

// Whoever writes it holds its lock.
static int drop_part(void *ctx, const char *name, const struct stat *st)
{
	struct part_sweep *sweep = ctx;
	int tmp_fd = sweep->store->tmp_fd;
	if (!S_ISREG(st->st_mode) || !ends_with(name, PK_STORE_PART_SUFFIX) ||
		!is_useless(sweep->store, name, st))
		return 0;
	pk_auto_close int fd = openat(tmp_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	if (sweep->out)
		count(sweep->out, st);
	if (!sweep->dry_run)
		(void)pk_fsops()->unlink(tmp_fd, name, 0);
	PK_FAULT("store/old-part");
	return 0;
}

int pk_store_drop_old_parts(
	struct pk_store *store, bool dry_run, struct pk_store_part_usage *out, struct pk_err *err)
{
	struct part_sweep sweep = {.store = store, .out = out, .dry_run = dry_run};
	return pk_store_walk(store->tmp_fd, drop_part, &sweep, err);
}

struct folder_sweep {
	const struct pk_store_sweep *wish;
	struct pk_store_part_usage *removed;
	int dir_fd;
	struct pk_err *err;
};

static bool stays(const struct pk_store_sweep *wish, const char *name, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return true;
	if (ends_with(name, ".tmp"))
		return !is_old(st, TMP_MAX_S);
	if (!ends_with(name, wish->suffix))
		return true;
	for (size_t i = 0; i < wish->n_keep; i++)
		if (strcmp(wish->keep[i], name) == 0)
			return true;
	return false;
}

static int sweep_file(void *ctx, const char *name, const struct stat *st)
{
	struct folder_sweep *sweep = ctx;
	if (stays(sweep->wish, name, st))
		return 0;
	count(sweep->removed, st);
	if (sweep->wish->dry_run)
		return 0;
	if (pk_fsops()->unlink(sweep->dir_fd, name, 0) < 0 && errno != ENOENT)
		return pk_fail_errno(
			sweep->err, "%s/%s: cannot remove it", sweep->wish->folder, name);
	PK_FAULT("gc/engine");
	return 0;
}

int pk_store_sweep_folder(
	const struct pk_store_sweep *wish, struct pk_store_part_usage *removed, struct pk_err *err)
{
	*removed = (struct pk_store_part_usage){0};
	pk_auto_close int fd = open(wish->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : pk_fail_errno(err, "%s", wish->folder);
	struct folder_sweep sweep = {.wish = wish, .removed = removed, .dir_fd = fd, .err = err};
	return pk_store_walk(fd, sweep_file, &sweep, err);
}
