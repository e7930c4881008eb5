// SPDX-License-Identifier: Apache-2.0
// Every chain against every set of usable runtimes: the chain decides alone.
#include <errno.h>
#include <string.h>

#include "daemon/target.h"
#include "tests/unit/daemon/support.h"

static const struct pk_runtime_status cpu = {.name = "cpu"};
static const struct pk_runtime_status bad_cuda = {
	.name = "cuda", .error = -ENODEV, .text = "no driver"};
static const struct pk_runtime_status good_cuda = {.name = "cuda"};

static void choose(const char *a, const char *b, bool cpu_ok, int opt_level,
	const struct pk_runtime_status *cuda, struct pk_target_choice *out)
{
	char *chain[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b};
	const struct pk_model_config model = {
		.name = (char *)"m", .chain = chain, .n_chain = b ? 2 : 1, .cpu_ok = cpu_ok};
	struct pk_runtime_status statuses[2] = {cpu};
	if (cuda)
		statuses[1] = *cuda;
	pk_target_choose(&model, opt_level, statuses, cuda ? 2 : 1, out);
}

static void test_choices(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *a, *b;
		const struct pk_runtime_status *cuda;
		bool cpu_ok;
		int opt_level;
		const char *runtime, *better_cause;
		bool quick_ok;
	} rows[] = {
		{"cpu", NULL, NULL, true, 1, "cpu", "", true},
		{"cpu", NULL, NULL, false, 1, "cpu", "", false},
		{"cpu", NULL, NULL, true, 0, "cpu", "", false}, // it would be the same engine
		{"cuda", "cpu", NULL, true, 1, "cpu", "cuda: not in this build", true},
		{"cuda", "cpu", &bad_cuda, true, 1, "cpu", "cuda: no driver", true},
		{"cuda", "cpu", &good_cuda, true, 1, "cuda", "", true},
		{"cuda", "cpu", &good_cuda, true, 0, "cuda", "", true},
		{"cuda", "cpu", &good_cuda, false, 1, "cuda", "", false},
		{"cuda", NULL, &good_cuda, true, 1, "cuda", "", false}, // cpu is not named
		{"cuda", NULL, &bad_cuda, true, 1, "", "cuda: no driver", false},
		{"cuda", NULL, NULL, true, 1, "", "cuda: not in this build", false},
		{"cpu", "cuda", &good_cuda, true, 1, "cpu", "", true},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_target_choice choice;
		choose(rows[i].a, rows[i].b, rows[i].cpu_ok, rows[i].opt_level, rows[i].cuda,
			&choice);
		assert_string_equal(choice.runtime, rows[i].runtime);
		assert_string_equal(choice.better_cause, rows[i].better_cause);
		assert_int_equal(choice.quick_ok, rows[i].quick_ok);
		assert_int_equal(choice.opt_level, rows[i].opt_level);
	}
}

static void test_a_reason_that_names_itself_is_not_doubled(void **ctx)
{
	(void)ctx;
	struct pk_target_choice choice;
	const struct pk_runtime_status cuda = {
		.name = "cuda", .error = -ENODEV, .text = "cuda: no driver"};
	choose("cuda", "cpu", true, 1, &cuda, &choice);
	assert_string_equal(choice.better_cause, "cuda: no driver");
	assert_true(pk_target_equal(&choice, &choice));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_a_reason_that_names_itself_is_not_doubled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
