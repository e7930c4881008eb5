// SPDX-License-Identifier: Apache-2.0
// Stories of a whole picketd: start, crash, reload, bad models, restart without a registry.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "tests/unit/daemon/double_mode.h"
#include "tests/unit/daemon/node.h"

static void test_first_start_builds_second_does_not(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	pk_auto_free char *builds = read_text(node.root, DOUBLE_BUILD_MODE ".log");
	assert_string_equal(builds, "cpu 0\ncpu 1\n"); // quick, then tuned
	assert_int_equal(node_stop(&node), 0);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 5000));
	assert_int_equal(node_n_builds(&node), 2);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_killed_worker_is_back_within_3_s(void **ctx)
{
	(void)ctx;
	struct node node;
	char cause[512];
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	pid_t pid = node_worker_pid(&node);
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	int64_t start_ns = pk_now_ns();
	while (node_events(&node, "worker-ended", "cause", cause) == 0)
		assert_true(pk_now_ns() - start_ns < 3 * PK_NS_PER_S);
	assert_string_equal(cause, "killed by SIGKILL");
	assert_true(node_wait_rung(&node, "engine", 3000));
	assert_true(pk_now_ns() - start_ns < 3 * PK_NS_PER_S);
	assert_int_not_equal(node_worker_pid(&node), pid);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static const char five_mistakes[] = "node: {name: desk}\n"
				    "telemetry: {interval: 30}\n"
				    "models:\n"
				    "  parts: {artifact: \"oci:%s/registry:stable\"}\n"
				    "cameras:\n"
				    "  belt: {source: {kind: tset}, modle: parts}\n"
				    "build: {nice: 99, memory: lots}\n";

static void test_bad_reload_keeps_the_old_config(void **ctx)
{
	(void)ctx;
	struct node node;
	int status = 0;
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	node_config(&node, five_mistakes);
	json_t *answer = node_post(&node, "/v1/reload", &status);
	assert_int_equal(status, 409);
	assert_false(json_is_true(json_object_get(answer, "ok")));
	const json_t *problems = json_object_get(answer, "problems");
	assert_true(json_array_size(problems) >= 5);
	assert_non_null(strstr(json_string_value(json_array_get(problems, 0)), "picket.yaml:2:"));
	json_decref(answer);
	assert_true(node_events(&node, "config-refused", NULL, NULL) >= 5);
	// The same by signal, and everything goes on.
	pk_subprocess_signal(&node.process, SIGHUP);
	assert_true(node_notified(&node, "RELOADING=1\nMONOTONIC_USEC=", 3000));
	assert_true(node_wait_rung(&node, "engine", 1000));
	json_t *cameras = node_get(&node, "/v1/cameras", NULL);
	assert_int_equal(json_array_size(json_object_get(cameras, "cameras")), 1);
	json_decref(cameras);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static const char two_cameras[] = "node: {name: desk}\n"
				  "runtime: {chain: [cpu]}\n"
				  "build: {memory: 0}\n"
				  "models:\n"
				  "  parts: {artifact: \"oci:%s/registry:stable\"}\n"
				  "cameras:\n"
				  "  belt: {source: {kind: test}, model: parts}\n"
				  "  door: {source: {kind: test}, model: parts}\n";

static bool wait_running(struct node *node, const char *line, int limit_ms)
{
	for (int i = 0; i < limit_ms / 20; i++) {
		json_t *status = node_get(node, "/v1/status", NULL);
		const char *text = json_string_value(json_object_get(status, "status"));
		bool is = text && strstr(text, line);
		json_decref(status);
		if (is)
			return true;
		usleep(20000);
	}
	return false;
}

static void test_good_reload_goes_to_the_worker(void **ctx)
{
	(void)ctx;
	struct node node;
	int status = 0;
	node_init(&node, false);
	node_start(&node);
	assert_true(wait_running(&node, "1/1 cameras running, parts: engine", 8000));
	pid_t pid = node_worker_pid(&node);
	node_config(&node, two_cameras);
	json_decref(node_post(&node, "/v1/reload", &status));
	assert_int_equal(status, 200);
	assert_true(wait_running(&node, "2/2 cameras running, parts: engine", 3000));
	assert_int_equal(node_worker_pid(&node), pid); // the worker was not restarted
	assert_int_equal(node_n_builds(&node), 2);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_permanent_failure_is_not_built_again_after_a_restart(void **ctx)
{
	(void)ctx;
	struct node node;
	char cause[512];
	int status = 0;
	node_init(&node, false);
	set_mode(node.root, DOUBLE_BUILD_MODE, "permanent");
	node_start(&node);
	assert_true(node_wait_rung(&node, "passthrough", 5000));
	assert_true(node_wait_alarm(&node, 5000));
	node_model_text(&node, "cause", cause);
	assert_string_equal(cause, "build failed: told to fail for ever");
	assert_int_equal(node_n_builds(&node), 2);
	assert_int_equal(node_stop(&node), 0);
	node_start(&node);
	assert_true(node_wait_alarm(&node, 5000));
	usleep(300 * 1000);
	assert_int_equal(node_n_builds(&node), 2);
	// Until the operator says so.
	set_mode(node.root, DOUBLE_BUILD_MODE, "good");
	json_decref(node_post(&node, "/v1/models/parts/rebuild", &status));
	assert_int_equal(status, 200);
	assert_true(node_wait_rung(&node, "engine", 5000));
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_transient_failure_is_tried_again(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, false);
	set_mode(node.root, DOUBLE_BUILD_MODE, "crash");
	node_start(&node);
	assert_true(node_wait_alarm(&node, 5000));
	char cause[512];
	assert_true(node_events(&node, "build-failed", "cause", cause) >= 1);
	assert_string_equal(cause, "build failed: picket-build: killed by SIGABRT");
	set_mode(node.root, DOUBLE_BUILD_MODE, "good");
	assert_true(node_wait_rung(&node, "engine", 8000));
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void spoil_engines(struct node *node)
{
	char command[512];
	char path[256];
	snprintf(path, sizeof(path), "%s/var/lib/picket/engines", node->root);
	snprintf(command, sizeof(command), "for f in %s/*.engine; do printf bad > $f; done", path);
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	const struct pk_subprocess_options options = {.argv = argv};
	struct pk_subprocess shell;
	struct pk_exit_status status;
	assert_int_equal(pk_subprocess_start(&shell, &options, NULL), 0);
	assert_int_equal(pk_subprocess_wait(&shell, -1, &status), 1);
}

static void test_corrupt_engine_is_rebuilt_with_its_reason(void **ctx)
{
	(void)ctx;
	struct node node;
	char reason[512];
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	spoil_engines(&node);
	kill(node_worker_pid(&node), SIGKILL);
	int64_t start_ns = pk_now_ns();
	while (node_events(&node, "engine-refused", "reason", reason) == 0)
		assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	assert_string_equal(reason, "corrupt");
	assert_true(node_wait_rung(&node, "engine", 5000));
	assert_true(node_n_builds(&node) >= 3);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static const char next_config[] = "node: {name: desk}\n"
				  "runtime: {chain: [cpu]}\n"
				  "build: {memory: 0}\n"
				  "models:\n"
				  "  parts: {artifact: \"oci:%s/registry:next\"}\n"
				  "cameras:\n"
				  "  belt: {source: {kind: test}, model: parts}\n";

static void test_bad_new_model_leaves_the_old_one_serving(void **ctx)
{
	(void)ctx;
	struct node node;
	char before[512], text[512];
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	node_model_text(&node, "digest", before);
	set_mode(node.root, DOUBLE_BUILD_MODE, "permanent");
	node_bundle(&node, "next", "a model that cannot be built");
	node_config(&node, next_config);
	json_decref(node_post(&node, "/v1/reload", NULL));
	int64_t start_ns = pk_now_ns();
	while (node_events(&node, "build-failed", NULL, NULL) == 0)
		assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	node_model_text(&node, "rung", text);
	assert_string_equal(text, "engine");
	node_model_text(&node, "digest", text);
	assert_string_equal(text, before);
	node_update_text(&node, "reason", text);
	assert_string_equal(text, "told to fail for ever");
	node_model_text(&node, "cause", text);
	assert_string_equal(text, ""); // the chain knows nothing of it
	// It comes back even after a restart: the store remembers what served last.
	assert_int_equal(node_stop(&node), 0);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 5000));
	usleep(300 * 1000);
	node_model_text(&node, "digest", text);
	assert_string_equal(text, before);
	// A good one after it takes over.
	set_mode(node.root, DOUBLE_BUILD_MODE, "good");
	node_bundle(&node, "next", "a better model");
	json_decref(node_post(&node, "/v1/models/parts/rebuild", NULL));
	assert_int_equal(node_stop(&node), 0);
	node_start(&node);
	start_ns = pk_now_ns();
	do {
		usleep(20000);
		node_model_text(&node, "digest", text);
		assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	} while (strcmp(text, before) == 0 || text[0] == '\0');
	assert_true(node_wait_rung(&node, "engine", 5000));
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_starts_from_the_store_without_a_registry(void **ctx)
{
	(void)ctx;
	struct node node;
	char path[256];
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	assert_int_equal(node_stop(&node), 0);
	snprintf(path, sizeof(path), "%s/registry", node.root);
	assert_int_equal(pk_fs_remove_tree(path, NULL), 0);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 5000));
	int64_t start_ns = pk_now_ns();
	while (node_events(&node, "artifact-failed", NULL, NULL) == 0)
		assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	assert_true(node_wait_rung(&node, "engine", 100));
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_damaged_state_is_told_and_survived(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	assert_int_equal(node_stop(&node), 0);
	write_text(node.root, "var/lib/picket/state/parts.json", "rubbish");
	write_text(node.root, "var/lib/picket/state/parts.json.prev", "rubbish too");
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 5000));
	assert_int_equal(node_events(&node, "state-ignored", NULL, NULL), 1);
	assert_int_equal(node_n_builds(&node), 2);
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_run_fault_falls_to_the_quick_engine(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, false);
	node_start(&node);
	assert_true(node_wait_rung(&node, "engine", 8000));
	set_mode(node.root, DOUBLE_WORKER_MODE, "fault");
	kill(node_worker_pid(&node), SIGKILL);
	int64_t start_ns = pk_now_ns();
	while (node_events(&node, "engine-fault", NULL, NULL) == 0)
		assert_true(pk_now_ns() - start_ns < 5 * PK_NS_PER_S);
	set_mode(node.root, DOUBLE_WORKER_MODE, "good");
	assert_true(node_wait_rung(&node, "engine", 8000)); // its timer brought it back
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_systemd_is_told(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, true);
	set_mode(node.root, DOUBLE_BUILD_MODE, "slow");
	node_start(&node); // READY comes before the builds
	assert_true(node_notified(&node, "STATUS=", 1000));
	assert_true(node_notified(&node, "parts: engine", 8000));
	assert_true(node_notified(&node, "WATCHDOG=1", 2000));
	node.notified[0] = '\0';
	assert_true(node_notified(&node, "WATCHDOG=1", 2000));
	pk_subprocess_signal(&node.process, SIGTERM);
	assert_true(node_notified(&node, "STOPPING=1", 2000));
	struct pk_exit_status status;
	assert_int_equal(pk_subprocess_wait(&node.process, 2000, &status), 1);
	assert_int_equal(status.code, 0);
	node_finish(&node);
}

static void test_stops_in_2_s_whatever_runs(void **ctx)
{
	(void)ctx;
	struct node node;
	node_init(&node, false);
	set_mode(node.root, DOUBLE_WORKER_MODE, "deaf");
	set_mode(node.root, DOUBLE_BUILD_MODE, "endless");
	node_start(&node);
	assert_true(node_wait_rung(&node, "building", 5000));
	pid_t worker = node_worker_pid(&node);
	assert_int_equal(node_stop(&node), 0);
	assert_int_equal(kill(worker, 0), -1); // nothing stays behind
	node_finish(&node);
}

static void test_second_picketd_on_one_root_is_refused(void **ctx)
{
	(void)ctx;
	struct node node;
	struct pk_exit_status status;
	node_init(&node, false);
	node_start(&node);
	struct node second = node;
	assert_int_equal(node_spawn(&second), 0);
	assert_int_equal(pk_subprocess_wait(&second.process, 5000, &status), 1);
	assert_int_equal(status.code, 1);
	int http = 0;
	json_decref(node_get(&node, "/v1/status", &http));
	assert_int_equal(http, 200); // the first one still answers
	assert_int_equal(node_stop(&node), 0);
	node_finish(&node);
}

static void test_bad_config_at_the_start_is_exit_2(void **ctx)
{
	(void)ctx;
	struct node node;
	struct pk_exit_status status;
	node_init(&node, false);
	node_config(&node, five_mistakes);
	assert_int_equal(node_spawn(&node), 0);
	assert_int_equal(pk_subprocess_wait(&node.process, 5000, &status), 1);
	assert_int_equal(status.code, 2);
	node_finish(&node);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_start_builds_second_does_not),
		cmocka_unit_test(test_killed_worker_is_back_within_3_s),
		cmocka_unit_test(test_bad_reload_keeps_the_old_config),
		cmocka_unit_test(test_good_reload_goes_to_the_worker),
		cmocka_unit_test(test_permanent_failure_is_not_built_again_after_a_restart),
		cmocka_unit_test(test_transient_failure_is_tried_again),
		cmocka_unit_test(test_corrupt_engine_is_rebuilt_with_its_reason),
		cmocka_unit_test(test_bad_new_model_leaves_the_old_one_serving),
		cmocka_unit_test(test_starts_from_the_store_without_a_registry),
		cmocka_unit_test(test_damaged_state_is_told_and_survived),
		cmocka_unit_test(test_run_fault_falls_to_the_quick_engine),
		cmocka_unit_test(test_systemd_is_told),
		cmocka_unit_test(test_stops_in_2_s_whatever_runs),
		cmocka_unit_test(test_second_picketd_on_one_root_is_refused),
		cmocka_unit_test(test_bad_config_at_the_start_is_exit_2),
	};
	if (argc < 3)
		return 1;
	node_programs(argv[1], argv[2]);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
