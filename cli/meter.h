// SPDX-License-Identifier: Apache-2.0
// How far a transfer is: a bar with amount, rate and time left on a terminal, nothing elsewhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pk_meter {
	bool draw;          // on a terminal
	int64_t start_ns;   // 0: not begun
	int64_t drawn_ns;   // 0: the line is clean
	int64_t first_done; // done bytes at the start: continued, not transferred
};

#define PK_METER_SIZE 32
void pk_meter_format_size(int64_t bytes, char out[PK_METER_SIZE]); // "3.4 MiB"

void pk_meter_begin(struct pk_meter *meter, bool quiet);
void pk_meter_update(struct pk_meter *meter, int64_t done_bytes, int64_t total_bytes);
void pk_meter_clear(struct pk_meter *meter); // for other lines, and at the end

// The line as it would be drawn. Pure.
#define PK_METER_TEXT 240
void pk_meter_format(const struct pk_meter *meter, int64_t now_ns, int64_t done, int64_t total,
	char out[PK_METER_TEXT]);
