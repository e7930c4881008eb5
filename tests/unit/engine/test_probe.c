// SPDX-License-Identifier: Apache-2.0
// Programs that probe in our place: their answer, and what they do wrong, in words.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/probe.h"

static int touched;

static int touch(struct pk_target *target, struct pk_err *err)
{
	(void)err;
	touched++;
	memcpy(target->identity, "{}", 3);
	return 0;
}

static const struct pk_runtime_ops accelerator = {
	.abi = PK_RUNTIME_ABI, .name = "far", .caps = PK_RUNTIME_ACCELERATOR, .probe = touch};
static const struct pk_runtime_ops host = {.abi = PK_RUNTIME_ABI, .name = "near", .probe = touch};

// A shell script as the program; the probe's result with its target and words.
static int ask(const char *script, struct pk_target *target, struct pk_err *err)
{
	char path[] = "/tmp/picket-probe-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "#!/bin/sh\n%s\n", script) > 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(close(fd), 0);
	*target = (struct pk_target){0};
	*err = (struct pk_err){0};
	pk_probe_by(path);
	int r = pk_probe(&accelerator, target, err);
	pk_probe_by(NULL);
	unlink(path);
	return r;
}

static void test_answer(void **state)
{
	struct pk_target target;
	struct pk_err err;
	(void)state;
	touched = 0;
	assert_int_equal(ask("[ \"$1 $2\" = '--probe far' ] || exit 9\n"
			     "echo '{\"error\":0,\"identity\":\"{}\",\"device\":\"{1}\"}'",
				 &target, &err),
		0);
	assert_string_equal(target.identity, "{}");
	assert_string_equal(target.device, "{1}");
	assert_int_equal(
		ask("echo '{\"error\":-19,\"reason\":\"no driver\"}'", &target, &err), -ENODEV);
	assert_string_equal(err.text, "no driver");
	assert_int_equal(touched, 0);
}

static void test_wrong_programs(void **state)
{
	static const struct {
		const char *script, *words;
	} rows[] = {
		{"exit 3", "probing the driver: exit code 3"},
		{"kill -SEGV $$", "killed by SIGSEGV"},
		{"echo hello", "answer"},
		{"true", "answer"},
		{"echo '{\"error\":0,\"identity\":\"{}\"}'", "device"},
		{"echo '{\"error\":0,\"identity\":\"{}\",\"device\":\"'$(printf '%0300d' 1)'\"}'",
			"device is too long"},
	};
	(void)state;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_target target;
		struct pk_err err;
		assert_int_equal(ask(rows[i].script, &target, &err), -ENODEV);
		if (!strstr(err.text, rows[i].words))
			fail_msg("`%s`: %s", rows[i].script, err.text);
	}
	struct pk_target target;
	pk_probe_by("/nowhere/picket-build");
	assert_int_equal(pk_probe(&accelerator, &target, NULL), -ENODEV);
	pk_probe_by(NULL);
}

static void test_in_this_process(void **state)
{
	struct pk_target target;
	(void)state;
	touched = 0;
	assert_int_equal(pk_probe(&accelerator, &target, NULL), 0);
	pk_probe_by("/nowhere/picket-build");
	assert_int_equal(pk_probe(&host, &target, NULL), 0); // the host's cores need no program
	pk_probe_by(NULL);
	assert_int_equal(touched, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_wrong_programs),
		cmocka_unit_test(test_in_this_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
