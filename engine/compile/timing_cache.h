// SPDX-License-Identifier: Apache-2.0
// Measured kernel times per operation, kept over builds: one JSON record a line, sorted, mergeable.
// Wrong, torn or foreign content is a miss, never an error.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_timing_cache;

// path NULL: kept in memory only. device: canonical JSON of the device class; a file whose header
// names another one is ignored (and replaced at the next save). NULL only when out of memory.
struct pk_timing_cache *pk_timing_cache_open(const char *path, const char *device) pk_must_check;
void pk_timing_cache_close(struct pk_timing_cache *cache); // does not save
PK_DEFINE_AUTO(pk_timing_cache, pk_timing_cache_close);

// Microseconds, or a negative number when unknown. op_key: what is computed (types, shapes,
// attributes, no names); tactic: the kernel's name.
double pk_timing_cache_get(
	const struct pk_timing_cache *cache, const char *op_key, const char *tactic);
int pk_timing_cache_put(
	struct pk_timing_cache *cache, const char *op_key, const char *tactic, double us);
// The tactic that was chosen for an operation once all were measured, and what makes it again
// without a search (a cuDNN plan's JSON; "" when nothing does). Both are kept beside its time and
// valid until the next put. False: not known.
bool pk_timing_cache_winner(const struct pk_timing_cache *cache, const char *op_key,
	const char **tactic, const char **plan);
int pk_timing_cache_put_winner(
	struct pk_timing_cache *cache, const char *op_key, const char *tactic, const char *plan);
// Writes the file atomically when something was put since the last time.
int pk_timing_cache_save(struct pk_timing_cache *cache, struct pk_err *err);
size_t pk_timing_cache_len(const struct pk_timing_cache *cache);
