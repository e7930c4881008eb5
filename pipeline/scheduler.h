// SPDX-License-Identifier: Apache-2.0
// Decides which camera's frame is inferred next: fair by priority, capped by rate, never blocking
// a camera.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/list.h"
#include "pipeline/mailbox.h"

struct pk_scheduler;

// A camera's way into the scheduler, embedded in its owner. Reference counted: the scheduler keeps
// one reference while the lane is added, the taker of a frame another.
struct pk_lane {
	_Atomic int refs;
	void (*release)(struct pk_lane *lane); // called by the last unref
	struct pk_mailbox mailbox;
	// Owned by the scheduler's lock once added
	struct pk_list link;
	struct pk_scheduler *scheduler; // NULL: not added
	int priority;                   // 0..100
	int64_t min_interval_ns;        // 0: every frame
	int64_t next_due_ns;
	uint64_t pass; // stride scheduling: grows by less for a higher priority
};

struct pk_scheduler *pk_scheduler_create(void) pk_must_check; // NULL: no memory
// Lanes must have been removed.
void pk_scheduler_destroy(struct pk_scheduler *scheduler);
PK_DEFINE_AUTO(pk_scheduler, pk_scheduler_destroy);

// One reference is the caller's.
void pk_lane_init(struct pk_lane *lane, void (*release)(struct pk_lane *lane));
struct pk_lane *pk_lane_ref(struct pk_lane *lane);
void pk_lane_unref(struct pk_lane *lane);

void pk_scheduler_add(struct pk_scheduler *scheduler, struct pk_lane *lane);
// Afterwards no frame of it is taken any more; one that was taken may still be at work.
void pk_scheduler_remove(struct pk_scheduler *scheduler, struct pk_lane *lane);
// priority 0..100; max_rate_hz 0: no cap. Any thread, any time.
void pk_scheduler_set(
	struct pk_scheduler *scheduler, struct pk_lane *lane, int priority, double max_rate_hz);

// Any thread. Takes the caller's reference to frame; the newest wins. lane need not be added: then
// the frame waits in the mailbox.
void pk_scheduler_offer(
	struct pk_scheduler *scheduler, struct pk_lane *lane, struct pk_frame *frame);

// Waits up to timeout_ns for a frame of any lane. The frame and a reference to *lane become the
// caller's; NULL on timeout or after pk_scheduler_wake.
// Under load each lane gets frames in proportion to 1 + priority (stride scheduling, Waldspurger
// and Weihl 1995), so the lowest priority is slow but never starved.
struct pk_frame *pk_scheduler_take(
	struct pk_scheduler *scheduler, int64_t timeout_ns, struct pk_lane **lane) pk_must_check;
// Makes one waiting take return early.
void pk_scheduler_wake(struct pk_scheduler *scheduler);
