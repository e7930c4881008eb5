// SPDX-License-Identifier: Apache-2.0
// Whole pipelines: cameras that do not disturb each other, passthrough, engines assigned, swapped,
// failing and coming back, and configurations that change only what differs.
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fs.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"
#include "tests/unit/pipeline/cm.h"

static char *folder, *results_path, *engine_path, *unfit_path;

// The engine is real; only its answer may be replaced by a failure, as a faulted device gives it.
int __real_pk_context_wait(struct pk_context *context, int slot, struct pk_err *err);
int __wrap_pk_context_wait(struct pk_context *context, int slot, struct pk_err *err);
static _Atomic bool engine_fails;
static _Atomic int engine_delay_ms;

int __wrap_pk_context_wait(struct pk_context *context, int slot, struct pk_err *err)
{
	int r = __real_pk_context_wait(context, slot, err);
	test_sleep(atomic_load(&engine_delay_ms));
	return atomic_load(&engine_fails) ? pk_fail(err, -EIO, "device fell off the bus") : r;
}

static struct {
	pthread_mutex_t lock;
	int n_serving, n_faults, n_retrying;
	char rung[16], fault[256], cause[256];
	int64_t gap_ns;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_state(void *ctx, const char *camera, enum pk_camera_state state, const char *cause)
{
	pthread_mutex_lock(&seen.lock);
	if (state == PK_CAMERA_RETRYING) {
		seen.n_retrying++;
		snprintf(seen.cause, sizeof(seen.cause), "%s: %s", camera, cause);
	}
	pthread_mutex_unlock(&seen.lock);
}

static void on_fault(void *ctx, const char *model, int code, const char *cause)
{
	pthread_mutex_lock(&seen.lock);
	seen.n_faults++;
	snprintf(seen.fault, sizeof(seen.fault), "%s: %d: %s", model, code, cause);
	pthread_mutex_unlock(&seen.lock);
}

static void on_serving(void *ctx, const char *model, const char *rung, int64_t gap_ns)
{
	pthread_mutex_lock(&seen.lock);
	seen.n_serving++;
	seen.gap_ns = gap_ns;
	snprintf(seen.rung, sizeof(seen.rung), "%s", rung);
	pthread_mutex_unlock(&seen.lock);
}

static const struct pk_pipeline_events events = {
	.camera_state = on_state, .model_fault = on_fault, .model_serving = on_serving};

static int n_serving(void)
{
	pthread_mutex_lock(&seen.lock);
	int n = seen.n_serving;
	pthread_mutex_unlock(&seen.lock);
	return n;
}

static bool wait_serving(int n)
{
	for (int i = 0; i < 1000 && n_serving() < n; i++)
		test_sleep(10);
	return n_serving() >= n;
}

static bool wait_fault(void)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&seen.lock);
		int n = seen.n_faults;
		pthread_mutex_unlock(&seen.lock);
		if (n)
			return true;
		test_sleep(10);
	}
	return false;
}

static struct pk_config *parse(const char *text)
{
	struct pk_config *config = NULL;
	struct pk_problems problems = {0};
	if (pk_config_parse(text, strlen(text), "test", folder, &config, &problems) < 0) {
		pk_problems_print(&problems, stderr);
		fail_msg("the test's own config is wrong");
	}
	pk_problems_finish(&problems);
	return config;
}

#define SINKS  "sinks: {log: {kind: jsonl, path: results.jsonl}}\n"
#define MODELS "models: {parts: {artifact: 'oci:registry:stable'}}\n"
#define CAMERA(name, rate)                                                                         \
	"  " name ": {source: {kind: test, width: 320, height: 240, rate: " rate                   \
	"}, model: parts, sinks: [log]}\n"
#define TWO_CAMERAS MODELS SINKS "cameras:\n" CAMERA("a", "20/s") CAMERA("b", "20/s")

