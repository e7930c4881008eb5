// SPDX-License-Identifier: Apache-2.0
// Time in int64_t nanoseconds. Timers use the monotonic clock; wall time is for people only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PK_NS_PER_US INT64_C(1000)
#define PK_NS_PER_MS INT64_C(1000000)
#define PK_NS_PER_S  INT64_C(1000000000)

int64_t pk_now_ns(void);        // CLOCK_MONOTONIC
int64_t pk_boottime_ns(void);   // CLOCK_BOOTTIME: counts suspend
int64_t pk_thread_cpu_ns(void); // what this thread has had of a core
int64_t pk_realtime_ns(void);   // CLOCK_REALTIME: may jump; never for timers

// "2026-11-30T19:24:27.123Z" into out (size >= 25). realtime_ns may be negative or far off.
#define PK_ISO_TIME_MAX 40
void pk_format_iso_time(int64_t realtime_ns, char out[PK_ISO_TIME_MAX]);

// "2026-11-30" (its first second) or "2026-11-30T19:24:27Z" into Unix time. -EINVAL: neither, or
// not within 1970 … 2261.
int pk_parse_utc(const char *text, int64_t *out_s);

// "1h 02m", "3m 05s", "12.3 s", "45 ms" for people.
#define PK_DURATION_MAX 32
void pk_format_duration(int64_t ns, char out[PK_DURATION_MAX]);
