// SPDX-License-Identifier: Apache-2.0
// The supervisor with real processes: a double of the worker that fails as told.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "daemon/supervisor.h"
#include "daemon/text.h"
#include "tests/unit/daemon/double_mode.h"
#include "tests/unit/daemon/support.h"

static char *worker_program;
static const char minimal_config[] = "node: {name: test}\n";

struct scene {
	char *folder;
	struct pk_loop *loop;
	struct pk_events *events;
	struct pk_supervisor *supervisor;
	unsigned n_up, n_down, n_crashed, n_heartbeats, n_answers;
	char cause[256], blamed[64], camera[64];
	bool stopped;
	unsigned want; // for the conditions
};

static void on_up(void *ctx)
{
	((struct scene *)ctx)->n_up++;
}

static void on_down(void *ctx, const char *cause, bool crashed, const struct pk_worker_blame *blame)
{
	struct scene *scene = ctx;
	snprintf(scene->blamed, sizeof(scene->blamed), "%s", blame->model ? blame->model : "");
	snprintf(scene->camera, sizeof(scene->camera), "%s", blame->camera ? blame->camera : "");
	scene->n_down++;
	scene->n_crashed += crashed;
	pk_text_format(scene->cause, sizeof(scene->cause), "%s", cause);
}

static void on_message(void *ctx, const char *type, const json_t *message)
{
	struct scene *scene = ctx;
	(void)message;
	scene->n_heartbeats += strcmp(type, "heartbeat") == 0;
	if (strcmp(type, "assign_done") == 0) {
		scene->n_answers++;
		pk_supervisor_answered(scene->supervisor);
	}
}

static void on_stopped(void *ctx)
{
	((struct scene *)ctx)->stopped = true;
}

static bool is_up(void *ctx)
{
	return ((struct scene *)ctx)->n_up >= ((struct scene *)ctx)->want;
}

static bool is_down(void *ctx)
{
	return ((struct scene *)ctx)->n_down >= ((struct scene *)ctx)->want;
}

static bool has_heartbeats(void *ctx)
{
	return ((struct scene *)ctx)->n_heartbeats >= ((struct scene *)ctx)->want;
}

static bool has_answer(void *ctx)
{
	return ((struct scene *)ctx)->n_answers > 0;
}

static bool is_stopped(void *ctx)
{
	return ((struct scene *)ctx)->stopped;
}

static const struct pk_supervisor_limits short_limits = {
	.start_ns = 3 * PK_NS_PER_S,
	.silence_ns = 800 * PK_NS_PER_MS,
	.busy_ns = 3 * PK_NS_PER_S,
	.prepare_ns = PK_NS_PER_S,
	.stuck_ns = 10 * PK_NS_PER_S,
	.restart_ns = 20 * PK_NS_PER_MS,
	.restart_max_ns = 200 * PK_NS_PER_MS,
	.healthy_ns = PK_NS_PER_S,
	.loop_ns = 50 * PK_NS_PER_MS,
	.stop_ns = 500 * PK_NS_PER_MS,
	.term_ns = 200 * PK_NS_PER_MS,
};

static void open_scene(struct scene *scene, const char *mode, const char *program)
{
	struct pk_err err = {0};
	*scene = (struct scene){.folder = make_folder(), .want = 1};
	set_mode(scene->folder, DOUBLE_WORKER_MODE, mode);
	scene->loop = pk_loop_create(&err);
	scene->events = pk_events_create();
	const struct pk_supervisor_hooks hooks = {
		.up = on_up, .down = on_down, .message = on_message, .ctx = scene};
	assert_int_equal(pk_supervisor_create(scene->loop, scene->events, program, &hooks,
				 &scene->supervisor, &err),
		0);
	pk_supervisor_set_limits(scene->supervisor, &short_limits);
	assert_int_equal(pk_supervisor_set_config(scene->supervisor, minimal_config), 0);
	pk_supervisor_start(scene->supervisor);
}

static void close_scene(struct scene *scene)
{
	pk_supervisor_destroy(scene->supervisor);
	pk_events_destroy(scene->events);
	pk_loop_destroy(scene->loop);
	remove_folder(scene->folder);
}

static void test_starts_beats_and_stops(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "good", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	assert_true(pk_supervisor_is_up(scene.supervisor));
	assert_true(pk_supervisor_pid(scene.supervisor) > 0);
	scene.want = 3;
	assert_true(turn_until(scene.loop, has_heartbeats, &scene, 5000));
	int64_t start_ns = pk_now_ns();
	pk_supervisor_stop(scene.supervisor, on_stopped, &scene);
	assert_true(turn_until(scene.loop, is_stopped, &scene, 3000));
	assert_true(pk_now_ns() - start_ns < 400 * PK_NS_PER_MS); // it obeyed the message
	assert_int_equal(scene.n_down, 0);                        // a wanted end is no news
	assert_int_equal(pk_supervisor_pid(scene.supervisor), 0);
	close_scene(&scene);
}

