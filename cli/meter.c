// SPDX-License-Identifier: Apache-2.0
// Bytes, rates and remaining time for people.
#include "cli/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"

#define REDRAW_EVERY_NS (PK_NS_PER_S / 10)
#define BAR_CELLS       20

void pk_meter_format_size(int64_t bytes, char out[PK_METER_SIZE])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes / 1024;
	size_t i = 0;
	if (bytes < 1024) {
		snprintf(out, PK_METER_SIZE, "%" PRId64 " B", bytes);
		return;
	}
	for (; v >= 1024 && i + 1 < PK_ARRAY_LEN(units); i++)
		v /= 1024;
	snprintf(out, PK_METER_SIZE, "%.1f %s", v, units[i]);
}

void pk_meter_format(const struct pk_meter *meter, int64_t now_ns, int64_t done, int64_t total,
	char out[PK_METER_TEXT])
{
	char done_text[PK_METER_SIZE], total_text[PK_METER_SIZE], rate_text[PK_METER_SIZE];
	char left_text[PK_DURATION_MAX] = "?", bar[BAR_CELLS + 1];
	double seconds = (double)(now_ns - meter->start_ns) / (double)PK_NS_PER_S;
	double rate = seconds > 0 ? (double)(done - meter->first_done) / seconds : 0;
	double part = total > 0 ? (double)done / (double)total : 1;
	int n = (int)(part * BAR_CELLS);
	memset(bar, '.', BAR_CELLS);
	memset(bar, '#', n < 0 ? 0 : n > BAR_CELLS ? BAR_CELLS : (size_t)n);
	bar[BAR_CELLS] = '\0';
	pk_meter_format_size(done, done_text);
	pk_meter_format_size(total, total_text);
	pk_meter_format_size((int64_t)rate, rate_text);
	if (rate > 0 && seconds > 0.5) // earlier it is a wild guess
		pk_format_duration(
			(int64_t)((double)(total - done) / rate * (double)PK_NS_PER_S), left_text);
	snprintf(out, PK_METER_TEXT, "[%s] %3d%%  %s of %s  %s/s  %s left", bar, (int)(part * 100),
		done_text, total_text, rate_text, left_text);
}

void pk_meter_begin(struct pk_meter *meter, bool quiet)
{
	*meter = (struct pk_meter){.draw = !quiet && isatty(STDERR_FILENO)};
}

void pk_meter_update(struct pk_meter *meter, int64_t done_bytes, int64_t total_bytes)
{
	char line[PK_METER_TEXT];
	int64_t now_ns = pk_now_ns();
	if (meter->start_ns == 0) {
		meter->start_ns = now_ns;
		meter->first_done = done_bytes;
	}
	if (!meter->draw || now_ns - meter->drawn_ns < REDRAW_EVERY_NS)
		return;
	pk_meter_format(meter, now_ns, done_bytes, total_bytes, line);
	fprintf(stderr, "\r\033[K%s", line);
	meter->drawn_ns = now_ns;
}

void pk_meter_clear(struct pk_meter *meter)
{
	if (meter->drawn_ns != 0)
		fputs("\r\033[K", stderr);
	meter->drawn_ns = 0;
}
