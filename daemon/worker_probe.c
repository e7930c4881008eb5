// SPDX-License-Identifier: Apache-2.0
// Runs one source alone and measures it.
#include "daemon/worker_probe.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "config/config.h"
#include "pipeline/jpeg.h"
#include "pipeline/picture.h"
#include "pipeline/source.h"

#define PROBE_MAX_FRAMES  8192
#define PROBE_CONFIG_MAX  (2u << 20)
#define PROBE_TURN_NS     (100 * PK_NS_PER_MS)
#define PROBE_PROGRESS_NS PK_NS_PER_S

struct probe {
	const struct pk_camera_config *camera;
	int64_t seconds_ns, start_ns, told_ns;
	const char *snapshot; // NULL: none
	char text[256];       // the source's
	struct pk_source *source;
	pthread_mutex_t lock; // the rest, while there is a source
	struct pk_frame *last;
	size_t n; // of times; frames beyond the array only count
	uint64_t n_frames, n_lost, n_skipped;
	int64_t at_ns[PROBE_MAX_FRAMES], age_ns[PROBE_MAX_FRAMES];
};

static void say(json_t *line)
{
	if (line && json_dumpf(line, stdout, JSON_COMPACT) == 0)
		putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static int fail(const char *error, int code)
{
	say(json_pack("{s:s, s:s, s:i}", "event", "failed", "error", error, "code", code));
	return EXIT_FAILURE;
}

static void on_frame(void *ctx, struct pk_frame *frame)
{
	struct probe *probe = ctx;
	int64_t now_ns = frame->at_ns[PK_STAGE_DECODED];
	pthread_mutex_lock(&probe->lock);
	if (probe->n < PROBE_MAX_FRAMES) {
		probe->at_ns[probe->n] = now_ns;
		probe->age_ns[probe->n++] = now_ns - frame->at_ns[PK_STAGE_CAPTURED];
	}
	probe->n_frames++;
	struct pk_frame *before = probe->last;
	probe->last = frame;
	pthread_mutex_unlock(&probe->lock);
	pk_frame_unref(before);
}

static void on_lost(void *ctx)
{
	struct probe *probe = ctx;
	pthread_mutex_lock(&probe->lock);
	probe->n_lost++;
	pthread_mutex_unlock(&probe->lock);
}

static void on_skipped(void *ctx)
{
	struct probe *probe = ctx;
	pthread_mutex_lock(&probe->lock);
	probe->n_skipped++;
	pthread_mutex_unlock(&probe->lock);
}

static size_t count(struct probe *probe)
{
	pthread_mutex_lock(&probe->lock);
	size_t n = probe->n;
	pthread_mutex_unlock(&probe->lock);
	return n;
}

static void tell(struct probe *probe, int64_t now_ns, bool begun, int64_t left_ns)
{
	if (now_ns - probe->told_ns < PROBE_PROGRESS_NS)
		return;
	probe->told_ns = now_ns;
	int64_t elapsed_ns = now_ns - probe->start_ns;
	say(json_pack("{s:s, s:s, s:I, s:I}", "event", "progress", "text",
		begun ? "measuring" : "waiting for the first picture", "elapsed_ms",
		(json_int_t)(elapsed_ns / PK_NS_PER_MS), "limit_ms",
		(json_int_t)((elapsed_ns + left_ns) / PK_NS_PER_MS)));
}

// 0 when it was watched for long enough or has ended by itself; else why not.
static int watch(struct probe *probe, struct pk_err *err)
{
	int64_t first_ns = 0;
	for (;;) {
		int64_t now_ns = pk_now_ns();
		first_ns = first_ns || count(probe) == 0 ? first_ns : now_ns;
		int64_t until_ns = first_ns ? first_ns + probe->seconds_ns
					    : probe->start_ns + probe->camera->first_frame_ns;
		if (now_ns >= until_ns)
			return first_ns ? 0
					: pk_fail(err, -ETIMEDOUT, "%s: no first frame in time",
						  pk_source_text(probe->source));
		tell(probe, now_ns, first_ns != 0, until_ns - now_ns);
		int r = pk_source_poll(
			probe->source, PK_MIN(until_ns - now_ns, PROBE_TURN_NS), err);
		if (r != 0)
			return r < 0 ? r
			       : count(probe)
				       ? 0
				       : pk_fail(err, -ENODATA, "%s: ended without a picture",
						 pk_source_text(probe->source));
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static double quantile_ms(const int64_t *sorted, size_t n, double q)
{
	return n == 0 ? 0 : (double)sorted[(size_t)(q * (double)(n - 1))] / (double)PK_NS_PER_MS;
}

static double deviation_ms(const int64_t *values, size_t n)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		double v = (double)values[i] / (double)PK_NS_PER_MS;
		sum += v;
		squares += v * v;
	}
	double mean = n ? sum / (double)n : 0;
	return n ? sqrt(fmax(squares / (double)n - mean * mean, 0)) : 0;
}

// Turns arrival times into intervals; gives their number.
static size_t to_intervals(struct probe *probe)
{
	for (size_t i = 1; i < probe->n; i++)
		probe->at_ns[i - 1] = probe->at_ns[i] - probe->at_ns[i - 1];
	return probe->n > 0 ? probe->n - 1 : 0;
}

static json_t *times_json(struct probe *probe)
{
	int64_t first_ns = probe->at_ns[0];
	int64_t span_ns = probe->at_ns[probe->n - 1] - first_ns;
	size_t n = to_intervals(probe);
	double jitter = deviation_ms(probe->at_ns, n);
	qsort(probe->at_ns, n, sizeof(int64_t), by_value);
	qsort(probe->age_ns, probe->n, sizeof(int64_t), by_value);
	double seconds = (double)span_ns / (double)PK_NS_PER_S;
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "fps",
		seconds > 0 ? (double)n / seconds : 0, "seconds", seconds, "first_frame_ms",
		(double)(first_ns - probe->start_ns) / (double)PK_NS_PER_MS, "interval_p50_ms",
		quantile_ms(probe->at_ns, n, 0.5), "interval_p99_ms",
		quantile_ms(probe->at_ns, n, 0.99), "jitter_ms", jitter, "age_p50_ms",
		quantile_ms(probe->age_ns, probe->n, 0.5), "age_p99_ms",
		quantile_ms(probe->age_ns, probe->n, 0.99));
}