static struct pk_pipeline *create(const char *text)
{
	struct pk_config *config = parse(text);
	struct pk_pipeline *pipeline = NULL;
	struct pk_err err = {0};
	seen.n_serving = seen.n_faults = seen.n_retrying = 0;
	if (pk_pipeline_create(config, &events, &pipeline, &err) < 0)
		fail_msg("%s", err.text);
	pk_config_destroy(config); // it keeps its own copy
	return pipeline;
}

static void apply(struct pk_pipeline *pipeline, const char *text)
{
	struct pk_config *config = parse(text);
	struct pk_err err = {0};
	if (pk_pipeline_apply(pipeline, config, &err) < 0)
		fail_msg("%s", err.text);
	pk_config_destroy(config);
}

static bool stats_of(struct pk_pipeline *pipeline, const char *name, struct pk_camera_stats *out)
{
	for (size_t i = 0; i < pk_pipeline_n_cameras(pipeline); i++)
		if (pk_pipeline_stats(pipeline, i, out) == 0 && strcmp(out->name, name) == 0)
			return true;
	return false;
}

static struct pk_assignment assignment(const char *path, const char *rung, const char *cause)
{
	return (struct pk_assignment){.model = "parts",
		.engine_path = path,
		.rung = rung,
		.cause = cause,
		.model_digest = "sha256:feed"};
}

static void assign(struct pk_pipeline *pipeline, const struct pk_assignment *a)
{
	struct pk_err err = {0};
	if (pk_pipeline_assign(pipeline, a, &err) < 0)
		fail_msg("%s", err.text);
}

// The results file as JSON values; the file is emptied.
static json_t *take_results(void)
{
	json_t *all = json_array();
	FILE *file = fopen(results_path, "r");
	assert_non_null(file);
	char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, file) > 0) {
		json_t *one = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(one);
		json_array_append_new(all, one);
	}
	free(line);
	fclose(file);
	assert_int_equal(remove(results_path), 0);
	return all;
}

static size_t count(const json_t *results, const char *key, const char *value)
{
	size_t i, n = 0;
	json_t *one;
	json_array_foreach (results, i, one)
		n += strcmp(json_string_value(json_object_get(one, key)), value) == 0;
	return n;
}

static void check_balance(const struct pk_camera_stats *s)
{
	uint64_t known = s->n_inferred + s->n_passthrough + s->n_dropped;
	assert_true(s->n_captured >= known && s->n_captured - known <= 2); // in flight
}

static void test_passthrough_and_a_dead_camera(void **state)
{
	struct pk_pipeline *pipeline = create(
		TWO_CAMERAS "  dead: {source: {kind: file, uri: nowhere.mp4}, model: parts, sinks: "
			    "[log]}\n  odd: {source: {kind: gst, launch: 'nosuchelement ! x'}, "
			    "model: parts}\n");
	test_sleep(2000);
	struct pk_camera_stats s;
	const char *const good[] = {"a", "b"};
	for (size_t i = 0; i < 2; i++) {
		assert_true(stats_of(pipeline, good[i], &s));
		assert_int_equal(s.state, PK_CAMERA_RUNNING);
		assert_string_equal(s.model, "parts");
		assert_in_range(s.n_captured, 30, 42);
		assert_int_equal(s.n_inferred, 0);
		assert_int_equal(s.n_restarts, 0);
		assert_true(s.n_passthrough >= 28);
		assert_true(pk_histogram_quantile(&s.age, 0.5) < 100 * PK_NS_PER_MS);
		check_balance(&s);
	}
	assert_true(stats_of(pipeline, "dead", &s));
	assert_int_equal(s.state, PK_CAMERA_RETRYING);
	assert_non_null(strstr(s.cause, "nowhere.mp4: No such file or directory"));
	assert_true(stats_of(pipeline, "odd", &s));
	assert_non_null(strstr(s.cause, "nosuchelement"));
	assert_true(pk_now_ns() - pk_pipeline_last_progress_ns(pipeline) < PK_NS_PER_S);
	assert_int_equal(pk_pipeline_stats(pipeline, 4, &s), -ENOENT);
	int64_t start_ns = pk_now_ns();
	pk_pipeline_destroy(pipeline);
	assert_true(pk_now_ns() - start_ns < 2 * PK_NS_PER_S);
	json_t *results = take_results();
	assert_true(json_array_size(results) > 50);
	assert_int_equal(count(results, "rung", "passthrough"), json_array_size(results));
	assert_int_equal(count(results, "cause", "no engine yet"), json_array_size(results));
	json_decref(results);
}

