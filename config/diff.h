// SPDX-License-Identifier: Apache-2.0
// What differs between two snapshots, in the terms in which the daemon acts.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "config/config.h"

enum pk_config_change_kind {
	PK_CONFIG_ADDED,
	PK_CONFIG_REMOVED,
	PK_CONFIG_CHANGED,
};

struct pk_config_change {
	char name[64];
	enum pk_config_change_kind kind;
};

struct pk_config_changes {
	struct pk_config_change *items; // sorted by name
	size_t n;
	size_t cap;
};

struct pk_config_diff {
	struct pk_config_changes cameras; // changed: its own keys or any of its sinks' settings
	struct pk_config_changes models;  // changed: its own keys, an inherited chain included
	struct pk_config_changes sinks;
	bool node;       // node.*
	bool telemetry;  // telemetry.*
	bool runtime;    // runtime.*
	bool build;      // build.*: holds for the next build
	bool store;      // store.*
	bool registries; // any of them: holds for the next transfer
	bool any;        // anything at all
};

// Compares the meaning, not the text: order of entries, comments and ways of writing a value do not
// count. diff: zeroed or finished; the caller finishes it. 0 or -ENOMEM.
int pk_config_diff(const struct pk_config *before, const struct pk_config *after,
	struct pk_config_diff *diff) pk_must_check;
void pk_config_diff_finish(struct pk_config_diff *diff);

// The change of that name, or NULL when it stays as it is.
const struct pk_config_change *pk_config_changes_find(
	const struct pk_config_changes *changes, const char *name);
