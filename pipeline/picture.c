// SPDX-License-Identifier: Apache-2.0
// Figures of a picture's brightness, and what they say over time.
#include "pipeline/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"

#define PK_PICTURE_N_POINTS (PK_PICTURE_GRID_W * PK_PICTURE_GRID_H)
// Black is 16 in video range; sensors add a little noise.
#define PK_PICTURE_BLACK_MEAN     24.0
#define PK_PICTURE_BLACK_SPREAD   8.0
#define PK_PICTURE_COVERED_SPREAD 6.0
#define PK_PICTURE_BLURRED_PART   (1.0 / 3.0)
#define PK_PICTURE_LEARN_LOOKS    30         // before detail is judged
#define PK_PICTURE_LEARN_PART     (1.0 / 64) // how much a look adds to what is usual
#define PK_PICTURE_STEP           2          // pixels between the three points of a difference

// Brightness where the format has it; the green of packed colours is near enough.
static const uint8_t *pk_picture_plane(const struct pk_image *image, int *step)
{
	bool packed = image->format == PK_PIXEL_RGB || image->format == PK_PIXEL_BGR;
	*step = packed ? 3 : 1;
	return (const uint8_t *)image->planes[0] + (packed ? 1 : 0);
}

static void pk_picture_statistics(struct pk_picture_figures *out, uint64_t second_differences)
{
	uint64_t sum = 0, squares = 0;
	const uint8_t *p = &out->grid[0][0];
	for (int i = 0; i < PK_PICTURE_N_POINTS; i++) {
		sum += p[i];
		squares += (uint64_t)p[i] * p[i];
	}
	double n = PK_PICTURE_N_POINTS;
	out->mean = (double)sum / n;
	out->spread = sqrt(fmax((double)squares / n - out->mean * out->mean, 0));
	out->detail = (double)second_differences / n / fmax(out->spread, 1);
}

void pk_picture_measure(const struct pk_image *image, struct pk_picture_figures *out)
{
	int step;
	const uint8_t *plane = pk_picture_plane(image, &step);
	uint64_t differences = 0;
	for (int gy = 0; gy < PK_PICTURE_GRID_H; gy++) {
		int y = (int)((2 * gy + 1) * (int64_t)image->height / (2 * PK_PICTURE_GRID_H));
		const uint8_t *row = plane + (ptrdiff_t)y * image->strides[0];
		for (int gx = 0; gx < PK_PICTURE_GRID_W; gx++) {
			int x = (int)((2 * gx + 1) * (int64_t)image->width /
				      (2 * PK_PICTURE_GRID_W));
			int left = PK_MAX(x - PK_PICTURE_STEP, 0);
			int right = PK_MIN(x + PK_PICTURE_STEP, image->width - 1);
			int here = row[(ptrdiff_t)x * step];
			out->grid[gy][gx] = (uint8_t)here;
			differences += (uint64_t)abs(2 * here - row[(ptrdiff_t)left * step] -
						     row[(ptrdiff_t)right * step]);
		}
	}
	pk_picture_statistics(out, differences);
}

static void pk_picture_learn(struct pk_picture_watch *watch)
{
	double detail = watch->now.detail;
	watch->n_learned += watch->n_learned < PK_PICTURE_LEARN_LOOKS;
	double part = fmax(1.0 / watch->n_learned, PK_PICTURE_LEARN_PART);
	watch->usual_detail += (detail - watch->usual_detail) * part;
}

// What this one look says of each state.
static void pk_picture_judge(struct pk_picture_watch *watch, bool looks[PK_N_PICTURE_STATES])
{
	const struct pk_picture_figures *now = &watch->now;
	looks[PK_PICTURE_FROZEN] =
		watch->before_ns && memcmp(watch->before, now->grid, sizeof(now->grid)) == 0;
	looks[PK_PICTURE_BLACK] =
		now->mean < PK_PICTURE_BLACK_MEAN && now->spread < PK_PICTURE_BLACK_SPREAD;
	looks[PK_PICTURE_COVERED] =
		!looks[PK_PICTURE_BLACK] && now->spread < PK_PICTURE_COVERED_SPREAD;
	looks[PK_PICTURE_BLURRED] = watch->n_learned >= PK_PICTURE_LEARN_LOOKS &&
				    now->detail < watch->usual_detail * PK_PICTURE_BLURRED_PART;
	if (!looks[PK_PICTURE_BLACK] && !looks[PK_PICTURE_COVERED] && !looks[PK_PICTURE_BLURRED])
		pk_picture_learn(watch);
}

static int64_t pk_picture_limit_ns(
	const struct pk_picture_checks *checks, enum pk_picture_state state)
{
	const int64_t limits[PK_N_PICTURE_STATES] = {
		[PK_PICTURE_FROZEN] = checks->frozen_ns,
		[PK_PICTURE_BLACK] = checks->black_ns,
		[PK_PICTURE_COVERED] = checks->covered_ns,
		[PK_PICTURE_BLURRED] = checks->blurred_ns,
	};
	return limits[state];
}

enum pk_picture_state pk_picture_look(
	struct pk_picture_watch *watch, const struct pk_image *image, int64_t now_ns)
{
	if (now_ns < watch->next_ns || image->width < 1 || image->height < 1)
		return watch->state;
	watch->next_ns = now_ns + PK_PICTURE_INTERVAL_NS;
	bool looks[PK_N_PICTURE_STATES] = {false};
	pk_picture_measure(image, &watch->now);
	pk_picture_judge(watch, looks);
	watch->state = PK_PICTURE_GOOD;
	for (int i = PK_N_PICTURE_STATES - 1; i > PK_PICTURE_GOOD; i--) {
		int64_t limit_ns = pk_picture_limit_ns(&watch->checks, (enum pk_picture_state)i);
		int64_t began_ns = i == PK_PICTURE_FROZEN ? watch->before_ns : now_ns;
		if (!looks[i])
			watch->since_ns[i] = 0;
		else if (!watch->since_ns[i])
			watch->since_ns[i] = began_ns;
		if (looks[i] && limit_ns > 0 && now_ns - watch->since_ns[i] >= limit_ns)
			watch->state = (enum pk_picture_state)i;
	}
	memcpy(watch->before, watch->now.grid, sizeof(watch->before));
	watch->before_ns = now_ns;
	return watch->state;
}

void pk_picture_cause(enum pk_picture_state state, const struct pk_picture_checks *checks,
	char out[PK_PICTURE_CAUSE_MAX])
{
	static const char *const texts[PK_N_PICTURE_STATES] = {
		[PK_PICTURE_FROZEN] = "frozen: the picture has not changed for",
		[PK_PICTURE_BLACK] = "black: the picture has been black for",
		[PK_PICTURE_COVERED] = "covered: the picture has had one even shade for",
		[PK_PICTURE_BLURRED] =
			"blurred: the picture has had a third of its usual detail for",
	};
	out[0] = '\0';
	if (state <= PK_PICTURE_GOOD || state >= PK_N_PICTURE_STATES)
		return;
	char limit[PK_DURATION_MAX];
	pk_format_duration(pk_picture_limit_ns(checks, state), limit);
	snprintf(out, PK_PICTURE_CAUSE_MAX, "%s %s", texts[state], limit);
}
