// SPDX-License-Identifier: Apache-2.0
// What the verbs of picketctl store share: options, the store with its lock, what must stay in it.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "registry/gc.h"
#include "registry/store.h"

struct pk_store_args {
	const char *store; // --store; NULL: below the root
	const char *from;  // --from
	bool json, dry_run, repair, all;
};

struct pk_store_view {
	char *path;  // of the store
	char *state; // records
	struct pk_store *store;
	struct pk_store_roots roots;
	bool damaged;      // a record cannot be read; why says which
	struct pk_err why; // then
	int daemon_lock;   // picketd's lock of this root; -1: not taken
};

// Opens the store that the arguments name (never makes one) with the config's quota and reserve,
// and reads the records. alone: -EBUSY while picketd runs, which then cannot start until close.
// Close in any case.
int pk_store_view_open(struct pk_store_view *view, const struct pk_store_args *args, bool alone,
	struct pk_err *err) pk_must_check;
void pk_store_view_close(struct pk_store_view *view);

// The node's config; NULL when it cannot be read: then there is no quota, and the default reserve.
struct pk_config *pk_store_config(void);
struct pk_store_options pk_store_config_options(void);

int pk_store_fsck_verb(const struct pk_store_args *args);
int pk_store_gc_verb(const struct pk_store_args *args);
int pk_store_usage_verb(const struct pk_store_args *args);
