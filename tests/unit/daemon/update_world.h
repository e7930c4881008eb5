// SPDX-License-Identifier: Apache-2.0
// A disk, a registry and timers around an update machine, and what must hold after every step.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first.
#include <cmocka.h>

#include "daemon/update.h"

#define WORLD_DIGESTS 6
#define WORLD_NOW_S   INT64_C(1790000000)

struct world {
	struct pk_update u;
	struct pk_up_record disk;
	bool has_disk;
	// What was asked and is not answered yet.
	enum pk_up_action_type effect; // of u.serial
	bool in_effect, resolving, saving, poll_armed, deadline_armed, no_model;
	int64_t effect_serial, resolve_serial, save_serial;
	bool engine[WORLD_DIGESTS]; // is on disk
	int wanted;                 // what the tag names
	bool held;                  // this node is not in the rollout
	char chain[PK_DIGEST_TEXT]; // handed to the fallback chain; "": nothing
	bool activated;             // the candidate was told to serve
	int64_t now_s, highest_seq; // ever on disk
	unsigned long n_steps, n_commits, n_rollbacks, n_rejects, n_told[PK_N_UP_TELLS];
	// After the checks of each action; may be NULL.
	void (*acted)(struct world *w, const struct pk_up_action *action);
	void *ctx;
};

// Digest i, and its sequence number.
void world_digest(int i, char out[PK_DIGEST_TEXT]);
int world_index(const char *digest); // -1: none of ours
void world_init(struct world *w);
// One step; what is wrong with it fails the test. save: whether writes succeed.
void world_feed(struct world *w, const struct pk_up_event *event, bool save);
// The process dies: only the disk stays; START follows.
void world_crash(struct world *w);
// Answers what is under way, well or badly. False: nothing is under way.
bool world_answer(struct world *w, bool well, bool save);
// Everything works from now on: until it rests. Fails when it does not.
void world_calm(struct world *w);
const char *world_describe(const struct world *w);
