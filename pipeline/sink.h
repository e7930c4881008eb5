// SPDX-License-Identifier: Apache-2.0
// Where results go. A sink never makes inference wait: what it cannot take at once is dropped and
// counted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/result.h"

struct pk_sink;

struct pk_sink_events {
	// The sink cannot deliver (code: negative errno, once until it recovers) or does again (0).
	// On the sink's own thread. May be NULL.
	void (*fault)(void *ctx, const char *sink, int code, const char *cause);
	void *ctx;
};

// Implementers' side: one table per kind.
struct pk_sink_ops {
	enum pk_sink_kind kind;
	bool wants_line; // takes the result's line of JSON
	// May allocate, open and start a thread. What is not there yet (a disk, a folder) is tried
	// again later and no error.
	int (*create)(const struct pk_sink_config *config, const struct pk_sink_events *events,
		struct pk_sink **out, struct pk_err *err);
	// Never waits, never allocates. False: dropped.
	bool (*take)(
		struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n);
	void (*destroy)(struct pk_sink *sink); // delivers what it has for a moment, then gives up
};

// Embedded first in each kind's own struct.
struct pk_sink {
	const struct pk_sink_ops *ops;
	char name[64];
	struct pk_sink_events events;
	_Atomic uint64_t n_taken, n_dropped;
	_Atomic uint64_t n_readers_dropped; // jsonl on a socket: too slow
};

extern const struct pk_sink_ops pk_sink_jsonl;
extern const struct pk_sink_ops pk_sink_snapshot;

// events is copied.
int pk_sink_create(const struct pk_sink_config *config, const struct pk_sink_events *events,
	struct pk_sink **out, struct pk_err *err) pk_must_check;
void pk_sink_destroy(struct pk_sink *sink);
PK_DEFINE_AUTO(pk_sink, pk_sink_destroy);
// line: the result as JSON, needed when ops->wants_line. Inference thread. False: dropped, counted.
bool pk_sink_take(struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n);

// For implementers: fills the common part and reports.
void pk_sink_init(struct pk_sink *sink, const struct pk_sink_ops *ops,
	const struct pk_sink_config *config, const struct pk_sink_events *events);
void pk_sink_fault(const struct pk_sink *sink, int code, const char *cause);
