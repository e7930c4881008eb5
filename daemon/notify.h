// SPDX-License-Identifier: Apache-2.0
// What systemd is told (sd_notify): READY, STATUS, WATCHDOG, RELOADING, STOPPING.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/loop.h"

struct pk_notify {
	struct pk_loop *loop;
	int64_t watchdog_ns; // half of WATCHDOG_USEC; 0: none is set
	bool (*alive)(void *ctx);
	void *ctx;
	struct pk_timer timer;
	char status[512]; // last one told
};

// alive: asked before each WATCHDOG=1; false lets the watchdog run out.
void pk_notify_init(
	struct pk_notify *notify, struct pk_loop *loop, bool (*alive)(void *ctx), void *ctx);
void pk_notify_finish(struct pk_notify *notify);
void pk_notify_ready(struct pk_notify *notify); // also ends a reload
void pk_notify_reloading(struct pk_notify *notify);
void pk_notify_stopping(struct pk_notify *notify);
void pk_notify_status(struct pk_notify *notify, const char *line); // told when it is another one
