// SPDX-License-Identifier: Apache-2.0
// The builder with real processes: a double of picket-build that fails as told.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "daemon/builder.h"
#include "daemon/text.h"
#include "tests/lib/emulated.h"
#include "tests/unit/daemon/double_mode.h"
#include "tests/unit/daemon/support.h"

static char *build_program;

struct scene {
	char *folder;
	struct pk_loop *loop;
	struct pk_builder *builder;
	unsigned n_done;
	char order[16]; // names of jobs as they ended
};

struct order {
	struct scene *scene;
	char name;
	struct pk_build_job job;
	unsigned n_started, n_progress, n_done;
	struct pk_build_progress progress;
	int code;
	bool permanent;
	char error[256];
};

static void on_started(void *ctx)
{
	((struct order *)ctx)->n_started++;
}

static void on_progress(void *ctx, const struct pk_build_progress *progress)
{
	struct order *order = ctx;
	order->n_progress++;
	order->progress = *progress;
}

static void on_done(void *ctx, const struct pk_build_result *result)
{
	struct order *order = ctx;
	order->n_done++;
	order->code = result->code;
	order->permanent = result->permanent;
	pk_text_format(
		order->error, sizeof(order->error), "%s", result->error ? result->error : "");
	assert_true((result->error != NULL) == (result->code < 0));
	struct scene *scene = order->scene;
	scene->order[scene->n_done++] = order->name;
}

static void open_scene(struct scene *scene, const char *mode, const char *program)
{
	struct pk_err err = {0};
	*scene = (struct scene){.folder = make_folder()};
	set_mode(scene->folder, DOUBLE_BUILD_MODE, mode);
	scene->loop = pk_loop_create(&err);
	assert_int_equal(pk_builder_create(scene->loop, program, &scene->builder, &err), 0);
}

static void close_scene(struct scene *scene)
{
	pk_builder_destroy(scene->builder);
	pk_loop_destroy(scene->loop);
	remove_folder(scene->folder);
}

static void place(struct scene *scene, struct order *order, char name, bool quick)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%c.engine", scene->folder, name);
	*order = (struct order){.scene = scene, .name = name};
	order->job = (struct pk_build_job){
		.request = json_pack("{s:s, s:s, s:i}", "engine", path, "runtime", "cpu",
			"opt_level", quick ? 0 : 1),
		.quick = quick,
		.started = on_started,
		.progress = on_progress,
		.done = on_done,
		.ctx = order,
	};
	pk_builder_add(scene->builder, &order->job);
}

static bool order_ended(void *ctx)
{
	return ((struct order *)ctx)->n_done > 0;
}

static void test_builds(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order order;
	open_scene(&scene, "good", build_program);
	place(&scene, &order, 'a', false);
	assert_true(turn_until(scene.loop, order_ended, &order, 5000));
	assert_int_equal(order.code, 0);
	assert_int_equal(order.n_started, 1);
	assert_int_equal(order.n_progress, 1);
	assert_string_equal(order.progress.phase, "tune");
	assert_int_equal(order.progress.done, 1);
	assert_int_equal(order.progress.total, 4);
	assert_true(order.progress.eta_ns >= 0);
	assert_false(order.job.queued);
	pk_auto_free char *engine = read_text(scene.folder, "a.engine");
	assert_string_equal(engine, "tuned");
	close_scene(&scene);
}

// The sanitizers need terabytes of address space, so there the limit cannot be shown.
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_BYTES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMIT_BYTES 0
#endif
#endif
#ifndef LIMIT_BYTES
#define LIMIT_BYTES INT64_C(0x80000000)
#endif

static void test_failures(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *mode, *error;
		int code;
		bool permanent;
	} rows[] = {
		{"fail", "told to fail", -EAGAIN, false},
		{"permanent", "told to fail for ever", -ENOTSUP, true},
		{"crash", "picket-build: killed by SIGABRT", -EIO, false},
		{"noresult", "picket-build: exit code 0", -EIO, false},
		{"silent", "picket-build: said nothing for 1.0 s", -EIO, false},
		{"endless", "picket-build: took longer than 2.0 s", -EIO, false},
		{"babble", "picket-build: a line of its output is too long", -EIO, false},
		{"memory", "out of memory", -ENOMEM, false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct scene scene;
		struct order order;
		bool memory = strcmp(rows[i].mode, "memory") == 0;
		if (memory && (LIMIT_BYTES == 0 ||
				      is_emulated("daemon/builder out of memory",
					      "RLIMIT_AS would limit qemu, which keeps it away")))
			continue;
		open_scene(&scene, rows[i].mode, build_program);
		pk_builder_set_limits(scene.builder, &(struct pk_builder_limits){
							     .wall_ns = 2 * PK_NS_PER_S,
							     .silence_ns = PK_NS_PER_S,
							     .memory_bytes = LIMIT_BYTES,
							     .nice = 1,
						     });
		place(&scene, &order, 'a', false);
		assert_true(turn_until(scene.loop, order_ended, &order, 8000));
		print_message("%s: %s\n", rows[i].mode, order.error);
		assert_string_equal(order.error, rows[i].error);
		assert_int_equal(order.code, rows[i].code);
		assert_int_equal(order.permanent, rows[i].permanent);
		close_scene(&scene);
	}
}

