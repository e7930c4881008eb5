// SPDX-License-Identifier: Apache-2.0
// Paths from root, environment and the place of the running program.
#include "daemon/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "daemon/control_api.h"

#ifndef PICKET_LIBEXECDIR
#define PICKET_LIBEXECDIR "/usr/libexec/picket"
#endif

static char *make_path(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

// Absolute, links and ".." resolved; "" for "/" so that "%s/etc" is right.
static char *clean_root(const char *root)
{
	if (!root || !root[0] || strcmp(root, "/") == 0)
		return strdup("");
	char *real = realpath(root, NULL);
	if (real && strcmp(real, "/") == 0)
		real[0] = '\0';
	return real;
}

static char *own_folder(void)
{
	char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	return self;
}

static char *find_libexec(const char *libexec)
{
	const char *env = libexec ? libexec : getenv("PICKET_LIBEXEC");
	if (env && env[0])
		return realpath(env, NULL);
	pk_auto_free char *own = own_folder();
	pk_auto_free char *worker = own ? make_path(own, "picket-worker") : NULL;
	if (worker && access(worker, X_OK) == 0)
		return pk_steal(own);
	return strdup(PICKET_LIBEXECDIR);
}

static char *find_config(const char *root, const char *config)
{
	return config ? strdup(config) : make_path(root, "etc/picket/picket.yaml");
}

static char *drop_ins_of(const char *config)
{
	const char *slash = strrchr(config, '/');
	char *path = NULL;
	int n = slash ? (int)(slash - config) + 1 : 0;
	return asprintf(&path, "%.*spicket.d", n, config) < 0 ? NULL : path;
}

static bool fill(struct pk_paths *paths, const char *config, const char *libexec)
{
	const struct {
		char **out;
		const char *dir, *name;
	} rows[] = {
		{&paths->lib, paths->root, "var/lib/picket"},
		{&paths->engines, paths->root, "var/lib/picket/engines"},
		{&paths->timing, paths->root, "var/lib/picket/timing"},
		{&paths->state, paths->root, "var/lib/picket/state"},
		{&paths->build, paths->root, "var/lib/picket/build"},
		{&paths->run, paths->root, "run/picket"},
		{&paths->socket, paths->root, PK_CONTROL_SOCKET},
		{&paths->worker, libexec, "picket-worker"},
		{&paths->builder, libexec, "picket-build"},
	};
	bool ok = true;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		*rows[i].out = make_path(rows[i].dir, rows[i].name);
		ok = ok && *rows[i].out;
	}
	paths->config = find_config(paths->root, config);
	paths->drop_ins = paths->config ? drop_ins_of(paths->config) : NULL;
	return ok && paths->drop_ins;
}

int pk_paths_init(struct pk_paths *paths, const char *root, const char *config, const char *libexec,
	struct pk_err *err)
{
	*paths = (struct pk_paths){.root = clean_root(root)};
	if (!paths->root)
		return pk_fail_errno(err, "root %s", root);
	pk_auto_free char *programs = find_libexec(libexec);
	if (!programs)
		return pk_fail_errno(err, "libexec %s", libexec ? libexec : "");
	if (!fill(paths, config, programs))
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

void pk_paths_finish(struct pk_paths *paths)
{
	char **all[] = {&paths->root, &paths->config, &paths->drop_ins, &paths->lib,
		&paths->engines, &paths->timing, &paths->state, &paths->build, &paths->run,
		&paths->socket, &paths->worker, &paths->builder};
	for (size_t i = 0; i < PK_ARRAY_LEN(all); i++) {
		free(*all[i]);
		*all[i] = NULL;
	}
}

int pk_paths_make(const struct pk_paths *paths, struct pk_err *err)
{
	const char *const dirs[] = {
		paths->lib, paths->engines, paths->timing, paths->state, paths->run};
	for (size_t i = 0; i < PK_ARRAY_LEN(dirs); i++) {
		int r = pk_fs_mkdirs(dirs[i], 0755, err);
		if (r < 0)
			return r;
	}
	return 0;
}
