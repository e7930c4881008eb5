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

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

#define ARTIFACT_FORMS                                                                             \
	"must be HOST/NAME:TAG, oci:FOLDER:TAG, file:TAR:TAG (or @sha256:DIGEST for the tag) or "  \
	"https://HOST/PATH#sha256:DIGEST"

// The length of host[:port] at the start of text; 0: none.
static size_t host_length(const char *text)
{
	size_t n = strspn(text, LETTERS_DIGITS "-.");
	size_t n_port = text[n] == ':' ? strspn(text + n + 1, "0123456789") : 0;
	if (n == 0 || n > 253 || text[0] == '.' || text[0] == '-' || n_port > 5)
		return 0;
	return n_port ? n + 1 + n_port : n;
}

int pk_path_check_host(const char *text, struct pk_err *err)
{
	size_t n = host_length(text);
	if (n > 0 && text[n] == '\0')
		return 0;
	return pk_fail(err, -EINVAL, "is no host: a name or address, then perhaps :PORT");
}

// As registries tell hosts from names: by a dot, a port, or "localhost".
static bool starts_with_host(const char *text)
{
	size_t n = host_length(text);
	return n > 0 && text[n] == '/' &&
	       (memchr(text, '.', n) || memchr(text, ':', n) ||
		       (n == 9 && strncmp(text, "localhost", n) == 0));
}

// Points *tail at ":TAG" or "@sha256:…" of a reference whose place starts at `place`.
static int find_tail(const char *place, const char **tail, struct pk_err *err)
{
	static const char at[] = "@sha256:";
	*tail = strstr(place, at);
	if (*tail && !is_digest(*tail + strlen(at)))
		return pk_fail(err, -EINVAL, "needs 64 lower-case hex digits after @sha256:");
	if (*tail)
		return 0;
	*tail = strrchr(place, ':');
	if (!*tail || strchr(*tail, '/'))
		return pk_fail(err, -EINVAL, "names no tag: add :TAG or @sha256:DIGEST");
	if (!is_tag(*tail + 1))
		return pk_fail(err, -EINVAL, "`%s` is no tag (letters, digits, _ . -)",
			pk_words_quote(*tail + 1).text);
	return 0;
}

static int resolve_url(const char *text, char **out, struct pk_err *err)
{
	static const char mark[] = "#sha256:";
	const char *tail = strstr(text, mark);
	if (!tail || !is_digest(tail + strlen(mark)))
		return pk_fail(
			err, -EINVAL, "needs #sha256: and 64 lower-case hex digits at its end");
	return join(text, "", "", 0, "", out);
}

int pk_path_resolve_artifact(const char *text, const char *dir, char **out, struct pk_err *err)
{
	static const struct {
		const char *prefix, *noun;
	} local[] = {{"oci:", "folder"}, {"file:", "file"}};
	const char *tail;

	if (strncmp(text, "https://", strlen("https://")) == 0)
		return resolve_url(text, out, err);
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		size_t n = strlen(local[i].prefix);
		const char *place = text + n;
		if (strncmp(text, local[i].prefix, n) != 0)
			continue;
		int rc = find_tail(place, &tail, err);
		if (rc == 0 && tail == place)
			return pk_fail(err, -EINVAL, "names no %s between %s and `%s`",
				local[i].noun, local[i].prefix, pk_words_quote(tail).text);
		return rc < 0 ? rc
			      : join(local[i].prefix, dir, place, (size_t)(tail - place), tail,
					out);
	}
	if (!starts_with_host(text))
		return pk_fail(
			err, -EINVAL, ARTIFACT_FORMS "; found `%s`", pk_words_quote(text).text);
	int rc = find_tail(strchr(text, '/'), &tail, err);
	return rc < 0 ? rc : join(text, "", "", 0, "", out);
}

int pk_path_resolve_secret(const char *text, const char *dir, char **out, struct pk_err *err)
{
	static const char prefix[] = "credential:";
	size_t n = strlen(prefix);

	if (strncmp(text, prefix, n) != 0)
		return pk_path_resolve(text, dir, out, err);
	if (text[n] == '\0' || strspn(text + n, LETTERS_DIGITS "-_.") != strlen(text + n) ||
		text[n] == '.')
		return pk_fail(err, -EINVAL, "credential: needs the name of a credential");
	return join(text, "", "", 0, "", out);
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
