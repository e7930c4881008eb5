// SPDX-License-Identifier: Apache-2.0
// epoll and a sorted list of timers.
#include "daemon/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"

#define BATCH       32
#define MAX_WAIT_NS (60 * PK_NS_PER_S)

struct pk_loop {
	int epoll_fd;
	bool quit;
	struct pk_list timers; // soonest first
	struct epoll_event batch[BATCH];
	int n_batch;
};

struct pk_loop *pk_loop_create(struct pk_err *err)
{
	struct pk_loop *loop = calloc(1, sizeof(*loop));
	if (!loop) {
		(void)pk_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	pk_list_init(&loop->timers);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		(void)pk_fail_errno(err, "epoll");
		free(loop);
		return NULL;
	}
	return loop;
}

void pk_loop_destroy(struct pk_loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	free(loop);
}

int pk_loop_watch(struct pk_loop *loop, struct pk_watch *watch, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	watch->fd = fd;
	watch->active = true;
	return 0;
}

int pk_loop_rewatch(struct pk_loop *loop, struct pk_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};
	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0 ? -errno : 0;
}

void pk_loop_unwatch(struct pk_loop *loop, struct pk_watch *watch)
{
	if (!watch->active)
		return;
	watch->active = false;
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	// What this turn still holds of it must not be delivered: its memory may go.
	for (int i = 0; i < loop->n_batch; i++) {
		if (loop->batch[i].data.ptr == watch)
			loop->batch[i].data.ptr = NULL;
	}
}

void pk_loop_start_timer(struct pk_loop *loop, struct pk_timer *timer, int64_t delay_ns)
{
	pk_loop_stop_timer(timer);
	timer->at_ns = pk_now_ns() + PK_MAX(delay_ns, INT64_C(0));
	timer->active = true;
	struct pk_timer *it;
	pk_list_each (it, &loop->timers, link) {
		if (it->at_ns > timer->at_ns)
			break;
	}
	pk_list_insert(&it->link, &timer->link);
}

void pk_loop_stop_timer(struct pk_timer *timer)
{
	if (!timer->active)
		return;
	timer->active = false;
	pk_list_remove(&timer->link);
}

int64_t pk_timer_left_ns(const struct pk_timer *timer)
{
	return timer->active ? PK_MAX(timer->at_ns - pk_now_ns(), INT64_C(0)) : -1;
}

static struct pk_timer *soonest(struct pk_loop *loop)
{
	return pk_list_empty(&loop->timers)
		       ? NULL
		       : pk_list_entry(loop->timers.next, struct pk_timer, link);
}

// Only what was due when it began: a timer that starts itself at once cannot hold the loop.
static void fire_timers(struct pk_loop *loop)
{
	int64_t now_ns = pk_now_ns();
	struct pk_timer *timer;
	while ((timer = soonest(loop)) && timer->at_ns <= now_ns) {
		pk_loop_stop_timer(timer);
		timer->fire(timer->ctx);
	}
}

static int wait_ms(struct pk_loop *loop, int64_t max_wait_ns)
{
	struct pk_timer *timer = soonest(loop);
	int64_t ns = PK_MIN(max_wait_ns, MAX_WAIT_NS);
	if (timer)
		ns = PK_MIN(ns, PK_MAX(timer->at_ns - pk_now_ns(), INT64_C(0)));
	return (int)((ns + PK_NS_PER_MS - 1) / PK_NS_PER_MS);
}

int pk_loop_turn(struct pk_loop *loop, int64_t max_wait_ns)
{
	int n = epoll_wait(loop->epoll_fd, loop->batch, BATCH, wait_ms(loop, max_wait_ns));
	if (n < 0 && errno != EINTR)
		return -errno;
	loop->n_batch = PK_MAX(n, 0);
	for (int i = 0; i < loop->n_batch; i++) {
		struct pk_watch *watch = loop->batch[i].data.ptr;
		if (watch)
			watch->ready(watch->ctx, loop->batch[i].events);
	}
	loop->n_batch = 0;
	fire_timers(loop);
	return 0;
}

int pk_loop_run(struct pk_loop *loop)
{
	int r = 0;
	while (r == 0 && !loop->quit)
		r = pk_loop_turn(loop, MAX_WAIT_NS);
	return r;
}

void pk_loop_quit(struct pk_loop *loop)
{
	loop->quit = true;
}
