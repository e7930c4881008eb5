// SPDX-License-Identifier: Apache-2.0
// Files in and out of the builder's folder.
#include "daemon/build_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"

#define MAX_TIMING_BYTES (64u << 20)
#define FOLDER_MODE      0700

static const char *member(const json_t *request, const char *key)
{
	const char *path = json_string_value(json_object_get(request, key));
	return path && path[0] ? path : NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static char *inside_path(const char *folder, const char *path)
{
	return pk_fs_join(folder, base_name(path));
}

// What a build leaves is files; only the timing cache is of use to the next.
static int empty(const char *folder, const char *kept, struct pk_err *err)
{
	DIR *dir = opendir(folder);
	int r = dir ? 0 : pk_fail_errno(err, "%s", folder);
	while (r == 0) {
		const struct dirent *it = readdir(dir);
		if (!it)
			break;
		if (strcmp(it->d_name, ".") == 0 || strcmp(it->d_name, "..") == 0 ||
			(kept && strcmp(it->d_name, kept) == 0))
			continue;
		pk_auto_free char *path = pk_fs_join(folder, it->d_name);
		r = path ? pk_fs_remove_tree(path, err) : -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return r;
}

static bool is_plain_file(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// A timing cache that cannot be read is a slower build, no more.
static void bring_timing(const char *timing, const char *inside)
{
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_TIMING_BYTES);
	if (is_plain_file(inside) || pk_fs_read(timing, MAX_TIMING_BYTES, &bytes, NULL) < 0)
		return;
	(void)pk_fs_write_atomic(inside, bytes.data, bytes.len, 0644, NULL);
}

static int redirect(json_t *request, const char *key, const char *path)
{
	return json_object_set_new(request, key, json_string(path));
}

int pk_build_folder_enter(
	const char *folder, const json_t *request, json_t **inside, struct pk_err *err)
{
	const char *engine = member(request, "engine"), *timing = member(request, "timing");
	pk_auto_json copy = json_copy((json_t *)(uintptr_t)request);
	pk_auto_free char *new_engine = engine ? inside_path(folder, engine) : NULL;
	pk_auto_free char *new_timing = timing ? inside_path(folder, timing) : NULL;
	if (!copy || !new_engine || (timing && !new_timing))
		return pk_fail(err, engine ? -ENOMEM : -EINVAL, "the job names no engine");
	int r = pk_fs_mkdirs(folder, FOLDER_MODE, err);
	if (r == 0)
		r = empty(folder, timing ? base_name(timing) : NULL, err);
	if (r < 0)
		return r;
	if (timing)
		bring_timing(timing, new_timing);
	if (redirect(copy, "engine", new_engine) < 0 ||
		(timing && redirect(copy, "timing", new_timing) < 0))
		return pk_fail(err, -ENOMEM, "out of memory");
	*inside = pk_steal(copy);
	return 0;
}

static int sync_folder_of(const char *path)
{
	pk_auto_free char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	if (!slash)
		return 0;
	*slash = '\0';
	pk_auto_close int fd = open(folder[0] ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

// Only a plain file is taken: nothing that points elsewhere.
static int move_out(const char *folder, const char *path, struct pk_err *err)
{
	pk_auto_free char *inside = inside_path(folder, path);
	if (!inside)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (!is_plain_file(inside))
		return pk_fail(err, -ENOENT, "the build left no engine");
	if (rename(inside, path) < 0)
		return pk_fail_errno(err, "%s", path);
	int r = sync_folder_of(path);
	return r < 0 ? pk_fail(err, r, "%s: %s", path, strerror(-r)) : 0;
}

int pk_build_folder_leave(const char *folder, const json_t *request, bool built, struct pk_err *err)
{
	const char *engine = member(request, "engine"), *timing = member(request, "timing");
	if (timing)
		(void)move_out(folder, timing, NULL); // none was kept, or it is lost: slower
	return built && engine ? move_out(folder, engine, err) : 0;
}
