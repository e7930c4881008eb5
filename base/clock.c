// SPDX-License-Identifier: Apache-2.0
// Time in int64_t nanoseconds.
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t pk_clock_read(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * PK_NS_PER_S + ts.tv_nsec;
}

int64_t pk_now_ns(void)
{
	return pk_clock_read(CLOCK_MONOTONIC);
}

int64_t pk_boottime_ns(void)
{
	return pk_clock_read(CLOCK_BOOTTIME);
}

int64_t pk_thread_cpu_ns(void)
{
	return pk_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

int64_t pk_realtime_ns(void)
{
	return pk_clock_read(CLOCK_REALTIME);
}

void pk_format_iso_time(int64_t realtime_ns, char out[PK_ISO_TIME_MAX])
{
	int64_t s = realtime_ns / PK_NS_PER_S, rest_ns = realtime_ns % PK_NS_PER_S;
	if (rest_ns < 0) { // division rounds towards zero; a time of day counts upwards
		rest_ns += PK_NS_PER_S;
		s--;
	}
	struct tm tm;
	time_t t = (time_t)s;
	char day[PK_ISO_TIME_MAX - 8];
	// int64_t nanoseconds span the years 1677 to 2262, so gmtime_r has an answer.
	if (!gmtime_r(&t, &tm) || strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		day[0] = '\0';
	snprintf(out, PK_ISO_TIME_MAX, "%s.%03dZ", day, (int)(rest_ns / PK_NS_PER_MS));
}

void pk_format_duration(int64_t ns, char out[PK_DURATION_MAX])
{
	const char *sign = ns < 0 ? "-" : "";
	uint64_t abs_ns = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint64_t ms = abs_ns / PK_NS_PER_MS, s = ms / 1000, min = s / 60, h = min / 60;
	if (h >= 24)
		snprintf(out, PK_DURATION_MAX, "%s%" PRIu64 "d %02uh", sign, h / 24,
			(unsigned)(h % 24));
	else if (h > 0)
		snprintf(out, PK_DURATION_MAX, "%s%uh %02um", sign, (unsigned)h,
			(unsigned)(min % 60));
	else if (min > 0)
		snprintf(out, PK_DURATION_MAX, "%s%um %02us", sign, (unsigned)min,
			(unsigned)(s % 60));
	else if (s > 0)
		snprintf(out, PK_DURATION_MAX, "%s%u.%u s", sign, (unsigned)s,
			(unsigned)(ms % 1000 / 100));
	else if (ms > 0 || abs_ns == 0)
		snprintf(out, PK_DURATION_MAX, "%s%u ms", sign, (unsigned)ms);
	else
		snprintf(out, PK_DURATION_MAX, "%s%u us", sign, (unsigned)(abs_ns / PK_NS_PER_US));
}

int pk_parse_utc(const char *text, int64_t *out_s)
{
	struct tm tm = {0};
	const char *end =
		strptime(text, strlen(text) > 10 ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d", &tm);
	char again[PK_ISO_TIME_MAX];
	if (!end || *end)
		return -EINVAL;
	int64_t s = timegm(&tm);
	if (s < 0 || s > INT64_MAX / PK_NS_PER_S)
		return -EINVAL;
	// strptime takes "2026-2-31" and signs, too: what is printed of it must be the same.
	pk_format_iso_time(s * PK_NS_PER_S, again);
	size_t n = strlen(text) > 10 ? 19 : 10;
	if (strncmp(text, again, n) != 0)
		return -EINVAL;
	*out_s = s;
	return 0;
}
