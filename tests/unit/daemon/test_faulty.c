// SPDX-License-Identifier: Apache-2.0
// Which cameras are set aside for ending the worker, and when they come back.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/faulty.h"
#include "tests/unit/daemon/support.h"

#define S      PK_NS_PER_S
#define MINUTE (60 * S)

static void test_the_third_time_sets_aside(void **ctx)
{
	(void)ctx;
	struct pk_faulty f = {0};
	assert_null(pk_faulty_crashed(&f, "a", 100 * S));
	assert_null(pk_faulty_crashed(&f, "a", 110 * S));
	assert_null(pk_faulty_crashed(&f, "b", 111 * S)); // counted by itself
	assert_false(pk_faulty_is_aside(&f, "a"));
	assert_int_equal(pk_faulty_next_ns(&f), INT64_MAX);
	const struct pk_faulty_camera *a = pk_faulty_crashed(&f, "a", 120 * S);
	assert_non_null(a);
	assert_int_equal(a->n, PK_FAULTY_FROM);
	assert_int_equal(a->until_ns, 180 * S);
	assert_true(pk_faulty_is_aside(&f, "a"));
	assert_false(pk_faulty_is_aside(&f, "b"));
	assert_int_equal(pk_faulty_next_ns(&f), 180 * S);
	pk_faulty_finish(&f);
}

static void crash_often(struct pk_faulty *f, const char *camera, int64_t now_ns)
{
	for (int i = 0; i < PK_FAULTY_FROM; i++)
		(void)pk_faulty_crashed(f, camera, now_ns);
}

static void test_waits_double_up_to_an_hour(void **ctx)
{
	(void)ctx;
	static const int64_t want_min[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct pk_faulty f = {0};
	int64_t now_ns = 0;
	crash_often(&f, "a", now_ns);
	for (size_t i = 0; i < PK_ARRAY_LEN(want_min); i++) {
		assert_int_equal(pk_faulty_next_ns(&f) - now_ns, want_min[i] * MINUTE);
		now_ns = pk_faulty_next_ns(&f);
		assert_null(pk_faulty_release(&f, now_ns - 1));
		const struct pk_faulty_camera *a = pk_faulty_release(&f, now_ns);
		assert_non_null(a);
		assert_string_equal(a->name, "a");
		assert_null(pk_faulty_release(&f, now_ns)); // once
		assert_false(pk_faulty_is_aside(&f, "a"));
		now_ns += 5 * S;
		assert_non_null(pk_faulty_crashed(&f, "a", now_ns)); // one more is enough
	}
	pk_faulty_finish(&f);
}

static void test_good_times_are_forgiven(void **ctx)
{
	(void)ctx;
	struct pk_faulty f = {0};
	assert_null(pk_faulty_crashed(&f, "a", 0));
	assert_null(pk_faulty_crashed(&f, "a", S));
	assert_null(pk_faulty_crashed(&f, "a", 15 * MINUTE)); // the first again
	assert_null(pk_faulty_crashed(&f, "a", 16 * MINUTE));
	assert_non_null(pk_faulty_crashed(&f, "a", 17 * MINUTE));
	pk_faulty_forget(&f, "a"); // another config
	pk_faulty_forget(&f, "unknown");
	assert_false(pk_faulty_is_aside(&f, "a"));
	assert_null(pk_faulty_crashed(&f, "a", 18 * MINUTE));
	pk_faulty_finish(&f);
}

static void test_worker_gets_the_others(void **ctx)
{
	(void)ctx;
	struct pk_problems problems = {0};
	struct pk_config *config = NULL;
	struct pk_faulty f = {0};
	static const char text[] = "models:\n  m: {artifact: \"oci:/x:t\"}\n"
				   "cameras:\n  a: {source: {kind: test}, model: m}\n"
				   "  b: {source: {kind: test}, model: m}\n";
	assert_int_equal(pk_config_parse(text, strlen(text), "c", "/", &config, &problems), 0);
	crash_often(&f, "a", 0);
	char *dump = pk_faulty_dump(&f, config);
	struct pk_config *rest = NULL;
	assert_non_null(dump);
	assert_int_equal(pk_config_parse(dump, strlen(dump), "c", "/", &rest, &problems), 0);
	assert_int_equal(rest->n_cameras, 1);
	assert_string_equal(rest->cameras[0].name, "b");
	assert_int_equal(config->n_cameras, 2); // untouched
	crash_often(&f, "b", 0);
	free(dump);
	dump = pk_faulty_dump(&f, config); // none is left: still a config
	pk_config_destroy(rest);
	rest = NULL;
	assert_int_equal(pk_config_parse(dump, strlen(dump), "c", "/", &rest, &problems), 0);
	assert_int_equal(rest->n_cameras, 0);
	free(dump);
	pk_config_destroy(rest);
	pk_config_destroy(config);
	pk_problems_finish(&problems);
	pk_faulty_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_third_time_sets_aside),
		cmocka_unit_test(test_waits_double_up_to_an_hour),
		cmocka_unit_test(test_good_times_are_forgiven),
		cmocka_unit_test(test_worker_gets_the_others),
	};
	return cmocka_run_group_tests_name("daemon/faulty", tests, NULL, NULL);
}