static void test_engine_life(void **state)
{
	struct pk_pipeline *pipeline = create(TWO_CAMERAS);
	struct pk_camera_stats s;
	struct pk_err err = {0};
	test_sleep(300);
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	assert_string_equal(seen.rung, "engine");
	test_sleep(500);
	assign(pipeline, &engine); // another beside it
	assert_true(wait_serving(2));
	assert_true(seen.gap_ns > 0 && seen.gap_ns < PK_NS_PER_S);
	// What cannot be loaded changes nothing.
	struct pk_assignment bad = assignment("/nowhere.engine", "engine", "");
	assert_int_equal(pk_pipeline_assign(pipeline, &bad, &err), -ENOENT);
	assert_non_null(strstr(err.text, "model `parts`"));
	bad.engine_path = unfit_path;
	assert_int_equal(pk_pipeline_assign(pipeline, &bad, &err), -EINVAL);
	assert_non_null(strstr(err.text, "model `parts`: card `parts`: output `output0` is [1,9,"));
	assert_non_null(strstr(err.text, "expected [1,11,N]"));
	bad.model = "nothing";
	assert_int_equal(pk_pipeline_assign(pipeline, &bad, &err), -ENOENT);
	test_sleep(300);

	atomic_store(&engine_fails, true);
	assert_true(wait_fault());
	test_sleep(200);
	atomic_store(&engine_fails, false);
	pthread_mutex_lock(&seen.lock);
	assert_int_equal(seen.n_faults, 1);
	assert_string_equal(seen.fault, "parts: -5: device fell off the bus");
	pthread_mutex_unlock(&seen.lock);
	assign(pipeline, &engine);
	assert_true(wait_serving(3));
	struct pk_assignment none = assignment(NULL, "passthrough", "ordered");
	assign(pipeline, &none);
	assert_true(wait_serving(4));
	assert_string_equal(seen.rung, "passthrough");
	assert_true(stats_of(pipeline, "a", &s));
	assert_true(s.n_inferred > (TEST_SANITIZED ? 1 : 10) && s.n_passthrough > 3);
	check_balance(&s);
	pk_pipeline_destroy(pipeline);

	json_t *results = take_results();
	size_t n = json_array_size(results);
	assert_true(count(results, "rung", "engine") > (TEST_SANITIZED ? 2 : 20));
	assert_int_equal(count(results, "runtime", "cpu"), count(results, "rung", "engine"));
	assert_int_equal(
		count(results, "rung", "engine") + count(results, "rung", "passthrough"), n);
	json_decref(results);
}

static void test_faults_are_told_in_results(void **state)
{
	struct pk_pipeline *pipeline = create(TWO_CAMERAS);
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	atomic_store(&engine_fails, true);
	test_sleep(400);
	atomic_store(&engine_fails, false);
	test_sleep(400); // stays so until it is assigned anew
	pk_pipeline_destroy(pipeline);
	json_t *results = take_results();
	size_t n = json_array_size(results), i, n_causes = 0;
	json_t *one;
	json_array_foreach (results, i, one) {
		const char *cause = json_string_value(json_object_get(one, "cause"));
		n_causes += cause && strcmp(cause, "device fell off the bus") == 0;
	}
	assert_true(n_causes > 20);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(results, n - 1), "rung")),
		"passthrough");
	json_decref(results);
}

