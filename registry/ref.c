// SPDX-License-Identifier: Apache-2.0
// References to artifacts, strictly read: nothing that is not one reaches the network. Source: OCI
// distribution-spec 1.1 (names and tags), image-spec descriptor.md (digests).
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

#define REF_MAX_BYTES  4096
#define NAME_MAX_BYTES 255 // of host/name; what registries commonly take
#define TAG_MAX_BYTES  128
#define HOST_MAX_BYTES 253
#define PORT_MAX       65535

#define REF_FORMS                                                                                  \
	"expected HOST/NAME:TAG, HOST/NAME@sha256:…, oci:FOLDER:TAG, file:TAR:TAG or "           \
	"https://HOST/PATH#sha256:…"

#define LOWER_DIGITS "abcdefghijklmnopqrstuvwxyz0123456789"
#define HOST_CHARS   LOWER_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZ-."

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

static int parse_digest(const char *text, char mark, struct pk_ref *ref, struct pk_err *err)
{
	if (pk_digest_parse(text, &ref->digest) < 0)
		return pk_fail(err, -EINVAL,
			"'%s' after '%c': expected sha256: and 64 lower-case hex digits", text,
			mark);
	ref->has_digest = true;
	return 0;
}

// Cuts "@digest" off the end of place.
static int take_digest(char *place, struct pk_ref *ref, struct pk_err *err)
{
	char *at = strrchr(place, '@');
	if (!at)
		return 0;
	int rc = parse_digest(at + 1, '@', ref, err);
	*at = '\0';
	return rc;
}

// Cuts ":tag" off the end of place; a ':' before the last '/' is a port or a folder's.
static int take_tag(char *place, struct pk_ref *ref, struct pk_err *err)
{
	char *slash = strrchr(place, '/');
	char *colon = strrchr(slash ? slash : place, ':');
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

static int take_tail(struct pk_ref *ref, struct pk_err *err)
{
	int rc = take_digest(ref->location, ref, err);
	return rc < 0 ? rc : take_tag(ref->location, ref, err);
}

static int check_complete(const char *text, const struct pk_ref *ref, struct pk_err *err)
{
	if (ref->tag || ref->has_digest)
		return 0;
	return pk_fail(err, -EINVAL, "'%s': neither a tag nor a digest; " REF_FORMS, text);
}

static int parse_local(const char *text, struct pk_ref *ref, struct pk_err *err)
{
	int rc = take_tail(ref, err);
	if (rc < 0)
		return rc;
	if (ref->location[0] == '\0')
		return pk_fail(err, -EINVAL, "'%s': the %s is missing; " REF_FORMS, text,
			strcmp(ref->scheme, "oci") == 0 ? "folder" : "file");
	return check_complete(text, ref, err);
}

// The length of a name or address without a port; 0: none.
static size_t host_length(const char *text)
{
	if (text[0] == '[') { // an IPv6 address
		size_t n = strspn(text + 1, "0123456789abcdefABCDEF:.");
		return n > 1 && text[1 + n] == ']' ? n + 2 : 0;
	}
	size_t n = strspn(text, HOST_CHARS);
	return n > HOST_MAX_BYTES || text[0] == '.' || text[0] == '-' ? 0 : n;
}

// What stands before `end` after a host: nothing, or ":port".
static int check_port(const char *at, const char *end, struct pk_err *err)
{
	long port = 0;
	if (at == end)
		return 0;
	const char *p = at + 1;
	for (; *at == ':' && p < end && isdigit((unsigned char)*p) && port <= PORT_MAX; p++)
		port = port * 10 + (*p - '0');
	if (p < end || port < 1 || port > PORT_MAX)
		return pk_fail(err, -EINVAL, "after the host: expected a port"); // maybe a secret
	return 0;
}

static int check_authority(const char *text, const char *end, struct pk_err *err)
{
	size_t n = host_length(text);
	if (n == 0 || text + n > end)
		return pk_fail(err, -EINVAL, "'%.*s' is no host", (int)(end - text), text);
	return check_port(text + n, end, err);
}

// A first part counts as a host by a dot, a port or its brackets, or as "localhost": "models/yolo"
// is no reference, since there is no default registry.
static bool names_host(const char *text)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : 0;
	return n > 0 && text[0] != '.' &&
	       (memchr(text, '.', n) || memchr(text, ':', n) ||
		       (n == strlen("localhost") && memcmp(text, "localhost", n) == 0));
}

