// SPDX-License-Identifier: Apache-2.0
// Progress of a long verb on stderr: a bar with elapsed and remaining time on a terminal, a plain
// line per phase and then every few seconds elsewhere.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pk_progress {
	bool is_terminal;
	char phase[16];
	int64_t begin_ns;       // of all
	int64_t phase_begin_ns; // of the phase
	int64_t shown_ns;       // last time something was printed
};

void pk_progress_begin(struct pk_progress *progress); // looks at stderr
// done of total within a phase; prints at most a few times a second.
void pk_progress_tell(
	struct pk_progress *progress, const char *phase, int done, int total, const char *what);
void pk_progress_end(struct pk_progress *progress); // leaves the terminal's line clean

// The line as it would be printed, without line end. now_ns: on the clock of the struct. Pure.
#define PK_PROGRESS_TEXT 200
void pk_progress_format(const struct pk_progress *progress, int64_t now_ns, int done, int total,
	const char *what, char out[PK_PROGRESS_TEXT]);
