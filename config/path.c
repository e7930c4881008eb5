// SPDX-License-Identifier: Apache-2.0
// Paths named in a file are relative to that file's folder; these make them absolute.
#include "config/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/words.h"

// Passes over "./" at the start, and over "." alone.
static void skip_dots(const char **path, size_t *n)
{
	while (*n > 1 && (*path)[0] == '.' && (*path)[1] == '/')
		for (++*path, --*n; *n > 0 && **path == '/'; ++*path, --*n)
			;
	if (*n == 1 && **path == '.')
		*n = 0;
}

// head + (n bytes of path, absolute by dir) + tail
static int join(
	const char *head, const char *dir, const char *path, size_t n, const char *tail, char **out)
{
	const char *slash = "";

	if (n > 0 && path[0] == '/') {
		dir = "";
	} else {
		size_t n_dir = strlen(dir);
		skip_dots(&path, &n);
		slash = n > 0 && (n_dir == 0 || dir[n_dir - 1] != '/') ? "/" : "";
	}
	int rc = asprintf(out, "%s%s%s%.*s%s", head, dir, slash, (int)n, path, tail);
	if (rc < 0)
		*out = NULL;
	return rc < 0 ? -ENOMEM : 0;
}

int pk_path_resolve(const char *text, const char *dir, char **out, struct pk_err *err)
{
	const char *scheme = strstr(text, "://");

	if (strncmp(text, "file://", 7) == 0)
		return pk_fail(err, -EINVAL, "must be a plain path, without file://");
	if (scheme && memchr(text, '/', (size_t)(scheme - text)) == NULL)
		return pk_fail(
			err, -EINVAL, "must be a path, not an address"); // may hold a password
	return join("", dir, text, strlen(text), "", out);
}

int pk_path_resolve_output(const char *text, const char *dir, char **out, struct pk_err *err)
{
	static const char prefix[] = "unix:";
	size_t n = strlen(prefix);

	if (strcmp(text, "-") == 0)
		return join("-", "", "", 0, "", out);
	if (strncmp(text, prefix, n) != 0)
		return pk_path_resolve(text, dir, out, err);
	if (text[n] == '\0')
		return pk_fail(err, -EINVAL, "unix: needs the path of a socket");
	return join(prefix, dir, text + n, strlen(text + n), "", out);
}

static bool is_tag(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	return n >= 1 && n <= 128 && s[n] == '\0' && *s != '.' && *s != '-';
}

static bool is_digest(const char *s)
{
	return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

int pk_path_resolve_artifact(const char *text, const char *dir, char **out, struct pk_err *err)
{
	static const char prefix[] = "oci:", at[] = "@sha256:";
	const char *folder = text + strlen(prefix);

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return pk_fail(err, -EINVAL,
			"must be oci:FOLDER:TAG or oci:FOLDER@sha256:DIGEST; found `%s`",
			pk_words_quote(text).text);
	const char *tail = strstr(folder, at);
	if (tail && !is_digest(tail + strlen(at)))
		return pk_fail(err, -EINVAL, "needs 64 lower-case hex digits after @sha256:");
	if (!tail) {
		tail = strrchr(folder, ':');
		if (!tail || strchr(tail, '/'))
			return pk_fail(err, -EINVAL, "names no tag: add :TAG or @sha256:DIGEST");
		if (!is_tag(tail + 1))
			return pk_fail(err, -EINVAL, "`%s` is no tag (letters, digits, _ . -)",
				pk_words_quote(tail + 1).text);
	}
	if (tail == folder)
		return pk_fail(err, -EINVAL, "names no folder between oci: and `%s`",
			pk_words_quote(tail).text);
	return join(prefix, dir, folder, (size_t)(tail - folder), tail, out);
}

char *pk_path_absolute(const char *dir)
{
	char *out = NULL;

	if (dir && dir[0] == '/')
		return strdup(dir);
	char *here = getcwd(NULL, 0);
	if (!here)
		return NULL;
	const char *path = dir ? dir : "";
	int rc = join("", here, path, strlen(path), "", &out);
	free(here);
	errno = -rc;
	return out;
}

char *pk_path_folder(const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t n = slash ? (size_t)(slash - file) : 0;

	if (slash == file)
		return strdup("/");
	char *folder = strndup(file, n);
	if (!folder)
		return NULL;
	char *out = pk_path_absolute(folder);
	free(folder);
	return out;
}
