// SPDX-License-Identifier: Apache-2.0
// Log lines: redaction, cleaning, fields, priorities, one write a line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static char last[10000];
static int n_lines;

static void sink(void *ctx, enum pk_log_priority priority, const char *line)
{
	snprintf(last, sizeof(last), "<%d>%s", (int)priority, line);
	n_lines++;
}

static int use_sink(void **state)
{
	last[0] = '\0';
	n_lines = 0;
	pk_log_init("test", PK_LOG_INFO);
	pk_log_set_sink(sink, NULL);
	return 0;
}

static int drop_sink(void **state)
{
	pk_log_set_sink(NULL, NULL);
	return 0;
}

static void priorities_filter(void **state)
{
	pk_log_debug("not this");
	assert_int_equal(n_lines, 0);
	pk_log_set_max(PK_LOG_DEBUG);
	assert_true(pk_log_enabled(PK_LOG_DEBUG));
	pk_log_debug("but %s", "this");
	assert_string_equal(last, "<7>but this");
	pk_log_set_max(PK_LOG_ERR);
	assert_false(pk_log_enabled(PK_LOG_WARNING));
	pk_log_warning("no");
	pk_log_err("yes");
	assert_string_equal(last, "<3>yes");
	assert_int_equal(n_lines, 2);
}

static void secrets_are_replaced(void **state)
{
	pk_log_redact("s3cret/pass word");
	pk_log_redact("abc"); // too short to be a secret
	pk_log_redact(NULL);
	pk_log_redact("tok%41en");
	pk_log_info("a s3cret/pass word b s3cret/pass word");
	assert_string_equal(last, "<6>a *** b ***");
	pk_log_info("%s",
		"url s3cret%2Fpass%20word and s3cret%2fpass%20word and %733cret/pass%20word!");
	assert_string_equal(last, "<6>url *** and *** and ***!");
	pk_log_info("%s", "abc s3cret/pass wor s3cret%2Fpass%2");
	assert_string_equal(last, "<6>abc s3cret/pass wor s3cret%2Fpass%2");
	pk_log_info("tok%%41en tok%%2541en");
	assert_string_equal(last, "<6>*** ***");
	struct pk_log_field field = {"URL", "x=s3cret/pass word"};
	pk_log_event(PK_LOG_INFO, NULL, &field, 1, "m");
	assert_string_equal(last, "<6>m URL=\"x=***\"");
}

static void longest_secret_wins(void **state)
{
	pk_log_redact("overlap");
	pk_log_redact("overlapping-secret");
	pk_log_info("an overlapping-secret here");
	assert_string_equal(last, "<6>an *** here");
}

static void oldest_secret_goes_first(void **state)
{
	pk_log_redact("the-oldest-one");
	for (int i = 0; i < 64; i++) {
		char secret[32];
		snprintf(secret, sizeof(secret), "filler-%04d", i);
		pk_log_redact(secret);
		pk_log_redact(secret); // known already: pushes nothing out
	}
	pk_log_info("the-oldest-one filler-0000 filler-0063");
	assert_string_equal(last, "<6>the-oldest-one *** ***");
}

static void secret_at_the_cut_leaves_no_half(void **state)
{
	pk_log_redact("cut-in-two-secret");
	static char line[8192 + 100];
	for (int before = 8170; before < 8192; before++) {
		memset(line, 'x', (size_t)before);
		snprintf(line + before, sizeof(line) - (size_t)before, "cut-in-two-secret");
		pk_log_info("%s", line);
		assert_null(strstr(last, "cut-"));
	}
}

static void control_characters_do_not_pass(void **state)
{
	pk_log_info("two\nlines\ttab \x1b[31m red\r\n\n");
	assert_string_equal(last, "<6>two | lines tab \\x1b[31m red");
	pk_log_info("%s", "");
	assert_string_equal(last, "<6>");
}

static void fields_follow(void **state)
{
	struct pk_log_field fields[] = {{"CAMERA", "belt"}, {"LEFT_OUT", NULL},
		{"CAUSE", "no driver \"here\""}, {"EMPTY", ""}, {"TWO", "a\nb"}};
	pk_log_event(PK_LOG_NOTICE, "0123456789abcdef0123456789abcdef", fields, 5, "rung %d", 1);
	assert_string_equal(last,
		"<5>rung 1 CAMERA=belt CAUSE=\"no driver \\\"here\\\"\" EMPTY=\"\" TWO=\"a | b\"");
	pk_log_event(PK_LOG_NOTICE, NULL, NULL, 0, "plain");
	assert_string_equal(last, "<5>plain");
}

static void errno_survives(void **state)
{
	errno = EPIPE;
	pk_log_info("x");
	assert_int_equal(errno, EPIPE);
}

// Runs f with stderr on a pipe and gives what it wrote.
static size_t capture(void (*f)(void), char *out, size_t size)
{
	int ends[2], saved = dup(STDERR_FILENO);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	pk_log_set_sink(NULL, NULL);
	pk_log_init("test", PK_LOG_INFO);
	f();
	dup2(saved, STDERR_FILENO);
	close(saved);
	size_t len = 0;
	ssize_t n;
	while ((n = read(ends[0], out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(ends[0]);
	return len;
}

static void write_two(void)
{
	pk_log_warning("one");
	pk_log_info("two\nhalves");
}

static void write_long(void)
{
	static char text[20000];
	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 4);
	pk_log_info("%s", text);
}

static void pipe_gets_prefixes(void **state)
{
	char out[20000];
	capture(write_two, out, sizeof(out));
	assert_string_equal(out, "<4>test: one\n<6>test: two | halves\n");
	setenv("JOURNAL_STREAM", "1:2", 1); // some other stream: not ours
	capture(write_two, out, sizeof(out));
	unsetenv("JOURNAL_STREAM");
	assert_string_equal(out, "<4>test: one\n<6>test: two | halves\n");
}

static void long_lines_are_cut_at_a_character(void **state)
{
	char out[20000];
	size_t len = capture(write_long, out, sizeof(out));
	assert_in_range(len, 8192 - 3, 8192);
	assert_int_equal(out[len - 1], '\n');
	assert_memory_equal(out + len - 4, "\xe2\x82\xac", 3);
	assert_ptr_equal(strchr(out, '\n'), out + len - 1);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, use_sink, drop_sink)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(priorities_filter),
		LOG_TEST(secrets_are_replaced),
		LOG_TEST(longest_secret_wins),
		LOG_TEST(oldest_secret_goes_first),
		LOG_TEST(secret_at_the_cut_leaves_no_half),
		LOG_TEST(control_characters_do_not_pass),
		LOG_TEST(fields_follow),
		LOG_TEST(errno_survives),
		LOG_TEST(pipe_gets_prefixes),
		LOG_TEST(long_lines_are_cut_at_a_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
