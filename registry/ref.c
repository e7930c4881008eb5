// SPDX-License-Identifier: Apache-2.0
// References to artifacts: "oci:FOLDER:TAG" and "oci:FOLDER[:TAG]@sha256:…", strictly read.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

#define REF_MAX_BYTES 4096
#define TAG_MAX_BYTES 128

#define REF_FORMS "expected oci:FOLDER:TAG or oci:FOLDER@sha256:…"

int pk_ref_check_tag(const char *tag, struct pk_err *err)
{
	size_t n = strlen(tag);
	if (n == 0)
		return pk_fail(err, -EINVAL, "the tag after ':' is empty");
	if (n > TAG_MAX_BYTES)
		return pk_fail(err, -EINVAL, "the tag is longer than %d characters", TAG_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)tag[i];
		bool word = (isalnum(c) && c < 0x80) || c == '_';
		if (!word && (i == 0 || (c != '.' && c != '-')))
			return pk_fail(err, -EINVAL,
				"tag '%s': letters, digits and '_', after the first also '.' and "
				"'-' are allowed",
				tag);
	}
	return 0;
}

// The registry grammar: a first component is a host when it has a '.' or a port, or is "localhost".
static bool names_host(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.");
	size_t n_port = text[n] == ':' ? strspn(text + n + 1, "0123456789") : 0;
	size_t end = n_port ? n + 1 + n_port : n;
	if (n == 0 || text[0] == '.' || text[end] != '/')
		return false;
	return n_port || memchr(text, '.', n) || strncmp(text, "localhost/", n + 1) == 0;
}

static int check_scheme(const char *text, struct pk_err *err)
{
	if (strncmp(text, "oci:", 4) == 0)
		return 0;
	if (strstr(text, "://") || names_host(text))
		return pk_fail(err, -ENOTSUP,
			"'%s': registries over HTTP are not supported yet; " REF_FORMS, text);
	return pk_fail(err, -EINVAL, "'%s': " REF_FORMS, text);
}

static int check_text(const char *text, struct pk_err *err)
{
	size_t n = strnlen(text, REF_MAX_BYTES + 1);
	if (n == 0)
		return pk_fail(err, -EINVAL, "the reference is empty; " REF_FORMS);
	if (n > REF_MAX_BYTES)
		return pk_fail(
			err, -EINVAL, "the reference is longer than %d bytes", REF_MAX_BYTES);
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return pk_fail(err, -EINVAL, "the reference has a control character in it");
	return 0;
}

// Cuts "@digest" off the end of location.
static int take_digest(char *location, struct pk_ref *ref, struct pk_err *err)
{
	char *at = strrchr(location, '@');
	if (!at)
		return 0;
	if (pk_digest_parse(at + 1, &ref->digest) < 0)
		return pk_fail(err, -EINVAL,
			"'%s' after '@': expected sha256: and 64 lower-case hex digits", at + 1);
	ref->has_digest = true;
	*at = '\0';
	return 0;
}

// Cuts ":tag" off the end of location; a ':' before the last '/' belongs to the folder's name.
static int take_tag(char *location, struct pk_ref *ref, struct pk_err *err)
{
	char *slash = strrchr(location, '/');
	char *colon = strrchr(slash ? slash : location, ':');
	if (!colon)
		return 0;
	int rc = pk_ref_check_tag(colon + 1, err);
	if (rc < 0)
		return rc;
	ref->tag = strdup(colon + 1);
	if (!ref->tag)
		return pk_fail(err, -ENOMEM, "out of memory");
	*colon = '\0';
	return 0;
}

static int parse_parts(const char *text, struct pk_ref *ref, struct pk_err *err)
{
	int rc = check_text(text, err);
	if (rc == 0)
		rc = check_scheme(text, err);
	if (rc < 0)
		return rc;
	ref->scheme = "oci";
	ref->location = strdup(text + strlen("oci:"));
	if (!ref->location)
		return pk_fail(err, -ENOMEM, "out of memory");
	rc = take_digest(ref->location, ref, err);
	if (rc == 0)
		rc = take_tag(ref->location, ref, err);
	if (rc < 0)
		return rc;
	if (ref->location[0] == '\0')
		return pk_fail(err, -EINVAL, "'%s': the folder is missing; " REF_FORMS, text);
	if (!ref->tag && !ref->has_digest)
		return pk_fail(err, -EINVAL, "'%s': neither a tag nor a digest; " REF_FORMS, text);
	return 0;
}

int pk_ref_parse(const char *text, struct pk_ref *out, struct pk_err *err)
{
	*out = (struct pk_ref){0};
	int rc = parse_parts(text, out, err);
	if (rc < 0) {
		pk_ref_finish(out);
		pk_err_prefix(err, "reference");
	}
	return rc;
}

void pk_ref_finish(struct pk_ref *ref)
{
	free(ref->location);
	free(ref->tag);
	*ref = (struct pk_ref){0};
}
