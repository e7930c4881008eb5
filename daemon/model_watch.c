// SPDX-License-Identifier: Apache-2.0
// Sums of heartbeats and what they say of a new model.
#include "daemon/model_watch.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/text.h"

#define RUNNING_S      600 // the baseline looks back about so far
#define MAX_VIOLATIONS 3   // heartbeats in a row; one may be a hiccup

void pk_watch_finish(struct pk_model_watch *watch)
{
	pk_array_finish(&watch->cameras);
}

static struct pk_watch_camera *find(struct pk_model_watch *watch, const char *name)
{
	pk_array_each (it, &watch->cameras) {
		if (strcmp(it->name, name) == 0)
			return it;
	}
	return NULL;
}

static double number(const json_t *camera, const char *member)
{
	return json_number_value(json_object_get(camera, member));
}

// A camera that was started anew counts from 0 again.
static double delta(double now, double before)
{
	return now >= before ? now - before : now;
}

static void add(struct pk_watch_sums *sums, const struct pk_watch_sums *more)
{
	sums->seconds += more->seconds;
	sums->captured += more->captured;
	sums->inferred += more->inferred;
	sums->failed += more->failed;
	sums->detections += more->detections;
	sums->p95_ms_weighted += more->p95_ms_weighted;
}

static void fade(struct pk_watch_sums *sums, double seconds)
{
	double keep = exp(-seconds / RUNNING_S);
	sums->seconds *= keep;
	sums->captured *= keep;
	sums->inferred *= keep;
	sums->failed *= keep;
	sums->detections *= keep;
	sums->p95_ms_weighted *= keep;
}

static void take_camera(struct pk_model_watch *watch, const json_t *figures, bool serves,
	struct pk_watch_sums *more)
{
	const char *name = json_string_value(json_object_get(figures, "name"));
	if (!name)
		return;
	struct pk_watch_camera *camera = find(watch, name);
	bool known = camera;
	if (!known && !(camera = pk_array_push(&watch->cameras)))
		return;
	pk_text_format(camera->name, sizeof(camera->name), "%s", name);
	const struct pk_watch_camera before = *camera;
	camera->captured = number(figures, "captured");
	camera->inferred = number(figures, "inferred");
	camera->failed = number(figures, "passthrough");
	camera->detections = number(figures, "detections");
	if (!known)
		return; // from here on
	double inferred = delta(camera->inferred, before.inferred);
	more->captured += delta(camera->captured, before.captured);
	more->inferred += inferred;
	more->failed += serves ? delta(camera->failed, before.failed) : 0;
	more->detections += delta(camera->detections, before.detections);
	more->p95_ms_weighted += inferred * number(figures, "inference_p95_ms");
}

void pk_watch_heartbeat(struct pk_model_watch *watch, const char *model, const json_t *cameras,
	bool serves, int64_t now_ns)
{
	struct pk_watch_sums more = {0};
	size_t i;
	json_t *figures;
	json_array_foreach (cameras, i, figures) {
		const char *of = json_string_value(json_object_get(figures, "model"));
		if (of && strcmp(of, model) == 0)
			take_camera(watch, figures, serves, &more);
	}
	if (watch->last_ns)
		more.seconds = (double)(now_ns - watch->last_ns) / (double)PK_NS_PER_S;
	watch->last_ns = now_ns;
	if (watch->probation_ns) {
		add(&watch->probation, &more);
	} else {
		fade(&watch->running, more.seconds);
		add(&watch->running, &more);
	}
}

static void figures_of(const struct pk_watch_sums *sums, struct pk_up_baseline *out)
{
	*out = (struct pk_up_baseline){0};
	if (sums->seconds <= 0 || sums->inferred < PK_WATCH_MIN_RESULTS)
		return;
	out->fps = sums->inferred / sums->seconds;
	out->captured = sums->captured / sums->seconds;
	out->p95_ms = sums->p95_ms_weighted / sums->inferred;
	out->detections = sums->detections / sums->inferred;
}

void pk_watch_baseline(const struct pk_model_watch *watch, struct pk_up_baseline *out)
{
	figures_of(&watch->running, out);
}

void pk_watch_begin(struct pk_model_watch *watch, int64_t now_ns)
{
	watch->probation = (struct pk_watch_sums){0};
	watch->probation_ns = now_ns;
	watch->n_restarts = watch->n_violations = 0;
}

