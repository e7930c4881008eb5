// SPDX-License-Identifier: Apache-2.0
// Cameras that the worker does not get for a while.
#include "daemon/aside.h"

#include "base/checked.h"
#include "base/clock.h"
#include "daemon/text.h"

static void wait_for_next(struct pk_aside *aside)
{
	int64_t next_ns = pk_faulty_next_ns(&aside->faulty);
	if (next_ns < INT64_MAX)
		pk_loop_start_timer(
			aside->loop, &aside->timer, PK_MAX(next_ns - pk_now_ns(), INT64_C(0)));
}

static void on_due(void *ctx)
{
	struct pk_aside *aside = ctx;
	const struct pk_faulty_camera *faulty;
	while ((faulty = pk_faulty_release(&aside->faulty, pk_now_ns())))
		pk_cameras_restarting(aside->cameras, faulty->name);
	aside->changed(aside->ctx);
	wait_for_next(aside);
}

void pk_aside_init(struct pk_aside *aside, struct pk_loop *loop, struct pk_cameras *cameras,
	void (*changed)(void *ctx), void *ctx)
{
	*aside =
		(struct pk_aside){.loop = loop, .cameras = cameras, .changed = changed, .ctx = ctx};
	aside->timer = (struct pk_timer){.fire = on_due, .ctx = aside};
}

void pk_aside_finish(struct pk_aside *aside)
{
	pk_loop_stop_timer(&aside->timer);
	pk_faulty_finish(&aside->faulty);
}

void pk_aside_crashed(struct pk_aside *aside, const char *camera, const char *cause)
{
	const struct pk_faulty_camera *faulty =
		camera ? pk_faulty_crashed(&aside->faulty, camera, pk_now_ns()) : NULL;
	char until[PK_ISO_TIME_MAX], text[PK_CAUSE_MAX];
	if (!faulty)
		return;
	pk_format_iso_time(pk_realtime_ns() + faulty->until_ns - faulty->last_ns, until);
	pk_text_format(text, sizeof(text), "ended the worker %u times (%s); tried again at %s",
		faulty->n, cause, until);
	pk_cameras_set_aside(aside->cameras, camera, text);
	aside->changed(aside->ctx);
	wait_for_next(aside);
}

void pk_aside_apply(struct pk_aside *aside, const struct pk_config_diff *diff)
{
	for (size_t i = 0; i < diff->cameras.n; i++)
		pk_faulty_forget(&aside->faulty, diff->cameras.items[i].name);
}

char *pk_aside_dump(const struct pk_aside *aside, const struct pk_config *config)
{
	return pk_faulty_dump(&aside->faulty, config);
}
