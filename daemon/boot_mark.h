// SPDX-License-Identifier: Apache-2.0
// Remembers over boots that a build was under way: a machine that went down during builds (power,
// a driver) must not be sent down for ever.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_BOOT_MARK_LIMIT 2 // so many unclean boots in a row, then no build by itself
#define PK_BOOT_ID_MAX     64

struct pk_boot_mark {
	char *path;
	char boot_id[PK_BOOT_ID_MAX]; // of this boot
	unsigned n_unclean;           // boots in a row that ended during a build
	bool building;
};

// Reads DIR/build-mark; a damaged one counts as none. root: where /proc is looked for ("" for this
// machine). 0, -ENOMEM.
int pk_boot_mark_init(struct pk_boot_mark *mark, const char *dir, const char *root) pk_must_check;
void pk_boot_mark_finish(struct pk_boot_mark *mark); // leaves the file

// Before a build starts and after it ended; power-cut safe. good: it was not cut short, so the
// machine stands builds: the count starts again.
int pk_boot_mark_begin(struct pk_boot_mark *mark, struct pk_err *err) pk_must_check;
void pk_boot_mark_end(struct pk_boot_mark *mark, bool good);
// The operator has looked at it.
void pk_boot_mark_forget(struct pk_boot_mark *mark);
bool pk_boot_mark_holds(const struct pk_boot_mark *mark); // the limit is reached
