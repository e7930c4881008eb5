// SPDX-License-Identifier: Apache-2.0
// The control plane's one loop: descriptors by epoll, timers by the monotonic clock. Not
// thread-safe: everything here happens on the thread that runs it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/list.h"

struct pk_loop;

// One watched descriptor; the caller's memory, zero-initialised before the first use.
struct pk_watch {
	int fd;
	bool active;
	void (*ready)(void *ctx, uint32_t events); // EPOLLIN, EPOLLOUT, EPOLLHUP, …
	void *ctx;
};

// One timer, one shot; the caller's memory, zero-initialised before the first use.
struct pk_timer {
	void (*fire)(void *ctx);
	void *ctx;
	int64_t at_ns; // monotonic
	bool active;
	struct pk_list link;
};

struct pk_loop *pk_loop_create(struct pk_err *err) pk_must_check;
void pk_loop_destroy(struct pk_loop *loop); // watches and timers are forgotten, not closed
PK_DEFINE_AUTO(pk_loop, pk_loop_destroy);

// Calls watch->ready when fd is ready for one of events. 0 or -errno.
int pk_loop_watch(struct pk_loop *loop, struct pk_watch *watch, int fd, uint32_t events)
	pk_must_check;
int pk_loop_rewatch(struct pk_loop *loop, struct pk_watch *watch, uint32_t events);
// Before fd is closed. ready is not called any more, even if it was due. Safe when not active.
void pk_loop_unwatch(struct pk_loop *loop, struct pk_watch *watch);

// Fires once after delay_ns; a running timer starts anew.
void pk_loop_start_timer(struct pk_loop *loop, struct pk_timer *timer, int64_t delay_ns);
void pk_loop_stop_timer(struct pk_timer *timer); // safe when it does not run
// Time until it fires, at least 0; -1 when it does not run.
int64_t pk_timer_left_ns(const struct pk_timer *timer);

// Turns until pk_loop_quit. 0 or -errno of epoll.
int pk_loop_run(struct pk_loop *loop) pk_must_check;
// One turn that waits at most max_wait_ns. 0 or -errno.
int pk_loop_turn(struct pk_loop *loop, int64_t max_wait_ns) pk_must_check;
void pk_loop_quit(struct pk_loop *loop);