// Inference far slower than the cameras: pictures stay fresh, the rest is counted.
static void test_slow_inference_stays_fresh(void **state)
{
	struct pk_pipeline *pipeline = create(TWO_CAMERAS);
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	struct pk_camera_stats before, after;
	atomic_store(&engine_delay_ms, 100);
	test_sleep(300);
	assert_true(stats_of(pipeline, "a", &before));
	test_sleep(3000);
	assert_true(stats_of(pipeline, "a", &after));
	atomic_store(&engine_delay_ms, 0);
	assert_in_range(after.n_captured - before.n_captured, 45, 64); // undisturbed
	assert_in_range(
		after.n_inferred - before.n_inferred, TEST_SANITIZED ? 2 : 8, 16); // half of 10/s
	pk_histogram_sub(&after.age, &before.age);
	// Two cameras share: at worst its frame came just after its turn, so one other inference
	// and its own, and the frame's age when it was replaced last.
	assert_true(TEST_SANITIZED || pk_histogram_quantile(&after.age, 0.99) < 250 * PK_NS_PER_MS);
	check_balance(&after);
	pk_pipeline_destroy(pipeline);
	json_decref(take_results());
}

// One inference takes 200 ms, the camera brings 30 pictures/s: the newest is taken, so that a
// result is hardly older than its own inference, however long that goes on.
static void test_five_inferences_a_second(void **state)
{
	const char *more = getenv("PICKET_LONG");
	int seconds = more && *more ? 120 : 20;
	struct pk_pipeline *pipeline = create(MODELS SINKS "cameras:\n" CAMERA("a", "30/s"));
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	struct pk_camera_stats before, after;
	atomic_store(&engine_delay_ms, 200);
	test_sleep(500);
	assert_true(stats_of(pipeline, "a", &before));
	int64_t start_ns = pk_now_ns();
	test_sleep(seconds * 1000);
	assert_true(stats_of(pipeline, "a", &after));
	double took_s = (double)(pk_now_ns() - start_ns) / PK_NS_PER_S;
	atomic_store(&engine_delay_ms, 0);
	pk_histogram_sub(&after.age, &before.age);
	pk_histogram_sub(&after.inference, &before.inference);
	double age_ms = (double)pk_histogram_quantile(&after.age, 0.99) / PK_NS_PER_MS;
	double usual_ms = (double)pk_histogram_quantile(&after.inference, 0.5) / PK_NS_PER_MS;
	double inference_ms = (double)pk_histogram_quantile(&after.inference, 0.99) / PK_NS_PER_MS;
	double captured = (double)(after.n_captured - before.n_captured) / took_s;
	double inferred = (double)(after.n_inferred - before.n_inferred) / took_s;
	printf("slow consumer, %.0f s: %.2f captured/s, %.2f inferred/s, inference p50 %.0f "
	       "p99 %.0f ms, age p99 %.0f ms\n",
		took_s, captured, inferred, usual_ms, inference_ms, age_ms);
	assert_in_range(captured * 100, 2900, 3100);
	assert_in_range(inferred * 100, TEST_SANITIZED ? 200 : 400, 510);
	assert_true(TEST_SANITIZED || age_ms < 1.5 * usual_ms);
	assert_int_equal(after.n_restarts, 0);
	check_balance(&after);
	pk_pipeline_destroy(pipeline);
	json_decref(take_results());
}

#define LOW_MODELS "models: {parts: {artifact: 'oci:registry:stable', conf: 0.01}}\n"
#define ROI_CAMERA(roi)                                                                            \
	LOW_MODELS SINKS "cameras:\n  a: {source: {kind: test, pattern: smpte, width: 320, "       \
			 "height: 240, rate: 20/s}, model: parts, sinks: [log], roi: " roi "}\n"

