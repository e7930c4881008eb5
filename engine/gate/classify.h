// SPDX-License-Identifier: Apache-2.0
// Classifications against reference classifications: whether the winner and the distribution stay.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pk_class_agreement {
	int64_t n_rows;
	int64_t n_same_top1;
	double top1;    // agreement, 0..1; 1 without rows
	double mean_kl; // mean divergence of found from reference, in nats; >= 0
};

// Adds rows of n_classes probabilities (or logits: is_logits) to the figures; zero-initialise them.
// A row with NaN or infinity in found agrees on nothing and has a divergence of 1e3.
void pk_class_agreement_add(struct pk_class_agreement *sum, const float *found,
	const float *reference, int64_t n_rows, int64_t n_classes, bool is_logits);
