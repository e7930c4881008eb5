// SPDX-License-Identifier: Apache-2.0
// A config on trial: the one before lies on disk and comes back by itself unless the new one is
// confirmed. It survives picketd; another boot ends it at once.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "daemon/loop.h"
#include "daemon/paths.h"

struct pk_config_trial {
	const struct pk_paths *paths;
	struct pk_loop *loop;
	struct pk_timer timer;
	void (*over)(void *ctx); // its time is up: the caller reverts
	void *ctx;
	json_t *excused; // names of cameras that did not run before; NULL: no trial is on
};

// Takes up a trial that a picketd before this one began.
void pk_config_trial_init(struct pk_config_trial *trial, const struct pk_paths *paths,
	struct pk_loop *loop, void (*over)(void *ctx), void *ctx);
void pk_config_trial_finish(struct pk_config_trial *trial); // it goes on with the next picketd

// Keeps the bytes of the config file and begins. excused: taken. Durable when it returns 0; then
// the new config may be written. -EBUSY: one is on.
int pk_config_trial_begin(struct pk_config_trial *trial, int64_t limit_ns, json_t *excused,
	struct pk_err *err) pk_must_check;
int64_t pk_config_trial_left_ns(const struct pk_config_trial *trial); // -1: none is on
bool pk_config_trial_excuses(const struct pk_config_trial *trial, const char *camera);
// The new config stays.
void pk_config_trial_confirm(struct pk_config_trial *trial);
// Puts the bytes of before back into the config file, and ends. The caller reads it again. -ENOENT:
// none is on.
int pk_config_trial_revert(struct pk_config_trial *trial, struct pk_err *err) pk_must_check;

// Before the config is read at the start: ends a trial of another boot, or one whose time is up,
// with the config of before. True: it did.
bool pk_config_trial_end_overdue(const struct pk_paths *paths);

// Writes the config file, keeping its mode. Power-cut safe.
int pk_config_file_write(const char *path, const void *bytes, size_t n, struct pk_err *err)
	pk_must_check;