void pk_watch_end(struct pk_model_watch *watch)
{
	if (!watch->probation_ns)
		return;
	watch->probation_ns = 0;
	watch->running = (struct pk_watch_sums){0};
}

static double ratio(double now, double before)
{
	return before > 0 ? now / before : 0;
}

static void compare(const struct pk_watch_sums *sums, const struct pk_up_baseline *before,
	struct pk_watch_result *out)
{
	double all = sums->inferred + sums->failed;
	*out = (struct pk_watch_result){.results = all};
	figures_of(sums, &out->is);
	out->error_rate = all > 0 ? sums->failed / all : 0;
	if (out->is.fps <= 0 || before->fps <= 0)
		return;
	// Of what the cameras delivered: one that is switched off makes no model slower.
	out->fps_ratio =
		ratio(ratio(out->is.fps, out->is.captured), ratio(before->fps, before->captured));
	out->p95_ratio = ratio(out->is.p95_ms, before->p95_ms);
	out->detections_ratio = ratio(out->is.detections, before->detections);
}

struct limit {
	const char *what;
	double is, min, max; // 0: no limit
};

static bool breaks(const struct limit *limit, char reason[PK_UP_REASON_MAX])
{
	bool low = limit->min > 0 && limit->is < limit->min;
	bool high = limit->max > 0 && limit->is > limit->max;
	if (low || high)
		pk_text_format(reason, PK_UP_REASON_MAX, "%s %.3g, %s %.3g wanted", limit->what,
			limit->is, low ? "at least" : "at most", low ? limit->min : limit->max);
	return low || high;
}

static bool violates(const struct pk_watch_result *result, const struct pk_check_config *check,
	bool comparable, char reason[PK_UP_REASON_MAX])
{
	const struct limit limits[] = {
		{"results per second against the last model:", result->fps_ratio,
			check->min_fps_ratio, 0},
		{"time to a result (p95) against the last model:", result->p95_ratio, 0,
			check->max_p95_ratio},
		{"detections per frame against the last model:", result->detections_ratio,
			check->min_detections_ratio, check->max_detections_ratio},
	};
	if (result->results >= PK_WATCH_MIN_RESULTS && result->error_rate > check->max_error_rate) {
		pk_text_format(reason, PK_UP_REASON_MAX,
			"results without inference: %.3g of all, at most %.3g wanted",
			result->error_rate, check->max_error_rate);
		return true;
	}
	for (size_t i = 0; comparable && i < PK_ARRAY_LEN(limits); i++) {
		bool no_detections = i == 2 && result->is.detections <= 0 && limits[i].is <= 0;
		if ((limits[i].is > 0 || no_detections) && breaks(&limits[i], reason))
			return true;
	}
	return false;
}

enum pk_watch_verdict pk_watch_judge(struct pk_model_watch *watch,
	const struct pk_check_config *check, const struct pk_up_baseline *before, int64_t now_ns,
	struct pk_watch_result *result, char reason[PK_UP_REASON_MAX])
{
	int64_t elapsed_ns = now_ns - watch->probation_ns;
	compare(&watch->probation, before, result);
	reason[0] = '\0';
	if (watch->n_restarts > (unsigned)check->max_restarts) {
		pk_text_format(reason, PK_UP_REASON_MAX, "the worker crashed %u times with it",
			watch->n_restarts);
		return PK_WATCH_WORSE;
	}
	bool comparable = before->fps > 0 && result->is.fps > 0;
	bool judged = elapsed_ns >= check->observe_ns / 2;
	struct pk_check_config limits = *check;
	if (before->detections <= 0) // an empty scene says nothing of what a model finds
		limits.min_detections_ratio = limits.max_detections_ratio = 0;
	bool bad = judged && violates(result, &limits, comparable, reason);
	watch->n_violations = bad ? watch->n_violations + 1 : 0;
	bool over = elapsed_ns >= check->observe_ns;
	if (bad && (over || watch->n_violations >= MAX_VIOLATIONS))
		return PK_WATCH_WORSE;
	bool enough = result->results >= PK_WATCH_MIN_RESULTS || check->observe_ns == 0;
	return over && enough ? PK_WATCH_WELL : PK_WATCH_GOES_ON;
}
