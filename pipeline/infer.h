// SPDX-License-Identifier: Apache-2.0
// The inference thread: takes the next frame, runs its model, hands the result to the sinks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "pipeline/pipeline.h"
#include "pipeline/scheduler.h"
#include "pipeline/serving.h"
#include "pipeline/station.h"

struct pk_infer;

// A model of the config and what it is served with now; created in passthrough ("no engine yet").
// Owned by the main thread; the inference thread reads it under the lock of pk_infer.
struct pk_model_slot {
	char name[64];
	double conf;                // < 0: the card's
	struct pk_serving *serving; // never NULL; may be &none
	struct pk_serving none;     // passthrough without an assignment, or after a fault
	struct pk_serving *retired; // failed while serving; freed by the main thread
	bool announce;              // the next result is the first of a new assignment
	int64_t last_result_ns;
};

struct pk_model_slot *pk_model_slot_create(const char *name, double conf) pk_must_check;
void pk_model_slot_destroy(struct pk_model_slot *slot); // after pk_infer_settle

// events is copied; scheduler is borrowed. The thread starts at once.
int pk_infer_create(struct pk_scheduler *scheduler, const struct pk_pipeline_events *events,
	struct pk_infer **out, struct pk_err *err) pk_must_check;
// Stops the thread; false when it hangs in an engine for longer than ~1 s: then it and all that it
// may touch must be left alone.
bool pk_infer_destroy(struct pk_infer *infer);

// The frame at work goes on with what it had; all later ones meet the new route.
void pk_infer_set_route(
	struct pk_infer *infer, struct pk_station *station, const struct pk_route *route);
// Puts serving (owned) into the slot and gives what was there before, the caller's to destroy after
// pk_infer_settle; NULL when that was the slot's own passthrough state. *retired: one that failed
// earlier, likewise.
struct pk_serving *pk_infer_swap(struct pk_infer *infer, struct pk_model_slot *slot,
	struct pk_serving *serving, struct pk_serving **retired) pk_must_check;
// The same for the decoder of the slot's engine (another threshold), if serving is still what the
// slot has. Gives the one that is out of use now: the old one, or decoder itself.
struct pk_decoder *pk_infer_swap_decoder(struct pk_infer *infer, struct pk_model_slot *slot,
	const struct pk_serving *serving, struct pk_decoder *decoder) pk_must_check;
// What the slot has now. Valid until the caller's own next swap: only the main thread destroys.
struct pk_serving *pk_infer_serving(struct pk_infer *infer, struct pk_model_slot *slot);
// Waits until the frame at work, if any, is done, so that what was swapped out is unused. False
// after timeout_ns: it hangs.
bool pk_infer_settle(struct pk_infer *infer, int64_t timeout_ns) pk_must_check;

int64_t pk_infer_last_progress_ns(const struct pk_infer *infer);
