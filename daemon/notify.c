// SPDX-License-Identifier: Apache-2.0
// sd_notify and the watchdog timer. Without systemd all of it does nothing.
#include "daemon/notify.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

static void on_timer(void *ctx)
{
	struct pk_notify *notify = ctx;
	pk_loop_start_timer(notify->loop, &notify->timer, notify->watchdog_ns);
	if (notify->alive(notify->ctx))
		(void)sd_notify(0, "WATCHDOG=1");
}

void pk_notify_init(
	struct pk_notify *notify, struct pk_loop *loop, bool (*alive)(void *ctx), void *ctx)
{
	*notify = (struct pk_notify){.loop = loop, .alive = alive, .ctx = ctx};
	notify->timer = (struct pk_timer){.fire = on_timer, .ctx = notify};
	uint64_t usec = 0;
	if (sd_watchdog_enabled(0, &usec) <= 0 || usec == 0)
		return;
	notify->watchdog_ns = (int64_t)(usec / 2) * PK_NS_PER_US;
	pk_loop_start_timer(loop, &notify->timer, 0);
}

void pk_notify_finish(struct pk_notify *notify)
{
	pk_loop_stop_timer(&notify->timer);
}

void pk_notify_ready(pk_unused struct pk_notify *notify)
{
	(void)sd_notify(0, "READY=1");
}

void pk_notify_reloading(pk_unused struct pk_notify *notify)
{
	(void)sd_notifyf(
		0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(pk_now_ns() / PK_NS_PER_US));
}

void pk_notify_stopping(pk_unused struct pk_notify *notify)
{
	(void)sd_notify(0, "STOPPING=1");
}

void pk_notify_status(struct pk_notify *notify, const char *line)
{
	if (strcmp(notify->status, line) == 0)
		return;
	snprintf(notify->status, sizeof(notify->status), "%s", line);
	(void)sd_notifyf(0, "STATUS=%s", notify->status);
}