// Boxes of these results and how many of them begin left of or above the middle of 320 x 240.
static int count_boxes(json_t *results, int *n_before)
{
	size_t i, k;
	json_t *one, *detection;
	int n = 0;
	*n_before = 0;
	json_array_foreach (results, i, one) {
		assert_int_equal(json_integer_value(json_object_get(one, "width")), 320);
		json_array_foreach (json_object_get(one, "detections"), k, detection) {
			json_t *box = json_object_get(detection, "box");
			n++;
			*n_before += json_number_value(json_array_get(box, 0)) < 160 ||
				     json_number_value(json_array_get(box, 1)) < 120;
			assert_true(json_number_value(json_array_get(box, 2)) <= 320);
			assert_true(json_number_value(json_array_get(box, 3)) <= 240);
		}
	}
	json_decref(results);
	return n;
}

static int boxes_with(const char *text, int *n_before)
{
	struct pk_pipeline *pipeline = create(text);
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	test_sleep(500);
	pk_pipeline_destroy(pipeline);
	return count_boxes(take_results(), n_before);
}

// The model sees a quarter, its boxes are told in pixels of the whole picture.
static void test_roi(void **state)
{
	int n_before;
	assert_true(boxes_with(ROI_CAMERA("[0, 0, 1, 1]"), &n_before) > 0);
	assert_true(n_before > 0); // so the next is no accident
	assert_true(boxes_with(ROI_CAMERA("[0.5, 0.5, 0.5, 0.5]"), &n_before) > 0);
	assert_int_equal(n_before, 0);
}

// Another part is no reason to start the camera again.
static void test_roi_changes_while_it_runs(void **state)
{
	struct pk_pipeline *pipeline = create(ROI_CAMERA("[0, 0, 1, 1]"));
	struct pk_camera_stats before, after;
	test_sleep(500);
	assert_true(stats_of(pipeline, "a", &before));
	apply(pipeline, ROI_CAMERA("[0.5, 0, 0.5, 1]"));
	test_sleep(300);
	assert_true(stats_of(pipeline, "a", &after));
	assert_true(before.n_captured > 0 && after.n_captured > before.n_captured);
	assert_int_equal(after.n_restarts, before.n_restarts);
	pk_pipeline_destroy(pipeline);
	json_decref(take_results());
}

