// SPDX-License-Identifier: Apache-2.0
// Digests out of the records below state/, whatever else those records say.
#include "registry/roots.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/record.h"

#define MAX_ROOTS 4096
#define MAX_DEPTH 32

int pk_store_roots_add(struct pk_store_roots *roots, const struct pk_digest *manifest)
{
	for (size_t i = 0; i < roots->n; i++)
		if (pk_digest_equal(&roots->manifests[i], manifest))
			return 0;
	if (roots->n == MAX_ROOTS)
		return -ENOMEM;
	struct pk_digest *grown =
		reallocarray(roots->manifests, roots->n + 1, sizeof(*roots->manifests));
	if (!grown)
		return -ENOMEM;
	roots->manifests = grown;
	roots->manifests[roots->n++] = *manifest;
	return 0;
}

void pk_store_roots_finish(struct pk_store_roots *roots)
{
	free(roots->manifests);
	*roots = (struct pk_store_roots){0};
}

static bool names_no_artifact(const char *member)
{
	static const char *const words[] = {"broken", "history", "key"};
	for (size_t i = 0; i < PK_ARRAY_LEN(words); i++)
		if (strcmp(member, words[i]) == 0)
			return true;
	return strncmp(member, "quarantine", strlen("quarantine")) == 0 ||
	       strncmp(member, "engine", strlen("engine")) == 0;
}

static int collect(const json_t *json, int depth, struct pk_store_roots *roots)
{
	const char *member;
	size_t i;
	json_t *item;
	struct pk_digest digest;
	int rc = 0;
	if (json_is_string(json) && pk_digest_parse(json_string_value(json), &digest) == 0)
		return pk_store_roots_add(roots, &digest);
	if (depth == MAX_DEPTH)
		return -EBADMSG;
	if (json_is_array(json)) {
		json_array_foreach (json, i, item)
			rc = rc < 0 ? rc : collect(item, depth + 1, roots);
		return rc;
	}
	json_object_foreach ((json_t *)(uintptr_t)json, member, item)
		if (rc == 0 && !names_no_artifact(member))
			rc = collect(item, depth + 1, roots);
	return rc;
}

int pk_store_roots_parse(const void *content, size_t n, struct pk_store_roots *roots)
{
	pk_auto_json json = NULL;
	int rc = pk_json_parse(content, n, "record", &json, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : -EBADMSG;
	return collect(json, 0, roots);
}

// -ENOENT, -EBADMSG or what it names.
static int read_generation(const char *path, struct pk_store_roots *roots)
{
	const char *content;
	size_t n;
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, PK_DIGEST_TEXT + PK_RECORD_MAX_BYTES);
	int rc = pk_fs_read(path, file.max, &file, NULL);
	if (rc == -ENOENT || rc == -ENOMEM)
		return rc;
	if (rc < 0 || pk_record_check(pk_buf_cstr(&file), file.len, &content, &n) < 0)
		return -EBADMSG;
	return pk_store_roots_parse(content, n, roots);
}

static int read_record(
	const char *folder, const char *name, struct pk_store_roots *roots, struct pk_err *err)
{
	pk_auto_free char *path = NULL;
	pk_auto_free char *previous = NULL;
	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	if (asprintf(&previous, "%s" PK_RECORD_PREVIOUS, path) < 0) {
		previous = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	int now = read_generation(path, roots);
	int before = read_generation(previous, roots);
	if (now == -ENOMEM || before == -ENOMEM)
		return pk_fail(err, -ENOMEM, "%s: out of memory, or more digests than %d", path,
			MAX_ROOTS);
	if (now == 0 || before == 0)
		return 0;
	return pk_fail(err, -EBADMSG, "%s is damaged: nobody knows what it named", path);
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}

// The record's own name, also when only its previous generation is left.
static bool record_name(const char *entry, char *out, size_t size)
{
	size_t n = strlen(entry);
	if (entry[0] == '.' || n >= size)
		return false;
	if (ends_with(entry, ".json" PK_RECORD_PREVIOUS))
		n -= strlen(PK_RECORD_PREVIOUS);
	else if (!ends_with(entry, ".json"))
		return false;
	memcpy(out, entry, n);
	out[n] = '\0';
	return true;
}

int pk_store_roots_read(const char *state_folder, struct pk_store_roots *roots, struct pk_err *err)
{
	DIR *dir = opendir(state_folder);
	if (!dir)
		return errno == ENOENT ? 0 : pk_fail_errno(err, "%s", state_folder);
	int rc = 0;
	for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		char name[NAME_MAX + 1];
		if (record_name(entry->d_name, name, sizeof(name)))
			rc = read_record(state_folder, name, roots, err);
	}
	closedir(dir);
	return rc;
}
