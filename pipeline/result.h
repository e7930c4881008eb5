// SPDX-License-Identifier: Apache-2.0
// What a model said of one frame, and its line of JSON (schema 1, docs/EVENTS.md).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "config/card.h"
#include "engine/tensor.h"
#include "pipeline/frame.h"

struct pk_detection {
	float x1, y1, x2,
		y2;  // source pixels, clipped to what the model saw; all of that for classify
	float score; // 0..1
	int class_idx;
};

#define PK_RESULT_MAX_DETECTIONS 1000

// An output passed on as numbers (decode family raw).
struct pk_result_tensor {
	const char *name;
	struct pk_shape shape;
	const float *data; // valid while the sinks run
	size_t n;          // elements
};
// Values of one result that its line of JSON carries; a tensor that would exceed it is left out and
// marked, and so are the runs of a class map.
#define PK_RESULT_MAX_VALUES 4096

// A class for every cell of a grid over the picture (decode family semantic).
struct pk_result_map {
	int width, height;       // cells; 0: there is none
	const uint16_t *classes; // row-major, valid while the sinks run
	float x1, y1, x2, y2;    // what the grid covers, source pixels; may reach over the picture
};

// Fixed memory, made once per context: nothing is allocated per frame.
struct pk_result {
	const char *camera;
	struct pk_frame *frame;     // borrowed while the sinks run
	const char *model;          // config name
	const char *model_digest;   // "sha256:…" of the artifact's manifest, or ""
	const char *rung;           // "engine", "building", "cpu", "passthrough"
	const char *runtime;        // "cpu", "cuda", or "" in passthrough
	const char *cause;          // why not `engine`; "" when it is
	const struct pk_card *card; // labels; NULL in passthrough
	struct pk_detection *detections;
	size_t n_detections;
	const struct pk_result_tensor *tensors; // family raw only
	size_t n_tensors;
	const struct pk_result_map *class_map; // family semantic only; else NULL
	int64_t age_ns;                        // capture to now, filled when the sinks get it
	uint64_t n_dropped; // frames of this camera that no model saw, since it started
};

// One line with '\n'. Appends; allocates only when out must grow.
int pk_result_write_json(const struct pk_result *result, struct pk_buf *out);
