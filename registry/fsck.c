// SPDX-License-Identifier: Apache-2.0
// Checking the store: every blob against its name, every root for what it names.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "registry/gc.h"
#include "registry/store_private.h"

const char *pk_store_finding_name(enum pk_store_finding finding)
{
	static const char *const names[PK_N_STORE_FINDINGS] = {
		[PK_STORE_OK] = "ok",
		[PK_STORE_BAD] = "bad",
		[PK_STORE_MISSING] = "missing",
		[PK_STORE_FOREIGN] = "foreign",
	};
	return names[finding];
}

struct check {
	struct pk_store *store;
	const struct pk_store_fsck_watch *watch;
	struct pk_store_fsck_report *report;
	int64_t total_bytes;
	struct pk_err *err;
};

static int tell(struct check *check, enum pk_store_finding finding, const char *name, int64_t size)
{
	const struct pk_store_fsck_watch *watch = check->watch;
	check->report->n[finding]++;
	if (!watch || !watch->found || watch->found(watch->ctx, finding, name, size) == 0)
		return 0;
	return pk_fail(check->err, -ECANCELED, "cancelled");
}

static int tell_progress(const struct check *check)
{
	const struct pk_store_fsck_watch *watch = check->watch;
	if (!watch || !watch->progress ||
		watch->progress(watch->ctx, check->report->bytes, check->total_bytes) == 0)
		return 0;
	return pk_fail(check->err, -ECANCELED, "cancelled");
}

static int check_file(void *ctx, const char *name, const struct stat *st)
{
	struct check *check = ctx;
	struct pk_digest digest;
	char text[PK_DIGEST_TEXT];
	if (pk_store_digest_of(name, &digest) < 0 || S_ISDIR(st->st_mode))
		return tell(check, PK_STORE_FOREIGN, name, st->st_size);
	pk_digest_format(&digest, text);
	int rc = pk_store_check_blob(check->store, text, &digest, check->err);
	if (rc == -ENOMEM)
		return rc;
	if (rc == -ENOENT) // removed meanwhile
		return 0;
	check->report->bytes += st->st_size;
	if (rc == -EBADMSG) {
		rc = pk_store_move_aside(check->store, name, check->err);
		if (rc < 0)
			return rc;
		rc = tell(check, PK_STORE_BAD, name, st->st_size);
	} else {
		rc = tell(check, PK_STORE_OK, name, st->st_size);
	}
	return rc < 0 ? rc : tell_progress(check);
}

static int note_missing(struct check *check, const struct pk_digest *digest)
{
	struct pk_store_fsck_report *report = check->report;
	char text[PK_DIGEST_TEXT];
	size_t n = (size_t)report->n[PK_STORE_MISSING];
	struct pk_digest *grown = reallocarray(report->missing, n + 1, sizeof(*grown));
	if (!grown)
		return pk_fail(check->err, -ENOMEM, "out of memory");
	report->missing = grown;
	report->missing[n] = *digest;
	pk_digest_format(digest, text);
	return tell(check, PK_STORE_MISSING, pk_store_hex(text), -1);
}

// Marks are made before blobs are moved aside, and so know what a manifest named that is sound now.
static int check_all(struct check *check, const struct pk_store_marks *marks)
{
	struct pk_store_usage_detail usage;
	int rc = pk_store_usage_detail(check->store, &usage, check->err);
	if (rc < 0)
		return rc;
	check->total_bytes = usage.blobs.bytes;
	rc = pk_store_walk(check->store->blobs_fd, check_file, check, check->err);
	for (size_t i = 0; rc == 0 && i < marks->n; i++)
		if (!pk_store_has(check->store, &marks->items[i].digest, -1))
			rc = note_missing(check, &marks->items[i].digest);
	return rc;
}

int pk_store_fsck(struct pk_store *store, const struct pk_store_roots *roots,
	const struct pk_store_fsck_watch *watch, struct pk_store_fsck_report *report,
	struct pk_err *err)
{
	struct pk_store_marks marks;
	struct check check = {.store = store, .watch = watch, .report = report, .err = err};
	*report = (struct pk_store_fsck_report){0};
	int rc = pk_store_marks_make(&marks, store, roots, err);
	if (rc == 0)
		rc = check_all(&check, &marks);
	pk_store_marks_finish(&marks);
	return rc;
}

void pk_store_fsck_report_finish(struct pk_store_fsck_report *report)
{
	free(report->missing);
	*report = (struct pk_store_fsck_report){0};
}

int pk_store_count_missing(
	struct pk_store *store, const struct pk_digest *manifest, struct pk_err *err)
{
	struct pk_store_marks marks;
	struct pk_digest root = *manifest;
	const struct pk_store_roots roots = {.manifests = &root, .n = 1};
	int n = 0;
	int rc = pk_store_marks_make(&marks, store, &roots, err);
	for (size_t i = 0; rc == 0 && i < marks.n; i++)
		n += !pk_store_has(store, &marks.items[i].digest, -1);
	pk_store_marks_finish(&marks);
	return rc < 0 ? rc : n;
}
