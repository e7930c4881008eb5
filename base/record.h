// SPDX-License-Identifier: Apache-2.0
// Self-checking small files in two generations: what a process must remember over power cuts, torn
// writes and full disks.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fsops.h"

#define PK_RECORD_MAX_BYTES     (1u << 20) // of the content
#define PK_RECORD_PREVIOUS      ".prev"    // the generation before lies at PATH.prev
#define PK_RECORD_BALLAST       ".ballast" // in the record's folder
#define PK_RECORD_BALLAST_BYTES (1 << 20)

// Writes the n bytes under their checksum ("sha256:<hex>\n" first) as PATH, durable on return; what
// PATH held, when it is whole, becomes PATH.prev. On any failure a load gives the old content still
// (or, after a power cut, the new). A full disk is met with the ballast: a file beside the record
// that is given up for it and made again when there is room. ops: NULL for the table in use.
// -EFBIG: n is above the maximum. Any thread, one at a time per path.
int pk_record_save(const struct pk_fsops *ops, const char *path, const void *bytes, size_t n,
	struct pk_err *err) pk_must_check;

// Appends the content of the newest whole generation to out. *used_previous (may be NULL): it is
// PATH.prev's. -ENOENT: there is none at all; -EBADMSG: what there is is damaged; -ENOMEM, -ENOSPC:
// out is too small. Any thread.
int pk_record_load(const char *path, struct pk_buf *out, bool *used_previous, struct pk_err *err)
	pk_must_check;

// The content within the bytes of a record file. -EBADMSG: damaged. Pure.
int pk_record_check(const void *file, size_t n, const char **content, size_t *n_content)
	pk_must_check;
