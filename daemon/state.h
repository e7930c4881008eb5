// SPDX-License-Identifier: Apache-2.0
// What picketd remembers of a model over restarts: one small self-checking file each.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "daemon/fallback.h"

#define PK_STATE_MAX_BROKEN 32 // the oldest goes first

struct pk_state {
	char digest[PK_DIGEST_TEXT]; // manifest of the last model that served; "": none yet
	struct pk_state_broken {
		char key[PK_DIGEST_TEXT]; // engine that can never be built here
		char cause[PK_CAUSE_MAX];
	} broken[PK_STATE_MAX_BROKEN];
	size_t n_broken;
};

// Reads DIR/NAME.json, or the generation before when that is torn or empty. -ENOENT: there is none;
// -EBADMSG: what there is is damaged. *state is empty then.
int pk_state_load(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
	pk_must_check;
// Power-cut safe; the generation before is kept as DIR/NAME.json.prev.
int pk_state_save(const char *dir, const char *name, const struct pk_state *state,
	struct pk_err *err) pk_must_check;

const char *pk_state_broken_cause(const struct pk_state *state, const char *key); // NULL: it is not
void pk_state_remember_broken(struct pk_state *state, const char *key, const char *cause);
