// SPDX-License-Identifier: Apache-2.0
// Stride scheduling over the cameras' mailboxes, with rate caps.
#include "pipeline/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/checked.h"
#include "base/clock.h"

// A lane of weight w advances by PK_STRIDE_UNIT / w for each frame.
#define PK_STRIDE_UNIT (UINT64_C(1) << 24)

struct pk_scheduler {
	pthread_mutex_t lock;
	pthread_cond_t changed; // CLOCK_MONOTONIC
	struct pk_list lanes;
	uint64_t pass; // of the lane that was served last
	bool woken;
};

struct pk_scheduler *pk_scheduler_create(void)
{
	struct pk_scheduler *scheduler = calloc(1, sizeof(*scheduler));
	if (!scheduler)
		return NULL;
	pk_list_init(&scheduler->lanes);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&scheduler->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&scheduler->lock, NULL);
	return scheduler;
}

void pk_scheduler_destroy(struct pk_scheduler *scheduler)
{
	if (!scheduler)
		return;
	pthread_cond_destroy(&scheduler->changed);
	pthread_mutex_destroy(&scheduler->lock);
	free(scheduler);
}

void pk_lane_init(struct pk_lane *lane, void (*release)(struct pk_lane *lane))
{
	*lane = (struct pk_lane){.refs = 1, .release = release, .priority = 50};
	pk_list_init(&lane->link);
}

struct pk_lane *pk_lane_ref(struct pk_lane *lane)
{
	atomic_fetch_add_explicit(&lane->refs, 1, memory_order_relaxed);
	return lane;
}

void pk_lane_unref(struct pk_lane *lane)
{
	if (!lane || atomic_fetch_sub_explicit(&lane->refs, 1, memory_order_acq_rel) != 1)
		return;
	pk_mailbox_clear(&lane->mailbox);
	lane->release(lane);
}

void pk_scheduler_add(struct pk_scheduler *scheduler, struct pk_lane *lane)
{
	pthread_mutex_lock(&scheduler->lock);
	lane->scheduler = scheduler;
	lane->pass = scheduler->pass;
	pk_list_insert(&scheduler->lanes, &pk_lane_ref(lane)->link);
	pthread_cond_signal(&scheduler->changed);
	pthread_mutex_unlock(&scheduler->lock);
}

void pk_scheduler_remove(struct pk_scheduler *scheduler, struct pk_lane *lane)
{
	pthread_mutex_lock(&scheduler->lock);
	bool added = lane->scheduler == scheduler;
	lane->scheduler = NULL;
	pk_list_remove(&lane->link);
	pthread_mutex_unlock(&scheduler->lock);
	if (added)
		pk_lane_unref(lane);
}

void pk_scheduler_set(
	struct pk_scheduler *scheduler, struct pk_lane *lane, int priority, double max_rate_hz)
{
	pthread_mutex_lock(&scheduler->lock);
	lane->priority = PK_MIN(PK_MAX(priority, 0), 100);
	lane->min_interval_ns = 0;
	if (max_rate_hz > 1e-6)
		lane->min_interval_ns = (int64_t)((double)PK_NS_PER_S / max_rate_hz);
	lane->next_due_ns = 0;
	pthread_cond_signal(&scheduler->changed);
	pthread_mutex_unlock(&scheduler->lock);
}

void pk_scheduler_offer(
	struct pk_scheduler *scheduler, struct pk_lane *lane, struct pk_frame *frame)
{
	pk_mailbox_put(&lane->mailbox, frame);
	pthread_mutex_lock(&scheduler->lock);
	pthread_cond_signal(&scheduler->changed);
	pthread_mutex_unlock(&scheduler->lock);
}

static bool pk_lane_before(const struct pk_lane *a, const struct pk_lane *b)
{
	if (a->pass != b->pass)
		return a->pass < b->pass;
	return a->priority > b->priority;
}

// The filled lane whose turn it is, or NULL and when the next capped one will be due (or
// INT64_MAX).
static struct pk_lane *pk_scheduler_pick(
	struct pk_scheduler *scheduler, int64_t now_ns, int64_t *due_ns)
{
	struct pk_lane *best = NULL, *lane;
	*due_ns = INT64_MAX;
	pk_list_each (lane, &scheduler->lanes, link) {
		if (!pk_mailbox_filled(&lane->mailbox))
			continue;
		if (lane->min_interval_ns && now_ns < lane->next_due_ns) {
			*due_ns = PK_MIN(*due_ns, lane->next_due_ns);
			continue;
		}
		// An idle lane must not save up turns for a burst later.
		lane->pass = PK_MAX(lane->pass, scheduler->pass);
		if (!best || pk_lane_before(lane, best))
			best = lane;
	}
	return best;
}

static void pk_scheduler_charge(
	struct pk_scheduler *scheduler, struct pk_lane *lane, int64_t now_ns)
{
	scheduler->pass = lane->pass;
	lane->pass += PK_STRIDE_UNIT / (uint64_t)(1 + lane->priority);
	// Equal lanes take turns: the one just served goes behind its equals.
	pk_list_remove(&lane->link);
	pk_list_insert(&scheduler->lanes, &lane->link);
	if (!lane->min_interval_ns)
		return;
	// Keeps the mean rate over small jitter, but does not catch up after a pause.
	if (now_ns - lane->next_due_ns > lane->min_interval_ns)
		lane->next_due_ns = now_ns;
	lane->next_due_ns += lane->min_interval_ns;
}

static void pk_scheduler_sleep(struct pk_scheduler *scheduler, int64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / PK_NS_PER_S),
		.tv_nsec = (long)(until_ns % PK_NS_PER_S)};
	pthread_cond_timedwait(&scheduler->changed, &scheduler->lock, &until);
}

struct pk_frame *pk_scheduler_take(
	struct pk_scheduler *scheduler, int64_t timeout_ns, struct pk_lane **lane)
{
	int64_t deadline_ns = pk_now_ns() + timeout_ns;
	struct pk_frame *frame = NULL;
	pthread_mutex_lock(&scheduler->lock);
	while (!frame && !scheduler->woken) {
		int64_t now_ns = pk_now_ns(), due_ns;
		struct pk_lane *next = pk_scheduler_pick(scheduler, now_ns, &due_ns);
		if (next)
			frame = pk_mailbox_take(&next->mailbox);
		if (frame) {
			pk_scheduler_charge(scheduler, next, now_ns);
			*lane = pk_lane_ref(next);
		} else if (now_ns >= deadline_ns) {
			break;
		} else if (!next) {
			pk_scheduler_sleep(scheduler, PK_MIN(due_ns, deadline_ns));
		}
	}
	scheduler->woken = false;
	pthread_mutex_unlock(&scheduler->lock);
	return frame;
}

void pk_scheduler_wake(struct pk_scheduler *scheduler)
{
	pthread_mutex_lock(&scheduler->lock);
	scheduler->woken = true;
	pthread_cond_broadcast(&scheduler->changed);
	pthread_mutex_unlock(&scheduler->lock);
}
