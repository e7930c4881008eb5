// SPDX-License-Identifier: Apache-2.0
// What each precision must keep to: the gate's limits as data.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

// Limits of the checks G0 … G10 (engine/gate/verdict.h). A limit of 0 on "at most" figures that may
// be left out (marked *) means: this figure is not judged.
struct pk_gate_profile {
	enum pk_precision precision;
	double min_cosine;         // G1, also of mean-removed copies
	double max_rel_err;        // G2 *: largest |Δ| over the reference's range
	double rel_err_q999;       // G2 *
	double rel_err_q99;        // G2 *
	double max_other_ints;     // G2: part of the elements of integer outputs that may differ
	double min_sqnr_db;        // G3: of each output and channel
	bool channels_on_pictures; // G3: channels are judged on samples only, not on patterns
	double min_match;          // G4: recall and precision
	double match_iou;          // G4
	double score_mean;         // G5: mean |Δscore|
	double score_signed;       // G5: |mean Δscore|
	double score_max;          // G5 *
	double count_change;       // G6
	double map_retention;      // G7
	double top1;               // classifiers, in G4's place
	double max_kl;             // classifiers, in G5's place
	int64_t latency_ns;        // G10 *
	int64_t memory_bytes;      // G10 *: weights and activations
};

// The defaults of a precision; never NULL for a valid one.
const struct pk_gate_profile *pk_gate_profile_of(enum pk_precision precision);

// Puts a card's or caller's limits in the place of the profile's; 0 leaves one as it is. They are
// meant for fp32: a coarser precision may use all that its own profile allows.
void pk_gate_profile_limit(struct pk_gate_profile *profile, double max_rel_err, double min_cosine);
