// SPDX-License-Identifier: Apache-2.0
// What picketd remembers of a model over restarts: one small record each (base/record.h), written
// before whatever it announces is done.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "daemon/update_record.h"

#define PK_STATE_MAX_BYTES  5120 // of a record: one block, with many older models two
#define PK_STATE_MAX_BROKEN 8    // the oldest goes first
#define PK_STATE_CAUSE_MAX  128

struct pk_state {
	struct pk_up_record update;
	struct pk_state_broken {
		char key[PK_DIGEST_TEXT]; // engine that can never be built here
		char cause[PK_STATE_CAUSE_MAX];
	} broken[PK_STATE_MAX_BROKEN];
	size_t n_broken;
	int64_t marked_seq; // what the sequence mark beside the record says (daemon/seq_mark.h)
};

void pk_state_init(struct pk_state *state); // as of a new node

// Reads DIR/NAME.json, or the generation before when that is torn or empty. -ENOENT: there is none;
// -EBADMSG: what there is is damaged, or gone while its sequence mark is there. *state is as after
// init then, but for the highest sequence number, which the mark keeps.
int pk_state_load(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
	pk_must_check;
// Power-cut safe; the generation before is kept as DIR/NAME.json.prev. A higher sequence number is
// in the mark before it is in the record. When all of it would not fit
// into PK_STATE_MAX_BYTES, the oldest broken engines are left out.
int pk_state_save(const char *dir, const char *name, struct pk_state *state, struct pk_err *err)
	pk_must_check;

// The content of a record. -EBADMSG: not one of ours, or values that cannot be. Pure.
int pk_state_decode(const char *text, size_t n, struct pk_state *state) pk_must_check;
int pk_state_encode(const struct pk_state *state, struct pk_buf *out) pk_must_check; // or -ENOMEM

const char *pk_state_broken_cause(const struct pk_state *state, const char *key); // NULL: it is not
void pk_state_remember_broken(struct pk_state *state, const char *key, const char *cause);