// The length of one [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*; 0: it does not start with one.
static size_t component_length(const char *name)
{
	size_t end = strspn(name, LOWER_DIGITS);
	while (end > 0) {
		const char *p = name + end;
		size_t n_dash = strspn(p, "-");
		size_t n_sep = n_dash ? n_dash : p[0] == '.' ? 1 : strspn(p, "_");
		size_t n_word = strspn(p + n_sep, LOWER_DIGITS);
		if (n_sep == 0 || n_word == 0 || (p[0] == '_' && n_sep > 2))
			break;
		end += n_sep + n_word;
	}
	return end;
}

static int check_name(const char *name, struct pk_err *err)
{
	const char *p = name;
	for (;;) {
		size_t n = component_length(p);
		if (n > 0 && p[n] == '\0')
			return 0;
		if (n == 0 || p[n] != '/')
			return pk_fail(err, -EINVAL,
				"name '%s': a-z and 0-9, with single '.', '_', '__' or '-' "
				"between them, parts divided by '/'",
				name);
		p += n + 1;
	}
}

static int parse_registry(const char *text, struct pk_ref *ref, struct pk_err *err)
{
	if (!names_host(text))
		return pk_fail(err, -EINVAL, "'%s' names no host; " REF_FORMS, text);
	int rc = take_tail(ref, err);
	if (rc == 0)
		rc = check_complete(text, ref, err);
	if (rc < 0)
		return rc;
	char *slash = strchr(ref->location, '/');
	if (!slash)
		return pk_fail(err, -EINVAL, "'%s' names no host; " REF_FORMS, text);
	rc = check_authority(ref->location, slash, err);
	if (rc == 0)
		rc = check_name(slash + 1, err);
	if (rc < 0)
		return rc;
	if (strlen(ref->location) > NAME_MAX_BYTES)
		return pk_fail(
			err, -EINVAL, "host and name are longer than %d bytes", NAME_MAX_BYTES);
	ref->name = strdup(slash + 1);
	*slash = '\0';
	return ref->name ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

// Printable ASCII that a URL's path may hold as it is; no query: it would be a secret.
static int check_path(const char *path, struct pk_err *err)
{
	for (const char *p = path; *p; p++)
		if (*p <= ' ' || *p == 0x7f || (*p & 0x80) || strchr("\"<>\\^`{|}?@", *p))
			return pk_fail(
				err, -EINVAL, "'%c' in the path of the address is not allowed", *p);
	return path[1] ? 0 : pk_fail(err, -EINVAL, "the address names no file");
}

static int parse_url(const char *text, struct pk_ref *ref, struct pk_err *err)
{
	char *authority = ref->location + strlen("https://");
	char *mark = strchr(authority, '#');
	if (!mark)
		return pk_fail(err, -EINVAL,
			"'%s': #sha256: and the digest of the file are missing; " REF_FORMS, text);
	int rc = parse_digest(mark + 1, '#', ref, err);
	if (rc < 0)
		return rc;
	*mark = '\0';
	char *slash = strchr(authority, '/');
	if (!slash)
		return pk_fail(err, -EINVAL, "'%s': the address names no file", text);
	rc = check_authority(authority, slash, err);
	return rc < 0 ? rc : check_path(slash, err);
}

static const struct kind {
	const char *prefix; // "": everything else
	const char *scheme;
	size_t n_skip; // of the prefix, not part of the location
	int (*parse)(const char *text, struct pk_ref *ref, struct pk_err *err);
} kinds[] = {
	{"oci:", "oci", 4, parse_local},
	{"file:", "file", 5, parse_local},
	{"https://", "https", 0, parse_url},
	{"", "registry", 0, parse_registry},
};

static int parse_parts(const char *text, struct pk_ref *ref, struct pk_err *err)
{
	int rc = check_text(text, err);
	if (rc < 0)
		return rc;
	const struct kind *kind = kinds;
	while (strncmp(text, kind->prefix, strlen(kind->prefix)) != 0)
		kind++;
	if (kind->n_skip == 0 && strstr(text, "://") && !*kind->prefix)
		return pk_fail(err, -EINVAL,
			"'%.40s…': only https:// addresses are taken; " REF_FORMS, text);
	ref->scheme = kind->scheme;
	ref->location = strdup(text + kind->n_skip);
	if (!ref->location)
		return pk_fail(err, -ENOMEM, "out of memory");
	return kind->parse(text, ref, err);
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
	free(ref->name);
	free(ref->tag);
	*ref = (struct pk_ref){0};
}
