// SPDX-License-Identifier: Apache-2.0
// For which runtime a model's engines are made here: a chain of names against what can be used.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "daemon/fallback.h"
#include "engine/engine.h"

struct pk_target_choice {
	char runtime[32];                // of the tuned engine; "": none of the chain can be used
	int opt_level;                   // of the tuned engine
	bool int8;                       // the tuned engine, where there is a calibration
	bool quick_ok;                   // a quick cpu engine is of use meanwhile
	char better_cause[PK_CAUSE_MAX]; // why not the chain's first; "" when it is
};

// The chain decides alone: what it does not name is never used. statuses: what this build has and
// what probing it said.
void pk_target_choose(const struct pk_model_config *model, int opt_level,
	const struct pk_runtime_status *statuses, size_t n_statuses, struct pk_target_choice *out);
bool pk_target_equal(const struct pk_target_choice *a, const struct pk_target_choice *b);
