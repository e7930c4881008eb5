// SPDX-License-Identifier: Apache-2.0
// The calibration record: ranges of activations by value name, what they were drawn from, and which
// layers stay in float. Canonical JSON; its digest is part of the engine key.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/calibrate/magnitudes.h"

#define PK_CALIBRATION_MAX_BYTES (16u << 20)

struct pk_calibration_range {
	char *name; // of the value
	double max; // magnitude that becomes 127; above 0, finite
};

struct pk_calibration {
	enum pk_range_method method;
	double percentile;
	struct pk_digest model;    // the ONNX file that was calibrated
	struct pk_digest *samples; // of the input tensors, in order
	size_t n_samples;
	struct pk_calibration_range *ranges; // sorted by name
	size_t n_ranges, cap_ranges;
	char **float_layers; // names of the outputs of layers that stay in float
	size_t n_float_layers, cap_float_layers;
};

void pk_calibration_finish(struct pk_calibration *c); // safe on a zeroed struct
// 0 or -ENOMEM. Ranges: of names not there yet.
int pk_calibration_add_range(struct pk_calibration *c, const char *name, double max) pk_must_check;
int pk_calibration_add_float(struct pk_calibration *c, const char *name) pk_must_check;
void pk_calibration_sort(struct pk_calibration *c); // ranges by name; needed by find
double pk_calibration_find(const struct pk_calibration *c, const char *name); // 0: no range
bool pk_calibration_is_float(const struct pk_calibration *c, const char *name);

int pk_calibration_write(const struct pk_calibration *c, struct pk_buf *out, struct pk_err *err)
	pk_must_check;
// Hostile input: -EINVAL with what is wrong, -ENOMEM.
int pk_calibration_parse(const void *text, size_t n, struct pk_calibration *out, struct pk_err *err)
	pk_must_check;
