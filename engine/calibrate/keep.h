// SPDX-License-Identifier: Apache-2.0
// Chooses which layers stay in float: those that hurt the outputs most, until the rest is good
// enough.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/calibrate/calibration.h"
#include "engine/ir/graph.h"

struct pk_keep_options {
	// A fresh float graph of the model, optimised without fuse_residual; destroyed by the
	// caller of make.
	int (*make)(void *ctx, struct pk_graph **out, struct pk_err *err);
	void *ctx;
	const void *const *inputs; // samples that the outputs are compared on
	size_t n_inputs;
	double min_sqnr_db;     // of every output
	double min_cosine;      // of every output
	double max_float_share; // of the layers, 0..1
	// Non-zero cancels (-ECANCELED). May be NULL.
	int (*progress)(void *ctx, int done, int total, const char *what);
	void *progress_ctx;
};

struct pk_keep_report {
	double first_sqnr_db, sqnr_db; // with all layers integer; at the end
	double cosine;
	int n_layers, n_float;
};

// Adds to calibration->float_layers, worst first. 0 whether or not the targets hold in the end.
int pk_calibration_keep(struct pk_calibration *calibration, const struct pk_keep_options *options,
	struct pk_keep_report *report, struct pk_err *err) pk_must_check;

// The quantised form of a float graph: pairs inserted, all passes run. n: layers treated, nullable.
int pk_calibration_apply(struct pk_graph *graph, const struct pk_calibration *calibration, int *n,
	struct pk_err *err) pk_must_check;
