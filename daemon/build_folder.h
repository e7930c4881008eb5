// SPDX-License-Identifier: Apache-2.0
// The one folder that a build may write to. The engine and the timing cache are made there and
// moved to their places by picketd, so that a build cannot touch what others made.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

// Empties folder, brings the timing cache in, and gives in *inside a copy of request
// (build_proto.h) whose engine and timing lie in folder; the caller's. A timing cache that an
// earlier build left there goes on. 0 or -errno.
int pk_build_folder_enter(const char *folder, const json_t *request, json_t **inside,
	struct pk_err *err) pk_must_check;

// Moves out what the build made: the timing cache in any case, the engine when built. -ENOENT: it
// did not make the engine that it said. Same disk.
int pk_build_folder_leave(const char *folder, const json_t *request, bool built, struct pk_err *err)
	pk_must_check;
