// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression: of boxes that overlap, the best one stays. Pure, deterministic.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pk_candidate {
	float x1, y1, x2, y2; // any units, x1 <= x2, y1 <= y2
	float score;
	int class_idx;
	uint32_t idx; // position in the model's output: breaks ties
};

// Boxes that are compared with each other at most: the best ones by score. Bounds the work of one
// frame whatever the model says.
#define PK_NMS_MAX 3000

// In place, best score first, equal scores by lower idx.
void pk_nms_sort(struct pk_candidate *c, size_t n);

// Sorts, then keeps at most max_out boxes at the front and gives their number. Of two boxes with
// intersection over union > iou (of one class, or of any when class_agnostic) the later in order
// goes. iou >= 1: none is suppressed. Never allocates.
size_t pk_nms(struct pk_candidate *c, size_t n, double iou, bool class_agnostic, size_t max_out);

// 0..1; 0 for boxes without area.
float pk_nms_iou(const struct pk_candidate *a, const struct pk_candidate *b);
