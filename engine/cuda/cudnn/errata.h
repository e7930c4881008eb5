// SPDX-License-Identifier: Apache-2.0
// Plans that must not be used although cuDNN offers them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/cuda/cudnn/fusion.h"

struct pk_cudnn_erratum {
	size_t first_version, last_version; // cudnnGetVersion(), both inclusive
	int sm;                             // 87; 0: any
	int engine;                         // global index; -1: any
	int core;                           // enum pk_cudnn_core; -1: any
	int type;                           // of x, PK_CUDNN_DATA_*; -1: any
	const char *why;                    // for a person, with its source
};

// Ends with why == NULL.
extern const struct pk_cudnn_erratum pk_cudnn_errata[];

struct pk_cudnn_offer {
	size_t version;
	int sm; // 0: not known
	int engine;
	uint32_t notes; // bit i: numerical note i
};

// NULL when the plan may be tried, else why not: a row of the table, or numerics that Picket never
// takes: sums that depend on the order of threads or are kept in the half type; for f32 engines
// also inputs cut down to fewer bits, as tensor cores do.
const char *pk_cudnn_refusal(const struct pk_cudnn_erratum *table,
	const struct pk_cudnn_offer *offer, const struct pk_cudnn_fusion *fusion);
