// SPDX-License-Identifier: Apache-2.0
// Does the picture itself look right? Frozen, black, covered and blurred pictures, seen on a grid
// of their brightness once a second.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "engine/image/image.h"

enum pk_picture_state {
	PK_PICTURE_GOOD,
	PK_PICTURE_FROZEN, // worst first: the first that holds is what is said
	PK_PICTURE_BLACK,
	PK_PICTURE_COVERED,
	PK_PICTURE_BLURRED,
	PK_N_PICTURE_STATES,
};

#define PK_PICTURE_GRID_W      64
#define PK_PICTURE_GRID_H      36
#define PK_PICTURE_INTERVAL_NS INT64_C(1000000000)

// What one picture looks like.
struct pk_picture_figures {
	uint8_t grid[PK_PICTURE_GRID_H][PK_PICTURE_GRID_W]; // brightness, 0..255
	double mean, spread; // of the grid; spread: standard deviation
	double detail; // mean second difference beside the grid's points, by spread: sharpness that
		       // does not depend on the light
};
void pk_picture_measure(const struct pk_image *image, struct pk_picture_figures *out);

// One thread. Zero-initialise, then set checks.
struct pk_picture_watch {
	struct pk_picture_checks checks;
	int64_t next_ns; // no look before
	struct pk_picture_figures now;
	uint8_t before[PK_PICTURE_GRID_H][PK_PICTURE_GRID_W];
	int64_t before_ns;                     // 0: no look yet
	int64_t since_ns[PK_N_PICTURE_STATES]; // since when it has looked so; 0: it does not
	double usual_detail;
	int n_learned;
	enum pk_picture_state state;
};

// Looks at the picture if a second has passed since the last look (else gives the state as it was).
// Allocates nothing. Frozen means: not one point of the grid has changed; noise of a sensor changes
// many, so only a repeated picture or a synthetic one is that still.
enum pk_picture_state pk_picture_look(
	struct pk_picture_watch *watch, const struct pk_image *image, int64_t now_ns);

// "frozen: the picture has not changed for 30 s"; "" when good.
#define PK_PICTURE_CAUSE_MAX 128
void pk_picture_cause(enum pk_picture_state state, const struct pk_picture_checks *checks,
	char out[PK_PICTURE_CAUSE_MAX]);