static void test_kill_is_seen_and_it_starts_again(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "good", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	pid_t first = pk_supervisor_pid(scene.supervisor);
	kill(first, SIGKILL);
	assert_true(turn_until(scene.loop, is_down, &scene, 2000));
	assert_string_equal(scene.cause, "killed by SIGKILL");
	scene.want = 2;
	assert_true(turn_until(scene.loop, is_up, &scene, 3000));
	assert_int_not_equal(pk_supervisor_pid(scene.supervisor), first);
	assert_int_equal(pk_supervisor_n_restarts(scene.supervisor), 1);
	close_scene(&scene);
}

// Each way to fail, and the cause that people read.
static void test_causes(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *mode, *cause;
	} rows[] = {
		{"exit3", "exit code 3"},
		{"crash", "killed by SIGABRT"},
		{"garbage", "its messages cannot be read: "},
		{"mute", "no heartbeat for "},
		{"stuck", "pipeline stuck for "},
		{"refuse", "worker cannot use its config: told to"},
		{"silent-start", "not ready after "},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct scene scene;
		open_scene(&scene, rows[i].mode, worker_program);
		assert_true(turn_until(scene.loop, is_down, &scene, 8000));
		if (strncmp(scene.cause, rows[i].cause, strlen(rows[i].cause)) != 0)
			print_error("%s: `%s`\n", rows[i].mode, scene.cause);
		assert_memory_equal(scene.cause, rows[i].cause, strlen(rows[i].cause));
		assert_int_equal(scene.n_crashed, 1);
		close_scene(&scene);
	}
}

static void test_crash_loop_backs_off(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "exit3", worker_program);
	turn_for(scene.loop, 1500);
	unsigned early = scene.n_down; // 20, 40, 80, 160, 200, 200 … ms
	assert_true(early >= 3 && early <= 12);
	set_mode(scene.folder, DOUBLE_WORKER_MODE, "good");
	scene.want = scene.n_up + 1;
	assert_true(turn_until(scene.loop, is_up, &scene, 3000)); // and it comes back by itself
	close_scene(&scene);
}

static const char *event_field(const struct pk_events *events, const char *name, const char *field)
{
	const json_t *event;
	int64_t after = 0;
	while ((event = pk_events_next(events, after))) {
		after = json_integer_value(json_object_get(event, "id"));
		if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
			return json_string_value(
				json_object_get(json_object_get(event, "fields"), field));
	}
	return NULL;
}

#if !defined(__SANITIZE_ADDRESS__)
static void test_crash_names_model_runtime_and_camera(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "blame", worker_program);
	assert_true(turn_until(scene.loop, is_down, &scene, 5000));
	assert_string_equal(scene.cause, "killed by SIGSEGV");
	assert_string_equal(scene.blamed, "parts");
	assert_string_equal(event_field(scene.events, "worker-ended", "blame"),
		"model parts, runtime cpu, camera belt");
	assert_string_equal(event_field(scene.events, "worker-ended", "phase_of"), "infer");
	close_scene(&scene);
}
#endif

static void test_crash_loop_is_told_once_and_survives_restarts(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "exit3", worker_program);
	assert_int_equal(pk_supervisor_keep_crashes(scene.supervisor, scene.folder), 0);
	scene.want = 8;
	assert_true(turn_until(scene.loop, is_down, &scene, 8000));
	assert_non_null(event_field(scene.events, "worker-crash-loop", "cause"));
	pk_auto_json alarm = pk_supervisor_alarm(scene.supervisor);
	assert_non_null(alarm);
	char *kept = read_text(scene.folder, "worker-crashes");
	assert_memory_equal(kept, "8 exit code 3", 13);
	free(kept);
	pk_supervisor_set_limits(scene.supervisor, &short_limits);
	set_mode(scene.folder, DOUBLE_WORKER_MODE, "good");
	scene.want = scene.n_up + 1;
	assert_true(turn_until(scene.loop, is_up, &scene, 8000));
	turn_for(scene.loop, 1500); // it lives: the count starts again
	json_t *gone = pk_supervisor_alarm(scene.supervisor);
	assert_null(gone);
	kept = read_text(scene.folder, "worker-crashes");
	assert_string_equal(kept, "");
	free(kept);
	close_scene(&scene);
}