static void test_apply_touches_only_what_differs(void **state)
{
	struct pk_pipeline *pipeline = create(TWO_CAMERAS);
	struct pk_assignment engine = assignment(engine_path, "engine", "");
	assign(pipeline, &engine);
	assert_true(wait_serving(1));
	test_sleep(500);
	struct pk_camera_stats a, s;
	assert_true(stats_of(pipeline, "a", &a));
	// b goes, c comes, the threshold and the sink change, a keeps running.
	apply(pipeline,
		"models: {parts: {artifact: 'oci:registry:stable', conf: 0.9}}\n"
		"sinks: {log: {kind: jsonl, path: results.jsonl, rotate: 100MiB},\n"
		"        more: {kind: jsonl, path: more.jsonl}}\n"
		"cameras:\n"
		"  a: {source: {kind: test, width: 320, height: 240, rate: 20/s}, model: parts,\n"
		"      sinks: [log, more], max_rate: 5/s}\n" CAMERA("c", "10/s"));
	assert_int_equal(pk_pipeline_n_cameras(pipeline), 2);
	assert_false(stats_of(pipeline, "b", &s));
	json_decref(take_results()); // until now
	test_sleep(1500);
	assert_true(stats_of(pipeline, "a", &s));
	assert_true(s.n_captured > a.n_captured + 20); // not started anew: its counters go on
	assert_int_equal(s.n_restarts, 0);
	assert_true(stats_of(pipeline, "c", &s));
	assert_true(s.n_inferred > (TEST_SANITIZED ? 0 : 5));
	pk_pipeline_destroy(pipeline);
	json_t *results = take_results();
	assert_int_equal(count(results, "camera", "b"), 0);
	assert_in_range(count(results, "camera", "a"), TEST_SANITIZED ? 1 : 5, 11); // the cap
	assert_true(count(results, "camera", "c") > (TEST_SANITIZED ? 0 : 5));
	assert_int_equal(count(results, "rung", "engine"), json_array_size(results));
	json_decref(results);
	char *more = pk_fs_join(folder, "more.jsonl");
	assert_true(pk_fs_size(more) > 0);
	free(more);
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_many_changes_leave_nothing(void **state)
{
	struct pk_pipeline *pipeline = create(TWO_CAMERAS);
	int threads = 0, fds = 0;
	for (int i = 0; i < 20; i++) {
		apply(pipeline, MODELS SINKS "cameras:\n" CAMERA("a", "20/s"));
		apply(pipeline, TWO_CAMERAS);
		test_sleep(20);
		if (i == 8) {
			test_sleep(200);
			threads = count_entries("/proc/self/task");
			fds = count_entries("/proc/self/fd");
		}
	}
	test_sleep(200);
	assert_in_range(count_entries("/proc/self/task"), 0, threads + 1);
	assert_in_range(count_entries("/proc/self/fd"), 0, fds + 2);
	pk_pipeline_destroy(pipeline);
	json_decref(take_results());
}

static const char card[] = "card: 1\n"
			   "name: parts\n"
			   "task: detect\n"
			   "inputs:\n"
			   "  - {name: images, shape: [1, 3, 192, 256], layout: nchw, color: rgb,\n"
			   "     resize: {mode: letterbox, pad: [114, 114, 114], upscale: true},\n"
			   "     normalize: {scale: 0.00392156862745098}}\n"
			   "outputs:\n"
			   "  - {name: output0, role: pred}\n"
			   "decode: {family: yolo-v8, classes: %d, pred_axis: last}\n"
			   "postprocess: {conf: 0.35}\n";

static void build_engine(const char *root, int classes, const char *path)
{
	char *onnx = pk_fs_join(root, "demo/parts.onnx"), text[1000];
	struct pk_err err = {0};
	struct pk_build_options options = {.onnx_path = onnx,
		.runtime = "cpu",
		.engine_path = path,
		.card = text,
		.card_size = (size_t)snprintf(text, sizeof(text), card, classes)};
	struct pk_build_report report;
	int r = pk_engine_build(&options, &report, &err);
	if (r < 0) {
		fprintf(stderr, "cannot build the engine: %s\n", pk_err_text(&err, r));
		exit(1);
	}
	free(onnx);
}

static int prepare(void **state)
{
	folder = test_folder();
	results_path = pk_fs_join(folder, "results.jsonl");
	engine_path = pk_fs_join(folder, "parts.engine");
	unfit_path = pk_fs_join(folder, "unfit.engine");
	build_engine(getenv("PICKET_SOURCE_ROOT"), 5, engine_path);
	build_engine(getenv("PICKET_SOURCE_ROOT"), 7, unfit_path);
	return 0;
}

static int clean(void **state)
{
	free(results_path);
	free(engine_path);
	free(unfit_path);
	test_folder_remove(folder);
	return 0;
}

int main(void)
{
	if (!getenv("PICKET_SOURCE_ROOT")) {
		printf("skipped: PICKET_SOURCE_ROOT does not say where the demo's model is\n");
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passthrough_and_a_dead_camera),
		cmocka_unit_test(test_engine_life),
		cmocka_unit_test(test_faults_are_told_in_results),
		cmocka_unit_test(test_roi),
		cmocka_unit_test(test_roi_changes_while_it_runs),
		cmocka_unit_test(test_slow_inference_stays_fresh),
		cmocka_unit_test(test_five_inferences_a_second),
		cmocka_unit_test(test_apply_touches_only_what_differs),
		cmocka_unit_test(test_many_changes_leave_nothing),
	};
	return cmocka_run_group_tests(tests, prepare, clean);
}
