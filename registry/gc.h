// SPDX-License-Identifier: Apache-2.0
// Cleaning the store: removing what no root needs, finding what is damaged or gone.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "registry/marks.h"
#include "registry/roots.h"
#include "registry/store.h"

struct pk_store_gc_report {
	struct pk_store_part_usage blobs, bad, parts; // removed, or to be removed
	struct pk_store_part_usage kept;              // blobs
	bool incomplete;   // no blob was removed, because a root cannot be read
	struct pk_err why; // then
};

// Removes the blobs that no root names (see marks.h), the bad ones, and partial files of a week
// ago. Never what a root names; with no roots at all, everything. Alone on the store: -EBUSY while
// another process or another handle has it open. A kill at any point leaves a store that is whole,
// and the next run goes on. dry_run: only counts. 0, -ENOMEM, or what the disk says.
int pk_store_gc(struct pk_store *store, const struct pk_store_roots *roots, bool dry_run,
	struct pk_store_gc_report *report, struct pk_err *err) pk_must_check;

// Of a folder of derived files (engines, timing caches): removes the files with this suffix that
// are not in `keep` (file names), and "*.tmp" files that are a day old. A missing folder is empty.
struct pk_store_sweep {
	const char *folder;
	const char *suffix;      // ".engine"
	const char *const *keep; // n_keep
	size_t n_keep;
	bool dry_run;
};
int pk_store_sweep_folder(const struct pk_store_sweep *sweep, struct pk_store_part_usage *removed,
	struct pk_err *err) pk_must_check;

enum pk_store_finding {
	PK_STORE_OK,
	PK_STORE_BAD,     // not what its name says; moved aside to blobs/bad
	PK_STORE_MISSING, // a root names it and it is not there, or no longer
	PK_STORE_FOREIGN, // no blob's name, or no regular file; left alone
	PK_N_STORE_FINDINGS,
};
const char *pk_store_finding_name(enum pk_store_finding finding); // "ok", "bad", …

struct pk_store_fsck_watch {
	// name: the file's; size -1: not known. Both may be NULL. Anything but 0 cancels.
	int (*found)(void *ctx, enum pk_store_finding finding, const char *name, int64_t size);
	int (*progress)(void *ctx, int64_t done_bytes, int64_t total_bytes);
	void *ctx;
};

struct pk_store_fsck_report {
	int n[PK_N_STORE_FINDINGS];
	int64_t bytes;             // hashed
	struct pk_digest *missing; // n[PK_STORE_MISSING]: what to fetch again
};

// Hashes every blob and looks for every blob that a root names. The store may be in use.
// -ECANCELED; else 0 whatever was found. watch may be NULL. Finish the report in any case.
int pk_store_fsck(struct pk_store *store, const struct pk_store_roots *roots,
	const struct pk_store_fsck_watch *watch, struct pk_store_fsck_report *report,
	struct pk_err *err) pk_must_check;
void pk_store_fsck_report_finish(struct pk_store_fsck_report *report);

// How many of the blobs that this manifest names, itself included, are not in the store. Does not
// read them. Less than 0: an error.
int pk_store_count_missing(
	struct pk_store *store, const struct pk_digest *manifest, struct pk_err *err) pk_must_check;
