// SPDX-License-Identifier: Apache-2.0
// What governs builds: the folder they write to, the mark over boots, control groups.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "daemon/boot_mark.h"
#include "daemon/build_folder.h"
#include "daemon/cgroup.h"
#include "daemon/step_back.h"
#include "tests/unit/daemon/support.h"

static char *path_of(const char *folder, const char *name)
{
	char *path = pk_fs_join(folder, name);
	assert_non_null(path);
	return path;
}

static void put(const char *root, const char *name, const char *text)
{
	char *path = path_of(root, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(pk_fs_mkdirs(path, 0755, NULL), 0);
	free(path);
	write_text(root, name, text);
}

static void boot(const char *root, const char *id)
{
	put(root, "proc/sys/kernel/random/boot_id", id);
}

static void start(struct pk_boot_mark *mark, const char *root)
{
	assert_int_equal(pk_boot_mark_init(mark, root, root), 0);
}

static void test_unclean_boots_are_counted(void **ctx)
{
	(void)ctx;
	struct pk_boot_mark mark;
	char *root = make_folder();
	for (unsigned i = 0; i <= PK_BOOT_MARK_LIMIT; i++) {
		char id[16];
		snprintf(id, sizeof(id), "boot-%u\n", i);
		boot(root, id);
		start(&mark, root);
		assert_int_equal(mark.n_unclean, i);
		assert_true(pk_boot_mark_holds(&mark) == (i == PK_BOOT_MARK_LIMIT));
		assert_int_equal(pk_boot_mark_begin(&mark, NULL), 0);
		pk_boot_mark_finish(&mark); // the machine goes down
		start(&mark, root);         // picketd alone: that is no boot
		assert_int_equal(mark.n_unclean, i);
		assert_int_equal(pk_boot_mark_begin(&mark, NULL), 0);
		pk_boot_mark_finish(&mark);
	}
	start(&mark, root);
	pk_boot_mark_forget(&mark);
	pk_boot_mark_finish(&mark);
	start(&mark, root);
	assert_false(pk_boot_mark_holds(&mark));
	pk_boot_mark_finish(&mark);
	remove_folder(root);
}

static void test_good_builds_clear_the_mark(void **ctx)
{
	(void)ctx;
	struct pk_boot_mark mark;
	char *root = make_folder();
	boot(root, "a");
	start(&mark, root);
	assert_int_equal(pk_boot_mark_begin(&mark, NULL), 0);
	pk_boot_mark_finish(&mark);
	boot(root, "b");
	start(&mark, root);
	assert_int_equal(mark.n_unclean, 1);
	assert_int_equal(pk_boot_mark_begin(&mark, NULL), 0);
	pk_boot_mark_end(&mark, false); // picketd was stopped: the count stays
	assert_int_equal(mark.n_unclean, 1);
	assert_int_equal(pk_boot_mark_begin(&mark, NULL), 0);
	pk_boot_mark_end(&mark, true);
	pk_boot_mark_finish(&mark);
	boot(root, "c");
	start(&mark, root);
	assert_int_equal(mark.n_unclean, 0);
	pk_boot_mark_finish(&mark);
	write_text(root, "build-mark", "\xff garbage");
	start(&mark, root);
	assert_int_equal(mark.n_unclean, 0);
	pk_boot_mark_finish(&mark);
	remove_folder(root);
}

struct scene {
	char *root, *folder, *engine, *timing;
	json_t *request, *inside;
};

static void open_scene(struct scene *scene)
{
	*scene = (struct scene){.root = make_folder()};
	scene->folder = path_of(scene->root, "build");
	scene->engine = path_of(scene->root, "abc.engine");
	scene->timing = path_of(scene->root, "cpu.timing");
	scene->request = json_pack(
		"{s:s, s:s, s:s}", "engine", scene->engine, "timing", scene->timing, "onnx", "/x");
}

static void enter(struct scene *scene)
{
	json_decref(scene->inside);
	scene->inside = NULL;
	assert_int_equal(
		pk_build_folder_enter(scene->folder, scene->request, &scene->inside, NULL), 0);
}

static void close_scene(struct scene *scene)
{
	json_decref(scene->inside);
	json_decref(scene->request);
	free(scene->folder);
	free(scene->engine);
	free(scene->timing);
	remove_folder(scene->root);
}

static void test_folder_keeps_builds_apart(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	write_text(scene.root, "cpu.timing", "old");
	put(scene.root, "build/left/over", "x");
	enter(&scene);
	const char *engine = json_string_value(json_object_get(scene.inside, "engine"));
	assert_true(strncmp(engine, scene.folder, strlen(scene.folder)) == 0);
	assert_string_equal(json_string_value(json_object_get(scene.inside, "onnx")), "/x");
	char *timing = read_text(scene.folder, "cpu.timing");
	assert_string_equal(timing, "old");
	free(timing);
	assert_false(pk_fs_exists(scene.folder) && access(engine, F_OK) == 0);
	write_text(scene.folder, "cpu.timing", "more");
	write_text(scene.folder, "abc.engine", "made");
	assert_int_equal(pk_build_folder_leave(scene.folder, scene.request, true, NULL), 0);
	char *made = read_text(scene.root, "abc.engine");
	timing = read_text(scene.root, "cpu.timing");
	assert_string_equal(made, "made");
	assert_string_equal(timing, "more");
	free(made);
	free(timing);
	close_scene(&scene);
}

static void test_folder_gives_out_only_what_was_made(void **ctx)
{
	(void)ctx;
	struct scene scene;
	open_scene(&scene);
	enter(&scene);
	assert_int_equal(pk_build_folder_leave(scene.folder, scene.request, false, NULL), 0);
	assert_int_equal(pk_build_folder_leave(scene.folder, scene.request, true, NULL), -ENOENT);
	char *inside = path_of(scene.folder, "abc.engine");
	assert_int_equal(symlink("/etc/passwd", inside), 0); // a builder gone wrong
	assert_int_equal(pk_build_folder_leave(scene.folder, scene.request, true, NULL), -ENOENT);
	assert_false(pk_fs_exists(scene.engine));
	write_text(scene.folder, "cpu.timing", "torn"); // picketd was killed: it goes on from there
	enter(&scene);
	char *timing = read_text(scene.folder, "cpu.timing");
	assert_string_equal(timing, "torn");
	assert_false(pk_fs_exists(inside));
	free(timing);
	free(inside);
	close_scene(&scene);
}

static void lay_out_group(const char *root)
{
	static const char *const files[] = {"cgroup.subtree_control", "control/cgroup.procs",
		"build/cgroup.procs", "build/memory.max", "build/memory.oom.group",
		"build/cpu.weight", "build/cpu.idle"};
	put(root, "proc/self/cgroup", "3:cpu:/old\n0::/system.slice/picketd.service\n");
	for (size_t i = 0; i < PK_ARRAY_LEN(files); i++) {
		char name[128];
		snprintf(name, sizeof(name), "sys/fs/cgroup/system.slice/picketd.service/%s",
			files[i]);
		put(root, name, "");
	}
	put(root, "sys/fs/cgroup/system.slice/picketd.service/build/memory.events",
		"low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n");
}

static void assert_group_file(const char *root, const char *name, const char *want)
{
	char *folder = path_of(root, "sys/fs/cgroup/system.slice/picketd.service");
	char *text = read_text(folder, name);
	assert_string_equal(text, want);
	free(text);
	free(folder);
}

static void test_group_limits_the_builder(void **ctx)
{
	(void)ctx;
	pk_auto(pk_cgroup) group = NULL;
	char *root = make_folder();
	char pid[16];
	lay_out_group(root);
	assert_int_equal(pk_cgroup_open(root, &group, NULL), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_group_file(root, "control/cgroup.procs", pid);
	assert_int_equal(pk_cgroup_place(group, "build", 4711, 1 << 30, 20, NULL), 0);
	assert_group_file(root, "build/cgroup.procs", "4711");
	assert_group_file(root, "build/memory.max", "1073741824");
	assert_group_file(root, "build/memory.oom.group", "1");
	assert_group_file(root, "build/cpu.weight", "20");
	assert_group_file(root, "build/cpu.idle", "0");
	assert_int_equal(pk_cgroup_set_idle(group, "build", true), 0);
	assert_group_file(root, "build/cpu.idle", "1");
	assert_int_equal(pk_cgroup_oom_kills(group, "build"), 3);
	assert_int_equal(pk_cgroup_oom_kills(group, "worker"), 0);
	assert_int_equal(pk_cgroup_oom_kills(NULL, "build"), 0);
	remove_folder(root);
}

static void test_group_that_was_not_delegated(void **ctx)
{
	(void)ctx;
	struct pk_cgroup *group = NULL;
	struct pk_err err = {0};
	char *root = make_folder();
	assert_int_equal(pk_cgroup_open(root, &group, &err), -ENOTSUP);
	put(root, "proc/self/cgroup", "1:name=systemd:/\n");
	assert_int_equal(pk_cgroup_open(root, &group, &err), -ENOTSUP);
	put(root, "proc/self/cgroup", "0::/gone\n");
	assert_int_equal(pk_cgroup_open(root, &group, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "Delegate="));
	remove_folder(root);
}

// A child that gets nothing done while it steps back entirely shares the cores again.
static void test_builder_steps_back_and_returns_when_it_starves(void **ctx)
{
	(void)ctx;
	struct pk_step_back step = {0};
	pid_t pid = fork();
	if (pid == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	bool steps_back = pk_step_back_begin(&step, pid, NULL, NULL);
	assert_int_equal(sched_getscheduler(pid), steps_back ? SCHED_IDLE : SCHED_OTHER);
	int64_t now_ns = pk_now_ns();
	assert_false(pk_step_back_check(&step, now_ns + PK_NS_PER_S)); // too early to say
	if (steps_back) {
		assert_false(pk_step_back_check(&step, now_ns + 60 * PK_NS_PER_S)); // was paused
		assert_int_equal(sched_getscheduler(pid), SCHED_IDLE);
	}
	assert_int_equal(pk_step_back_check(&step, now_ns + 66 * PK_NS_PER_S), steps_back);
	assert_int_equal(sched_getscheduler(pid), SCHED_OTHER);
	assert_false(pk_step_back_check(&step, now_ns + 72 * PK_NS_PER_S)); // once
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!steps_back)
		print_message("RLIMIT_NICE does not let idle scheduling be left: not tried\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unclean_boots_are_counted),
		cmocka_unit_test(test_good_builds_clear_the_mark),
		cmocka_unit_test(test_folder_keeps_builds_apart),
		cmocka_unit_test(test_folder_gives_out_only_what_was_made),
		cmocka_unit_test(test_group_limits_the_builder),
		cmocka_unit_test(test_group_that_was_not_delegated),
		cmocka_unit_test(test_builder_steps_back_and_returns_when_it_starves),
	};
	return cmocka_run_group_tests_name("daemon/governance", tests, NULL, NULL);
}