static bool three_ended(void *ctx)
{
	return ((struct scene *)ctx)->n_done == 3;
}

static void test_one_at_a_time_quick_ones_first(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order a, b, c;
	open_scene(&scene, "good", build_program);
	place(&scene, &a, 'a', false);
	place(&scene, &b, 'b', false);
	place(&scene, &c, 'c', true);
	assert_true(turn_until(scene.loop, three_ended, &scene, 8000));
	assert_string_equal(scene.order, "cab");
	close_scene(&scene);
}

static bool is_started(void *ctx)
{
	return ((struct order *)ctx)->n_started > 0;
}

static void test_cancel(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order a, b, c;
	open_scene(&scene, "endless", build_program);
	place(&scene, &a, 'a', false);
	place(&scene, &b, 'b', false);
	assert_true(turn_until(scene.loop, is_started, &a, 5000));
	pk_builder_cancel(scene.builder, &b.job); // it only waits
	pk_builder_cancel(scene.builder, &a.job); // it runs
	pk_builder_cancel(scene.builder, &a.job);
	set_mode(scene.folder, DOUBLE_BUILD_MODE, "good");
	place(&scene, &c, 'c', false);
	assert_true(turn_until(scene.loop, order_ended, &c, 5000));
	assert_int_equal(c.code, 0);
	assert_int_equal(a.n_done + b.n_done, 0);
	close_scene(&scene);
}

static void place_as(
	struct scene *scene, struct order *order, char name, bool quick, const char *mode)
{
	place(scene, order, name, quick);
	json_object_set_new(order->job.request, "mode", json_string(mode));
}

static bool was_started_twice(void *ctx)
{
	return ((struct order *)ctx)->n_started == 2;
}

static void test_quick_one_does_not_wait_for_a_long_one(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order a, b;
	open_scene(&scene, "good", build_program);
	place_as(&scene, &a, 'a', false, "endless");
	assert_true(turn_until(scene.loop, is_started, &a, 5000));
	place(&scene, &b, 'b', true);
	assert_true(turn_until(scene.loop, order_ended, &b, 8000));
	assert_int_equal(b.code, 0);
	assert_int_equal(a.n_done, 0); // it was only set back
	assert_true(turn_until(scene.loop, was_started_twice, &a, 5000));
	pk_builder_cancel(scene.builder, &a.job);
	close_scene(&scene);
}

static void test_long_one_is_not_set_back_for_ever(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order a, b;
	open_scene(&scene, "good", build_program);
	place_as(&scene, &a, 'a', false, "endless");
	assert_true(turn_until(scene.loop, is_started, &a, 5000));
	for (unsigned i = 0; i < 3; i++) {
		unsigned n_started = a.n_started;
		place(&scene, &b, 'b', true);
		assert_true(turn_until(scene.loop, order_ended, &b, 5000));
		while (a.n_started == n_started)
			turn_for(scene.loop, 20);
	}
	place(&scene, &b, 'b', true);
	assert_false(turn_until(scene.loop, order_ended, &b, 500)); // now it waits
	assert_int_equal(a.n_done, 0);
	pk_builder_cancel(scene.builder, &a.job);
	assert_true(turn_until(scene.loop, order_ended, &b, 5000));
	close_scene(&scene);
}

static void test_missing_program(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order order;
	open_scene(&scene, "good", "/nonexistent/picket-build");
	place(&scene, &order, 'a', false);
	assert_true(turn_until(scene.loop, order_ended, &order, 3000));
	assert_int_equal(order.code, -ENOENT);
	assert_false(order.permanent);
	close_scene(&scene);
}

static void test_destroy_kills_what_runs(void **ctx)
{
	(void)ctx;
	struct scene scene;
	struct order order;
	open_scene(&scene, "silent", build_program);
	place(&scene, &order, 'a', false);
	assert_true(turn_until(scene.loop, is_started, &order, 3000));
	json_t *request = order.job.request;
	close_scene(&scene); // waits for the process: none is left
	json_decref(request);
	assert_int_equal(order.n_done, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_one_at_a_time_quick_ones_first),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_quick_one_does_not_wait_for_a_long_one),
		cmocka_unit_test(test_long_one_is_not_set_back_for_ever),
		cmocka_unit_test(test_missing_program),
		cmocka_unit_test(test_destroy_kills_what_runs),
	};
	if (argc < 2)
		return 1;
	build_program = realpath(argv[1], NULL);
	if (!build_program)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
