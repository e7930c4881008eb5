// SPDX-License-Identifier: Apache-2.0
// Bars and plain lines of progress, character by character.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cli/progress.h"

static void check(
	const struct pk_progress *progress, double now_s, int done, int total, const char *want)
{
	char text[PK_PROGRESS_TEXT];
	pk_progress_format(
		progress, (int64_t)(now_s * (double)PK_NS_PER_S), done, total, "conv1", text);
	assert_string_equal(text, want);
}

static void test_bar(void **state)
{
	(void)state;
	struct pk_progress p = {.is_terminal = true, .phase = "tune"};
	check(&p, 0.1, 0, 4, "tune      [........................]   0 %  0.1 s  conv1");
	check(&p, 10, 1, 4,
		"tune      [######..................]  25 %  10.0 s, 30.0 s left  conv1");
	check(&p, 100, 1, 4, "tune      [######..................]  25 %  1:40, 5:00 left  conv1");
	check(&p, 12, 4, 4, "tune      [########################] 100 %  12.0 s  conv1");
}

// The remaining time is that of the phase, the elapsed one that of all.
static void test_phases(void **state)
{
	(void)state;
	struct pk_progress p = {
		.is_terminal = true, .phase = "gate", .phase_begin_ns = 8 * PK_NS_PER_S};
	check(&p, 10, 2, 4,
		"gate      [############............]  50 %  10.0 s, 2.0 s left  conv1");
}

static void test_plain_lines(void **state)
{
	(void)state;
	struct pk_progress p = {.phase = "tune"};
	check(&p, 10, 1, 4, "tune: 1 of 4, 10.0 s, 30.0 s left");
}

static void test_nonsense(void **state)
{
	(void)state;
	struct pk_progress p = {.is_terminal = true, .phase = "x"};
	check(&p, 1, 5, 0, "x         [........................]   0 %  1.0 s  conv1");
	check(&p, 1, 9, 4, "x         [########################] 100 %  1.0 s  conv1");
	check(&p, 1, -1, 4, "x         [........................]   0 %  1.0 s  conv1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bar),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_plain_lines),
		cmocka_unit_test(test_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
