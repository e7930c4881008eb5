// SPDX-License-Identifier: Apache-2.0
// One OCI descriptor ({mediaType, digest, size, annotations}) read from hostile JSON.
#include "registry/descriptor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registry/media_type.h"

void pk_descriptor_finish(struct pk_descriptor *descriptor)
{
	free(descriptor->media_type);
	free(descriptor->title);
	*descriptor = (struct pk_descriptor){0};
}

int pk_descriptor_check_text(const char *what, const char *text, struct pk_err *err)
{
	size_t n = strnlen(text, PK_DESCRIPTOR_MAX_TEXT + 1);
	if (n == 0)
		return pk_fail(err, -EINVAL, "%s: empty", what);
	if (n > PK_DESCRIPTOR_MAX_TEXT)
		return pk_fail(
			err, -EINVAL, "%s: longer than %d bytes", what, PK_DESCRIPTOR_MAX_TEXT);
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return pk_fail(err, -EINVAL, "%s: control character", what);
	return 0;
}

int pk_descriptor_check_title(const char *title, struct pk_err *err)
{
	int rc = pk_descriptor_check_text("file name", title, err);
	if (rc < 0)
		return rc;
	// It becomes a file name on somebody's disk sooner or later.
	if (strpbrk(title, "/\\") || strstr(title, "..") || strcmp(title, ".") == 0)
		return pk_fail(err, -EINVAL, "file name '%s': path separators and '..' are refused",
			title);
	return 0;
}

// RFC 6838 section 4.2: restricted-name "/" restricted-name, each at most 127 characters.
static bool media_type_ok(const char *text)
{
	static const char marks[] = "!#$&-^_.+";
	size_t run = 0;
	unsigned slashes = 0;
	for (const char *c = text; *c; c++) {
		if (*c == '/' && run > 0 && slashes == 0) {
			slashes++;
			run = 0;
			continue;
		}
		if (!isalnum((unsigned char)*c) && (run == 0 || !strchr(marks, *c)))
			return false;
		if (++run > 127)
			return false;
	}
	return slashes == 1 && run > 0;
}

int pk_descriptor_annotation(
	const json_t *owner, const char *key, const char **out, struct pk_err *err)
{
	*out = NULL;
	json_t *annotations = json_object_get(owner, "annotations");
	if (!annotations)
		return 0;
	if (!json_is_object(annotations))
		return pk_fail(err, -EINVAL, "annotations: expected an object");
	const char *name;
	json_t *value;
	json_object_foreach (annotations, name, value) {
		if (!json_is_string(value))
			return pk_fail(err, -EINVAL, "annotations: '%s': expected a string", name);
	}
	*out = json_string_value(json_object_get(annotations, key));
	return 0;
}

static int parse_digest(const json_t *json, struct pk_digest *out, struct pk_err *err)
{
	const char *text = NULL;
	int rc = pk_json_get_str(json, "digest", &text, err);
	if (rc < 0)
		return rc;
	if (strncmp(text, PK_DIGEST_PREFIX, strlen(PK_DIGEST_PREFIX)) != 0)
		return pk_fail(err, -ENOTSUP, "digest '%.80s': only sha256 is accepted", text);
	if (pk_digest_parse(text, out) < 0)
		return pk_fail(err, -EINVAL,
			"digest '%.80s': expected sha256: and 64 lower-case hex digits", text);
	return 0;
}

static int parse_size(const json_t *json, int64_t *out, struct pk_err *err)
{
	int rc = pk_json_get_int(json, "size", out, err);
	if (rc < 0)
		return rc;
	if (*out < 0)
		return pk_fail(err, -EINVAL, "size: %lld is negative", (long long)*out);
	return 0;
}

// Both keys name the same file; a bundle carries both so that more than one tool can unpack it.
static int parse_title(const json_t *json, char **out, struct pk_err *err)
{
	static const char *const keys[] = {PK_ANNOTATION_TITLE, PK_ANNOTATION_FILEPATH};
	const char *title = NULL;
	for (size_t i = 0; i < PK_ARRAY_LEN(keys); i++) {
		const char *found = NULL;
		int rc = pk_descriptor_annotation(json, keys[i], &found, err);
		if (rc < 0)
			return rc;
		if (!found)
			continue;
		rc = pk_descriptor_check_title(found, err);
		if (rc < 0)
			return rc;
		if (title && strcmp(title, found) != 0)
			return pk_fail(err, -EINVAL,
				"the two file name annotations differ: '%s' and '%s'", title,
				found);
		title = found;
	}
	if (!title)
		return 0;
	*out = strdup(title);
	return *out ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static int parse_media_type(const json_t *json, char **out, struct pk_err *err)
{
	const char *text = NULL;
	int rc = pk_json_get_str(json, "mediaType", &text, err);
	if (rc < 0)
		return rc;
	if (!media_type_ok(text))
		return pk_fail(err, -EINVAL, "mediaType '%.80s': not a media type", text);
	*out = strdup(text);
	return *out ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

int pk_descriptor_parse(const json_t *json, struct pk_descriptor *out, struct pk_err *err)
{
	*out = (struct pk_descriptor){0};
	if (!json_is_object(json))
		return pk_fail(err, -EINVAL, "expected an object");
	int rc = parse_media_type(json, &out->media_type, err);
	if (rc == 0)
		rc = parse_digest(json, &out->digest, err);
	if (rc == 0)
		rc = parse_size(json, &out->size, err);
	if (rc == 0)
		rc = parse_title(json, &out->title, err);
	if (rc < 0)
		pk_descriptor_finish(out);
	return rc;
}
