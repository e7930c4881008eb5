// SPDX-License-Identifier: Apache-2.0
// One line: "BOOT-ID COUNT building|idle".
#include "daemon/boot_mark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"

#define MAX_BYTES 256
#define MAX_COUNT 1000

static void read_boot_id(const char *root, char out[PK_BOOT_ID_MAX])
{
	char path[512];
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id", root);
	FILE *file = fopen(path, "re");
	out[0] = '\0';
	if (!file)
		return;
	if (fscanf(file, "%63s", out) != 1)
		out[0] = '\0';
	fclose(file);
}

// The machine went down, unlike picketd alone, when the boot is another one.
static void take_line(struct pk_boot_mark *mark, const char *text)
{
	char boot_id[PK_BOOT_ID_MAX], state[16];
	unsigned n = 0;
	if (sscanf(text, "%63s %u %15s", boot_id, &n, state) != 3 || n > MAX_COUNT)
		return;
	bool same = strcmp(boot_id, mark->boot_id) == 0;
	mark->n_unclean = n + (strcmp(state, "building") == 0 && !same && mark->boot_id[0]);
}

static int save(struct pk_boot_mark *mark, struct pk_err *err)
{
	char text[MAX_BYTES];
	if (!mark->building && mark->n_unclean == 0)
		return unlink(mark->path) < 0 && errno != ENOENT
			       ? pk_fail_errno(err, "%s", mark->path)
			       : 0;
	int n = snprintf(text, sizeof(text), "%s %u %s\n", mark->boot_id[0] ? mark->boot_id : "?",
		mark->n_unclean, mark->building ? "building" : "idle");
	return pk_fs_write_atomic(mark->path, text, (size_t)n, 0600, err);
}

static void save_or_log(struct pk_boot_mark *mark)
{
	struct pk_err err = {0};
	int r = save(mark, &err);
	if (r < 0)
		pk_log_warning("mark of builds: %s", pk_err_text(&err, r));
}

int pk_boot_mark_init(struct pk_boot_mark *mark, const char *dir, const char *root)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_BYTES);
	*mark = (struct pk_boot_mark){.path = pk_fs_join(dir, "build-mark")};
	if (!mark->path)
		return -ENOMEM;
	read_boot_id(root, mark->boot_id);
	if (pk_fs_read(mark->path, MAX_BYTES, &text, NULL) == 0) {
		take_line(mark, pk_buf_cstr(&text));
		save_or_log(mark); // counted once, however often picketd starts in this boot
	}
	return 0;
}

void pk_boot_mark_finish(struct pk_boot_mark *mark)
{
	free(mark->path);
	mark->path = NULL;
}

int pk_boot_mark_begin(struct pk_boot_mark *mark, struct pk_err *err)
{
	mark->building = true;
	return save(mark, err);
}

void pk_boot_mark_end(struct pk_boot_mark *mark, bool good)
{
	mark->building = false;
	if (good)
		mark->n_unclean = 0;
	save_or_log(mark);
}

void pk_boot_mark_forget(struct pk_boot_mark *mark)
{
	if (mark->n_unclean == 0)
		return;
	mark->n_unclean = 0;
	save_or_log(mark);
}

bool pk_boot_mark_holds(const struct pk_boot_mark *mark)
{
	return mark->n_unclean >= PK_BOOT_MARK_LIMIT;
}
