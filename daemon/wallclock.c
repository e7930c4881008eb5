// SPDX-License-Identifier: Apache-2.0
// Reads and keeps the last known time.
#include "daemon/wallclock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/record.h"

#define KEEP_EACH_S 86400 // an SD card lives by what is not written
#define MAX_BYTES   64
// No clock was right before this program was written.
#define BUILD_S INT64_C(1764460800) // 2025-11-30

void pk_wallclock_init(struct pk_wallclock *clock, const char *folder)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES);
	*clock = (struct pk_wallclock){
		.path = pk_fs_join(folder, "last-known-time"), .read_ns = pk_boottime_ns()};
	if (clock->path && pk_record_load(clock->path, &text, NULL, NULL) == 0)
		clock->last_known_s = PK_MAX(strtoll(pk_buf_cstr(&text), NULL, 10), 0LL);
}

void pk_wallclock_finish(struct pk_wallclock *clock)
{
	free(clock->path);
	*clock = (struct pk_wallclock){0};
}

static bool is_synchronised(void)
{
	struct timex timex = {0};
	return adjtimex(&timex) >= 0 && !(timex.status & STA_UNSYNC);
}

void pk_wallclock_facts(const struct pk_wallclock *clock, struct pk_clock_facts *out)
{
	*out = (struct pk_clock_facts){
		.now_s = pk_realtime_ns() / PK_NS_PER_S,
		.synchronised = is_synchronised(),
		.last_known_s = clock->last_known_s,
		.build_s = BUILD_S,
		.uptime_s = (pk_boottime_ns() - clock->read_ns) / PK_NS_PER_S,
	};
}

void pk_wallclock_keep(struct pk_wallclock *clock)
{
	struct pk_clock_facts facts;
	char text[MAX_BYTES];
	pk_wallclock_facts(clock, &facts);
	if (!clock->path || !facts.synchronised || facts.now_s < clock->last_known_s + KEEP_EACH_S)
		return;
	int n = snprintf(text, sizeof(text), "%lld", (long long)facts.now_s);
	if (pk_record_save(NULL, clock->path, text, (size_t)n, NULL) < 0)
		return; // tried again with the next
	clock->last_known_s = facts.now_s;
	clock->read_ns = pk_boottime_ns();
}