static void test_missing_program_is_retried(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "good", "/nonexistent/picket-worker");
	assert_int_equal(scene.n_down, 1); // told at once
	assert_non_null(strstr(scene.cause, "No such file"));
	scene.want = 3;
	assert_true(turn_until(scene.loop, is_down, &scene, 3000));
	close_scene(&scene);
}

static void test_slow_load_is_not_a_hang(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "slow-load", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	// 1.2 s without a heartbeat: more than silence_ns, less than busy_ns.
	assert_int_equal(pk_supervisor_send(scene.supervisor,
				 json_pack("{s:s, s:s, s:s, s:i}", "type", "assign", "model", "m",
					 "engine", "/nonexistent", "serial", 1),
				 true),
		0);
	assert_true(turn_until(scene.loop, has_answer, &scene, 3000));
	assert_int_equal(scene.n_down, 0);
	close_scene(&scene);
}

// Preparing has a limit of its own: a driver that hangs is found sooner than a slow disk.
static void test_hanging_load_is_noticed(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "hang-load", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	assert_int_equal(pk_supervisor_send(scene.supervisor,
				 json_pack("{s:s, s:s, s:s, s:i}", "type", "assign", "model", "m",
					 "engine", "/nonexistent", "serial", 1),
				 true),
		0);
	assert_true(turn_until(scene.loop, is_down, &scene, 2800)); // less than busy_ns
	assert_non_null(strstr(scene.cause, "while it prepares an engine"));
	close_scene(&scene);
}

static void test_crash_names_the_camera(void **ctx)
{
	(void)ctx;
	struct scene scene;
#if defined(__SANITIZE_ADDRESS__)
	printf("skipped: a sanitizer reports crashes itself\n");
	skip();
#endif
	open_scene(&scene, "blame-camera", worker_program);
	assert_true(turn_until(scene.loop, is_down, &scene, 5000));
	assert_string_equal(scene.camera, "belt");
	assert_string_equal(scene.blamed, "");
	close_scene(&scene);
}

static void test_deaf_worker_is_forced_to_end(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "deaf", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	int64_t start_ns = pk_now_ns();
	pk_supervisor_stop(scene.supervisor, on_stopped, &scene);
	assert_true(turn_until(scene.loop, is_stopped, &scene, 3000));
	int64_t took_ns = pk_now_ns() - start_ns; // stop_ns + term_ns
	assert_true(took_ns >= 600 * PK_NS_PER_MS && took_ns < 1500 * PK_NS_PER_MS);
	close_scene(&scene);
}

static void test_send_without_a_worker(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "silent-start", worker_program);
	assert_int_equal(
		pk_supervisor_send(scene.supervisor, json_pack("{s:s}", "type", "stop"), false),
		-ENOTCONN);
	pk_supervisor_stop(scene.supervisor, on_stopped, &scene);
	assert_true(turn_until(scene.loop, is_stopped, &scene, 3000));
	close_scene(&scene);
}

static void test_new_config_that_is_refused_restarts_it(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene, "good", worker_program);
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	set_mode(scene.folder, DOUBLE_WORKER_MODE, "refuse");
	assert_int_equal(pk_supervisor_set_config(scene.supervisor, minimal_config), 0);
	assert_true(turn_until(scene.loop, is_down, &scene, 3000));
	assert_int_equal(scene.n_crashed, 0); // it was asked to end
	set_mode(scene.folder, DOUBLE_WORKER_MODE, "good");
	scene.want = 2;
	assert_true(turn_until(scene.loop, is_up, &scene, 5000));
	close_scene(&scene);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_beats_and_stops),
		cmocka_unit_test(test_kill_is_seen_and_it_starts_again),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_crash_loop_backs_off),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(test_crash_names_model_runtime_and_camera),
#endif
		cmocka_unit_test(test_crash_loop_is_told_once_and_survives_restarts),
		cmocka_unit_test(test_missing_program_is_retried),
		cmocka_unit_test(test_slow_load_is_not_a_hang),
		cmocka_unit_test(test_hanging_load_is_noticed),
		cmocka_unit_test(test_crash_names_the_camera),
		cmocka_unit_test(test_deaf_worker_is_forced_to_end),
		cmocka_unit_test(test_send_without_a_worker),
		cmocka_unit_test(test_new_config_that_is_refused_restarts_it),
	};
	if (argc < 2)
		return 1;
	worker_program = realpath(argv[1], NULL);
	if (!worker_program)
		return 1;
	pk_log_init("test", PK_LOG_ALERT);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
