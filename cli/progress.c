// SPDX-License-Identifier: Apache-2.0
// Bars and lines.
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/checked.h"
#include "base/clock.h"

#define BAR_CELLS   24
#define REDRAW_NS   (PK_NS_PER_S / 10)
#define NEW_LINE_NS (5 * PK_NS_PER_S)
#define ETA_FROM_NS (PK_NS_PER_S / 2) // before, a guess would only flicker

void pk_progress_begin(struct pk_progress *progress)
{
	*progress =
		(struct pk_progress){.is_terminal = isatty(STDERR_FILENO), .begin_ns = pk_now_ns()};
}

static void format_seconds(int64_t ns, char *out, size_t size)
{
	int64_t s = ns / PK_NS_PER_S;
	if (s < 60)
		snprintf(out, size, "%lld.%lld s", (long long)s,
			(long long)(ns % PK_NS_PER_S / (PK_NS_PER_S / 10)));
	else
		snprintf(out, size, "%lld:%02lld", (long long)(s / 60), (long long)(s % 60));
}

// What is left of the phase when it goes on as it did.
static void format_remaining(
	const struct pk_progress *progress, int64_t now_ns, double part, char *out, size_t size)
{
	char text[32];
	int64_t gone = now_ns - progress->phase_begin_ns;
	out[0] = '\0';
	if (part <= 0 || part >= 1 || gone < ETA_FROM_NS)
		return;
	format_seconds((int64_t)((double)gone * (1 - part) / part), text, sizeof(text));
	snprintf(out, size, ", %s left", text);
}

void pk_progress_format(const struct pk_progress *progress, int64_t now_ns, int done, int total,
	const char *what, char out[PK_PROGRESS_TEXT])
{
	char gone[32], left[48], bar[BAR_CELLS + 1];
	double part = total > 0 ? PK_MIN(1.0, PK_MAX(0.0, (double)done / total)) : 0;
	int n = (int)(part * BAR_CELLS);
	memset(bar, '.', BAR_CELLS);
	memset(bar, '#', (size_t)n);
	bar[BAR_CELLS] = '\0';
	format_seconds(now_ns - progress->begin_ns, gone, sizeof(gone));
	format_remaining(progress, now_ns, part, left, sizeof(left));
	if (progress->is_terminal)
		snprintf(out, PK_PROGRESS_TEXT, "%-9s [%s] %3d %%  %s%s  %.40s", progress->phase,
			bar, (int)(part * 100), gone, left, what);
	else
		snprintf(out, PK_PROGRESS_TEXT, "%s: %d of %d, %s%s", progress->phase, done, total,
			gone, left);
}

void pk_progress_tell(
	struct pk_progress *progress, const char *phase, int done, int total, const char *what)
{
	char line[PK_PROGRESS_TEXT];
	int64_t now = pk_now_ns();
	bool is_new = strncmp(phase, progress->phase, sizeof(progress->phase) - 1) != 0;
	if (is_new) {
		snprintf(progress->phase, sizeof(progress->phase), "%s", phase);
		progress->phase_begin_ns = now;
	}
	int64_t pause = progress->is_terminal ? REDRAW_NS : NEW_LINE_NS;
	if (!is_new && now - progress->shown_ns < pause)
		return;
	progress->shown_ns = now;
	pk_progress_format(progress, now, done, total, what, line);
	fprintf(stderr, progress->is_terminal ? "\r\033[K%s" : "%s\n", line);
	fflush(stderr);
}

void pk_progress_end(struct pk_progress *progress)
{
	if (progress->is_terminal && progress->phase[0])
		fputs("\r\033[K", stderr);
}
