// SPDX-License-Identifier: Apache-2.0
// Detections against reference detections: matching, score differences, average precision.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

// Plain so that whoever decodes can fill it. Any units, x1 <= x2, y1 <= y2.
struct pk_gate_box {
	float x1, y1, x2, y2;
	float score; // 0..1; of no use in labelled truth
	int class_idx;
	int image_idx;
};

// 0..1; 0 for boxes without area or with NaN.
double pk_gate_box_iou(const struct pk_gate_box *a, const struct pk_gate_box *b);

struct pk_match_options {
	double iou;       // a pair overlaps at least this much
	double threshold; // the score at which a detection counts when the model serves
	double margin;    // this close to the threshold it may fall on either side: such boxes may
			  // take part in pairs, but need not
};

struct pk_match {
	size_t n_reference, n_found;           // clearly above the threshold
	size_t n_over_reference, n_over_found; // above the threshold
	double recall, precision; // matched part of n_reference and n_found; 1 when there are none
	size_t n_pairs;
	double mean_score_diff, max_score_diff; // |found - reference| over pairs
	double signed_score_diff;               // mean of found - reference: scores all squeezed
	double count_change; // |n_over_found - n_over_reference| / n_over_reference
	int first_missing;   // index of the first clear reference box without a partner; -1
	int first_extra;     // index of the first clear found box without a partner; -1
};

// Best overlap first within image and class; each box has one partner at most. Boxes with NaN never
// match. 0 or -ENOMEM.
int pk_match_boxes(const struct pk_gate_box *reference, size_t n_reference,
	const struct pk_gate_box *found, size_t n_found, const struct pk_match_options *options,
	struct pk_match *out) pk_must_check;

struct pk_average_precision {
	double ap50;      // mean over classes at IoU 0.5; -1 without truth
	double ap50_95;   // mean over IoU 0.5, 0.55 … 0.95
	size_t n_truth;   // boxes
	size_t n_classes; // classes with truth: only these count
};

// Mean average precision as COCO defines it: per class, detections by falling score (at most 100
// per image and class), each takes the free truth box of its image that it overlaps most; precision
// made monotone from the right, sampled at recall 0, 0.01 … 1. Crowd regions and area ranges are
// not part of it. Lin et al., "Microsoft COCO" (2014), detection evaluation. 0 or -ENOMEM.
int pk_average_precision(const struct pk_gate_box *truth, size_t n_truth,
	const struct pk_gate_box *found, size_t n_found, struct pk_average_precision *out)
	pk_must_check;