static json_t *facts_json(const struct probe *probe, const struct pk_source_facts *facts)
{
	struct pk_picture_figures picture;
	pk_picture_measure(&probe->last->image, &picture);
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:f, s:I, s:I, s:I, s:f, s:f, s:s?}",
		"event", "report", "source", probe->text, "codec", facts->codec, "decoder",
		facts->decoder, "encoded", facts->encoded, "raw", facts->raw, "width", facts->width,
		"height", facts->height, "format", facts->format, "declared_fps", facts->rate_hz,
		"frames", (json_int_t)probe->n_frames, "lost", (json_int_t)probe->n_lost, "skipped",
		(json_int_t)probe->n_skipped, "brightness", picture.mean, "spread", picture.spread,
		"snapshot", probe->snapshot);
}

static int report(struct probe *probe, const struct pk_source_facts *facts)
{
	struct pk_err err = {0};
	int r = 0;
	if (probe->snapshot)
		r = pk_jpeg_write(probe->snapshot, &probe->last->image, &err);
	if (r < 0)
		return fail(pk_err_text(&err, r), r);
	json_t *line = facts_json(probe, facts), *times = times_json(probe);
	json_object_update(line, times);
	json_decref(times);
	say(line);
	return EXIT_SUCCESS;
}

static int run(struct probe *probe)
{
	const struct pk_source_receiver receiver = {
		.frame = on_frame, .lost = on_lost, .skipped = on_skipped, .ctx = probe};
	struct pk_source_facts facts;
	struct pk_err err = {0};
	probe->start_ns = pk_now_ns();
	int r = pk_source_create(&probe->camera->source, &receiver, 0, &probe->source, &err);
	if (r < 0)
		return fail(pk_err_text(&err, r), r);
	r = watch(probe, &err);
	pk_source_inspect(probe->source, &facts);
	snprintf(probe->text, sizeof(probe->text), "%s", pk_source_text(probe->source));
	pk_source_destroy(probe->source); // from here on nothing else touches probe
	int status = r < 0 ? fail(pk_err_text(&err, r), r) : report(probe, &facts);
	pk_frame_unref(probe->last);
	return status;
}

static int read_config(struct pk_config **out)
{
	pk_auto_buf struct pk_buf text;
	struct pk_problems problems = {0};
	char chunk[4096];
	size_t n;
	pk_buf_init(&text, PROBE_CONFIG_MAX);
	while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
		pk_buf_append(&text, chunk, n);
	int r = pk_buf_error(&text);
	if (r == 0)
		r = pk_config_parse(pk_buf_cstr(&text), text.len, "config", "/", out, &problems);
	if (r < 0)
		(void)fail(problems.n ? problems.items[0].text : strerror(-r), r);
	pk_problems_finish(&problems);
	return r;
}

int pk_worker_probe(int argc, char **argv)
{
	if ((argc != 4 && argc != 5) || strcmp(argv[1], "--probe") != 0) {
		fputs("usage: picket-worker --probe CAMERA SECONDS [SNAPSHOT.jpg] <CONFIG\n",
			stderr);
		return 2;
	}
	pk_auto(pk_config) config = NULL;
	if (read_config(&config) < 0)
		return EXIT_FAILURE;
	const struct pk_camera_config *camera = pk_config_camera(config, argv[2]);
	if (!camera)
		return fail("there is no such camera", -ENOENT);
	pk_auto_free struct probe *probe = calloc(1, sizeof(*probe));
	if (!probe)
		return fail("out of memory", -ENOMEM);
	probe->camera = camera;
	probe->seconds_ns = (int64_t)(strtod(argv[3], NULL) * (double)PK_NS_PER_S);
	probe->snapshot = argc == 5 ? argv[4] : NULL;
	pthread_mutex_init(&probe->lock, NULL);
	int status = run(probe);
	pthread_mutex_destroy(&probe->lock);
	return status;
}
