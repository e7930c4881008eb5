// SPDX-License-Identifier: Apache-2.0
// Shared parts of the daemon's tests.
#include "tests/unit/daemon/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "tests/unit/daemon/double_mode.h"

char *make_folder(void)
{
	char *folder = strdup("/tmp/picket-test-XXXXXX");
	assert_non_null(folder);
	assert_non_null(mkdtemp(folder));
	return folder;
}

void remove_folder(char *folder)
{
	assert_int_equal(pk_fs_remove_tree(folder, NULL), 0);
	free(folder);
}

void write_text(const char *folder, const char *name, const char *text)
{
	struct pk_err err = {0};
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(pk_fs_write_atomic(path, text, strlen(text), 0644, &err), 0);
}

char *read_text(const char *folder, const char *name)
{
	char path[512];
	struct pk_buf buf;
	pk_buf_init(&buf, 1u << 20);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)pk_fs_read(path, 1u << 20, &buf, NULL);
	char *text = strdup(pk_buf_cstr(&buf));
	pk_buf_finish(&buf);
	assert_non_null(text);
	return text;
}

void set_mode(const char *folder, const char *variable, const char *mode)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, variable);
	write_text(folder, variable, mode);
	assert_int_equal(setenv(variable, path, 1), 0);
}

unsigned n_lines(const char *text)
{
	unsigned n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

bool turn_until(struct pk_loop *loop, bool (*done)(void *ctx), void *ctx, int limit_ms)
{
	int64_t end_ns = pk_now_ns() + limit_ms * PK_NS_PER_MS;
	while (!done(ctx)) {
		if (pk_now_ns() >= end_ns)
			return false;
		assert_int_equal(pk_loop_turn(loop, 20 * PK_NS_PER_MS), 0);
	}
	return true;
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

void turn_for(struct pk_loop *loop, int ms)
{
	(void)turn_until(loop, never, NULL, ms);
}
