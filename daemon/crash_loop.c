// SPDX-License-Identifier: Apache-2.0
// One line: "COUNT BLAME".
#include "daemon/crash_loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "daemon/text.h"

#define MAX_BYTES   256
#define MAX_COUNT   1000
#define KEPT_FROM   3 // single crashes are not worth a write
#define MAX_DOUBLED 4

static void save(const struct pk_crash_loop *loop)
{
	struct pk_err err = {0};
	char text[MAX_BYTES];
	if (!loop->path || loop->n < KEPT_FROM)
		return;
	int n = snprintf(text, sizeof(text), "%u %s\n", loop->n, loop->blame);
	int r = pk_fs_write_atomic(loop->path, text, (size_t)n, 0600, &err);
	if (r < 0)
		pk_log_warning("count of crashes: %s", pk_err_text(&err, r));
}

int pk_crash_loop_init(struct pk_crash_loop *loop, const char *dir)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES);
	*loop = (struct pk_crash_loop){.path = dir ? pk_fs_join(dir, "worker-crashes") : NULL};
	if (dir && !loop->path)
		return -ENOMEM;
	unsigned n = 0;
	if (!dir || pk_fs_read(loop->path, MAX_BYTES, &text, NULL) < 0 ||
		sscanf(pk_buf_cstr(&text), "%u %95[^\n]", &n, loop->blame) < 1 || n > MAX_COUNT)
		loop->blame[0] = '\0';
	else
		loop->n = n;
	pk_text_mend(loop->blame);
	return 0;
}

void pk_crash_loop_finish(struct pk_crash_loop *loop)
{
	free(loop->path);
	loop->path = NULL;
}

bool pk_crash_loop_crashed(struct pk_crash_loop *loop, const char *blame)
{
	if (loop->n < MAX_COUNT)
		loop->n++;
	pk_text_format(loop->blame, sizeof(loop->blame), "%s", blame);
	save(loop);
	return loop->n == PK_CRASH_LOOP_FROM;
}

void pk_crash_loop_healthy(struct pk_crash_loop *loop)
{
	if (loop->path && loop->n >= KEPT_FROM && unlink(loop->path) < 0 && errno != ENOENT)
		pk_log_warning("%s: %s", loop->path, strerror(errno));
	loop->n = 0;
	loop->blame[0] = '\0';
}

bool pk_crash_loop_open(const struct pk_crash_loop *loop)
{
	return loop->n >= PK_CRASH_LOOP_FROM;
}

int64_t pk_crash_loop_pause_ns(const struct pk_crash_loop *loop, int64_t first_ns)
{
	if (!pk_crash_loop_open(loop))
		return 0;
	unsigned doubled = loop->n - PK_CRASH_LOOP_FROM;
	return first_ns << (doubled < MAX_DOUBLED ? doubled : MAX_DOUBLED);
}
