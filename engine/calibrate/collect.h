// SPDX-License-Identifier: Apache-2.0
// Runs samples through the float graph and keeps a histogram of every activation.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/calibrate/calibration.h"
#include "engine/ir/graph.h"

struct pk_collector {
	const struct pk_graph *graph;     // not owned
	struct pk_magnitudes *histograms; // by value id
	struct pk_digest model;
	struct pk_digest *samples;
	size_t n_samples, cap_samples;
};

// graph: optimised, without fuse_residual, of one f32 input.
int pk_collector_init(struct pk_collector *c, const struct pk_graph *graph,
	const struct pk_digest *model, struct pk_err *err) pk_must_check;
void pk_collector_finish(struct pk_collector *c); // safe on a zeroed struct
bool pk_collector_has(const struct pk_collector *c, const struct pk_digest *sample);
// input: dense bytes of the graph's input; sample: their digest.
int pk_collector_run(struct pk_collector *c, const void *input, const struct pk_digest *sample,
	struct pk_err *err) pk_must_check;
// Ranges of all values that were seen to be other than 0; out is initialised by this.
int pk_collector_ranges(const struct pk_collector *c, enum pk_range_method method,
	double percentile, struct pk_calibration *out, struct pk_err *err) pk_must_check;

// The state as JSON, for a run that was cut short. Reading it back: -ESTALE when it belongs to
// another model or graph, -EINVAL when it is damaged; the collector is then empty.
int pk_collector_save(const struct pk_collector *c, struct pk_buf *out, struct pk_err *err)
	pk_must_check;
int pk_collector_restore(struct pk_collector *c, const void *text, size_t n, struct pk_err *err)
	pk_must_check;
