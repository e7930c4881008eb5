// SPDX-License-Identifier: Apache-2.0
// Cleans the store after a record has come to name other models than before.
#pragma once

#include <stdbool.h>

#include "daemon/agent.h"
#include "daemon/loop.h"
#include "daemon/models.h"

struct pk_cleaning_job;

struct pk_cleaning {
	struct pk_agent *agent;
	const struct pk_models *models;
	struct pk_loop *loop;
	struct pk_timer timer;
	struct pk_cleaning_job *job; // under way; NULL: none
};

void pk_cleaning_init(struct pk_cleaning *cleaning, struct pk_loop *loop, struct pk_agent *agent,
	const struct pk_models *models);
void pk_cleaning_finish(struct pk_cleaning *cleaning);
// In a while; several wishes are one. Tried again later while the store is in use.
void pk_cleaning_want(struct pk_cleaning *cleaning);
