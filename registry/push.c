// SPDX-License-Identifier: Apache-2.0
// Blobs before manifests, manifests before tags: a reader of the registry never sees half an
// artifact.
#include "registry/push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/json.h"
#include "registry/auth.h"
#include "registry/descriptor.h"
#include "registry/fetch.h"
#include "registry/http_private.h"
#include "registry/media_type.h"

#define CHUNK_BYTES (INT64_C(16) << 20) // a blob up to this size goes in one piece

struct push {
	struct pk_registry *source;
	const char *folder; // of the layout
	struct pk_http *http;
	struct pk_auth *auth;
	const struct pk_registry_options *options;
	const struct pk_registry_host *host;
	char *base; // https://HOST
	const char *repository;
	const struct pk_pull_progress *progress;
	int64_t done_bytes, total_bytes;
};

static int report(void *ctx, int64_t under_way)
{
	const struct push *push = ctx;
	const struct pk_pull_progress *progress = push->progress;
	if (!progress || !progress->update)
		return 0;
	int64_t done = PK_MIN(push->done_bytes + under_way, push->total_bytes);
	return progress->update(progress->ctx, done, push->total_bytes);
}

static char *url_of(const struct push *push, const char *kind, const char *what)
{
	char *url = NULL;
	if (asprintf(&url, "%s/v2/%s/%s/%s", push->base, push->repository, kind, what) < 0)
		return NULL;
	return url;
}

// One request; 0 when its status is `wanted`. The caller finishes *response in any case.
static int ask(struct push *push, struct pk_http_request *request, int wanted,
	struct pk_http_response *response, struct pk_err *err)
{
	request->host = push->host;
	request->max_bytes = PK_HTTP_ERROR_BODY_MAX;
	int rc = pk_auth_perform(push->auth, request, response, err);
	if (rc == 0)
		rc = pk_http_status_error(response, request->method, err);
	if (rc == 0 && response->status != wanted)
		rc = pk_fail(err, -EPROTO, "%s: the server answers %d instead of %d",
			request->method, response->status, wanted);
	return rc;
}

static int is_there(struct push *push, const char *digest, bool *there, struct pk_err *err)
{
	struct pk_http_response response;
	pk_auto_free char *url = url_of(push, "blobs", digest);
	if (!url)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_http_request request = {
		.method = "HEAD", .url = url, .timeout_ns = PK_HTTP_SMALL_NS};
	int rc = ask(push, &request, 200, &response, err);
	pk_http_response_finish(&response);
	*there = rc == 0;
	return rc == -ENOENT ? 0 : rc;
}

// Where the next part of an upload goes: what the answer says, at the registry itself.
static int take_location(
	struct push *push, const struct pk_http_response *response, char **url, struct pk_err *err)
{
	const char *location = response->location;
	struct pk_http_origin own, next;
	free(*url);
	*url = NULL;
	if (location[0] == '/' && location[1] != '/') {
		if (asprintf(url, "%s%s", push->base, location) < 0)
			*url = NULL;
	} else if (pk_http_origin_parse(location, &next) &&
		   pk_http_origin_parse(push->base, &own)) {
		if (!pk_http_origin_equal(&own, &next))
			return pk_fail(err, -EPROTO,
				"the upload is to go on at %s://%s:%s: refused (a registry behind "
				"a "
				"proxy must know its outer address)",
				next.scheme, next.host, next.port);
		*url = strdup(location);
	} else {
		return pk_fail(err, -EPROTO, "the server does not say where the upload goes on");
	}
	return *url ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

static int start_upload(struct push *push, char **url, struct pk_err *err)
{
	struct pk_http_response response;
	static const struct pk_http_body nothing = {.bytes = "", .n = 0};
	pk_auto_free char *start = url_of(push, "blobs", "uploads/");
	if (!start)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_http_request request = {
		.method = "POST", .url = start, .body = &nothing, .timeout_ns = PK_HTTP_SMALL_NS};
	int rc = ask(push, &request, 202, &response, err);
	if (rc == 0)
		rc = take_location(push, &response, url, err);
	pk_http_response_finish(&response);
	return rc;
}

struct part {
	const struct push *push;
	int64_t offset;
};

static int on_sent(void *ctx, int64_t n_sent)
{
	const struct part *part = ctx;
	return report((void *)(uintptr_t)part->push, part->offset + n_sent);
}

static int send_chunk(
	struct push *push, char **url, const struct pk_http_body *body, struct pk_err *err)
{
	char range[64];
	struct pk_http_response response;
	struct part part = {.push = push, .offset = body->offset};
	snprintf(range, sizeof(range), "%" PRId64 "-%" PRId64, body->offset,
		body->offset + body->n - 1);
	struct pk_http_request request = {.method = "PATCH",
		.url = *url,
		.content_type = "application/octet-stream",
		.content_range = range,
		.body = body,
		.sent = on_sent,
		.sent_ctx = &part};
	int rc = ask(push, &request, 202, &response, err);
	if (rc == 0)
		rc = take_location(push, &response, url, err);
	pk_http_response_finish(&response);
	return rc;
}

// The last part, with the digest that the whole must have.
static int close_upload(struct push *push, const char *at, const char *digest,
	const struct pk_http_body *body, struct pk_err *err)
{
	struct pk_http_response response;
	struct part part = {.push = push, .offset = body->offset};
	pk_auto_free char *url = NULL;
	if (asprintf(&url, "%s%cdigest=%s", at, strchr(at, '?') ? '&' : '?', digest) < 0) {
		url = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	struct pk_http_request request = {.method = "PUT",
		.url = url,
		.content_type = "application/octet-stream",
		.body = body,
		.sent = on_sent,
		.sent_ctx = &part};
	int rc = ask(push, &request, 201, &response, err);
	pk_http_response_finish(&response);
	return rc;
}

static int upload_once(
	struct push *push, int fd, int64_t size, const char *digest, struct pk_err *err)
{
	pk_auto_free char *url = NULL;
	struct pk_http_body body = {.fd = fd, .n = size};
	int rc = start_upload(push, &url, err);
	for (; rc == 0 && size - body.offset > CHUNK_BYTES; body.offset += CHUNK_BYTES) {
		body.n = CHUNK_BYTES;
		rc = send_chunk(push, &url, &body, err);
	}
	body.n = size - body.offset;
	return rc < 0 ? rc : close_upload(push, url, digest, &body, err);
}

static int open_blob(const struct push *push, const struct pk_descriptor *blob, const char *digest,
	struct pk_err *err)
{
	struct stat st;
	pk_auto_free char *path = NULL;
	if (asprintf(&path, "%s/blobs/sha256/%s", push->folder, digest + strlen(PK_DIGEST_PREFIX)) <
		0) {
		path = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	pk_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return pk_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size != blob->size)
		return pk_fail(
			err, -EBADMSG, "%s: not a file of %" PRId64 " bytes", path, blob->size);
	return pk_steal_fd(fd);
}

// The server checks the digest, too; but a damaged file need not travel.
static int check_blob(
	int fd, const struct pk_descriptor *blob, const char *text, struct pk_err *err)
{
	struct pk_digest found;
	int rc = pk_digest_fd(fd, &found, err);
	if (rc == 0 && !pk_digest_equal(&found, &blob->digest))
		rc = pk_fail(err, -EBADMSG, "%s: the layout's bytes do not match the digest", text);
	return rc;
}

static int upload(
	struct push *push, const struct pk_descriptor *blob, const char *digest, struct pk_err *err)
{
	pk_auto_close int fd = open_blob(push, blob, digest, err);
	int rc = fd < 0 ? fd : check_blob(fd, blob, digest, err);
	for (unsigned n = 1; rc == 0; n++) {
		rc = upload_once(push, fd, blob->size, digest, err);
		if (rc == 0 || !pk_registry_error_is_transient(rc) ||
			n > pk_fetch_n_retries(push->options))
			return rc;
		rc = pk_fetch_pause(push->http, push->options, n, 0, err);
	}
	return rc;
}

static int push_blob(
	struct push *push, const char *name, const struct pk_descriptor *blob, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	bool there = false;
	pk_digest_format(&blob->digest, digest);
	int rc = is_there(push, digest, &there, err);
	if (rc == 0 && !there)
		rc = upload(push, blob, digest, err);
	if (rc < 0) {
		pk_err_prefix(err, "%s", name ? name : digest);
		return rc;
	}
	push->done_bytes += blob->size;
	if (push->progress && push->progress->blob)
		push->progress->blob(push->progress->ctx, name, blob, !there);
	return report(push, 0) != 0 ? pk_fail(err, -ECANCELED, "cancelled") : 0;
}

static int put_manifest(struct push *push, const struct pk_buf *bytes, const char *media_type,
	const char *tag_or_digest, struct pk_err *err)
{
	struct pk_http_response response;
	const struct pk_http_body body = {.bytes = bytes->data, .n = (int64_t)bytes->len};
	pk_auto_free char *url = url_of(push, "manifests", tag_or_digest);
	if (!url)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_http_request request = {.method = "PUT",
		.url = url,
		.content_type = media_type,
		.body = &body,
		.timeout_ns = PK_HTTP_SMALL_NS};
	int rc = ask(push, &request, 201, &response, err);
	pk_http_response_finish(&response);
	if (rc < 0)
		pk_err_prefix(err, "manifest");
	return rc;
}

static int push_ref(struct push *push, const struct pk_ref *ref, const char *as, int depth,
	struct pk_digest *digest, struct pk_err *err);

// config and layers of an image manifest that may be anything: a signature, too.
static int push_blobs(struct push *push, const json_t *root, struct pk_err *err)
{
	const json_t *layers = json_object_get(root, "layers");
	for (size_t i = 0; i <= json_array_size(layers); i++) {
		struct pk_descriptor blob;
		const json_t *json =
			i == 0 ? json_object_get(root, "config") : json_array_get(layers, i - 1);
		int rc = pk_descriptor_parse(json, &blob, err);
		if (rc < 0)
			return rc;
		push->total_bytes += blob.size;
		pk_descriptor_finish(&blob);
	}
	for (size_t i = 0; i <= json_array_size(layers); i++) {
		struct pk_descriptor blob;
		const json_t *json =
			i == 0 ? json_object_get(root, "config") : json_array_get(layers, i - 1);
		int rc = pk_descriptor_parse(json, &blob, err);
		if (rc == 0)
			rc = push_blob(push, i == 0 ? "config" : blob.title, &blob, err);
		pk_descriptor_finish(&blob);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int push_children(struct push *push, const json_t *manifests, int depth, struct pk_err *err)
{
	size_t i;
	const json_t *entry;
	json_array_foreach (manifests, i, entry) {
		struct pk_descriptor child;
		struct pk_ref ref = {.scheme = "oci", .has_digest = true};
		int rc = depth == 0 ? pk_descriptor_parse(entry, &child, err)
				    : pk_fail(err, -ENOTSUP, "an index in the index");
		if (rc < 0)
			return rc;
		ref.digest = child.digest;
		pk_descriptor_finish(&child);
		rc = push_ref(push, &ref, NULL, depth + 1, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

// Pushes what ref names in the layout under `as` (NULL: its digest), with all that it names.
static int push_ref(struct push *push, const struct pk_ref *ref, const char *as, int depth,
	struct pk_digest *digest, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	pk_auto_json root = NULL;
	struct pk_digest found;
	char text[PK_DIGEST_TEXT];
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = pk_registry_manifest(push->source, ref, PK_MANIFEST_MAX_BYTES, &bytes, err);
	if (rc == 0)
		rc = pk_json_parse(pk_buf_cstr(&bytes), bytes.len, "manifest", &root, err);
	if (rc == 0)
		rc = pk_digest_bytes(bytes.data, bytes.len, &found);
	if (rc < 0)
		return rc;
	const json_t *manifests = json_object_get(root, "manifests");
	const char *type = json_string_value(json_object_get(root, "mediaType"));
	rc = manifests ? push_children(push, manifests, depth, err) : push_blobs(push, root, err);
	if (rc < 0)
		return rc;
	if (!type)
		type = manifests ? PK_MEDIA_INDEX : PK_MEDIA_MANIFEST;
	pk_digest_format(&found, text);
	if (digest)
		*digest = found;
	return put_manifest(push, &bytes, type, as ? as : text, err);
}

static int push_companions(struct push *push, const struct pk_digest *subject, struct pk_err *err)
{
	static const char *const tails[] = {".sig", ""};
	for (size_t i = 0; i < PK_ARRAY_LEN(tails); i++) {
		char tag[PK_DIGEST_TEXT + 8];
		pk_digest_format(subject, tag);
		tag[strlen("sha256")] = '-';
		snprintf(tag + strlen(tag), sizeof(tag) - strlen(tag), "%s", tails[i]);
		const struct pk_ref ref = {.scheme = "oci", .tag = tag};
		struct pk_buf bytes pk_auto_buf;
		pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
		int rc = pk_registry_manifest(
			push->source, &ref, PK_MANIFEST_MAX_BYTES, &bytes, NULL);
		if (rc == -ENOENT)
			continue; // not signed that way
		if (rc == 0)
			rc = push_ref(push, &ref, tag, 0, NULL, err);
		if (rc < 0) {
			pk_err_prefix(err, "signature %s", tag);
			return rc;
		}
	}
	return 0;
}

static int push_all(struct push *push, const struct pk_ref *from, const struct pk_ref *to,
	struct pk_digest *digest, struct pk_err *err)
{
	struct pk_digest found;
	int rc = push_ref(push, from, to->tag, 0, &found, err);
	if (rc < 0)
		return rc;
	if (to->has_digest && !pk_digest_equal(&found, &to->digest))
		return pk_fail(
			err, -EBADMSG, "what was pushed is not what the target's digest names");
	if (digest)
		*digest = found;
	return push_companions(push, &found, err);
}

static int open_all(
	struct push *push, const struct pk_ref *from, const struct pk_ref *to, struct pk_err *err)
{
	push->folder = from->location;
	push->repository = to->name;
	push->host = pk_registry_host_find(push->options, to->location);
	bool insecure = push->host && push->host->insecure;
	if (asprintf(&push->base, "%s://%s", insecure ? "http" : "https", to->location) < 0) {
		push->base = NULL;
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	const struct pk_auth_place place = {.name = to->location,
		.host = push->host,
		.repository = to->name,
		.options = push->options,
		.push = true};
	int rc = pk_registry_open(from, push->options, &push->source, err);
	if (rc == 0)
		rc = pk_http_create(push->options, &push->http, err);
	return rc < 0 ? rc : pk_auth_create(push->http, &place, &push->auth, err);
}

static int check_refs(const struct pk_ref *from, const struct pk_ref *to, struct pk_err *err)
{
	if (strcmp(from->scheme, "oci") != 0)
		return pk_fail(err, -EINVAL, "push takes its artifact from an oci:FOLDER:TAG");
	if (strcmp(to->scheme, "registry") != 0)
		return pk_fail(err, -EINVAL, "push goes to a HOST/NAME:TAG");
	return 0;
}

static int push_between(struct push *push, const struct pk_ref *from, const struct pk_ref *to,
	struct pk_digest *digest, struct pk_err *err)
{
	int rc = check_refs(from, to, err);
	if (rc == 0)
		rc = open_all(push, from, to, err);
	if (rc == 0)
		rc = push_all(push, from, to, digest, err);
	pk_auth_destroy(push->auth);
	pk_http_destroy(push->http);
	pk_registry_close(push->source);
	free(push->base);
	return rc;
}

int pk_push(const char *layout_ref, const char *target_ref,
	const struct pk_registry_options *options, const struct pk_pull_progress *progress,
	struct pk_digest *digest, struct pk_err *err)
{
	static const struct pk_registry_options defaults;
	struct push push = {.options = options ? options : &defaults, .progress = progress};
	struct pk_ref from, to;
	int rc = pk_ref_parse(layout_ref, &from, err);
	if (rc < 0)
		return rc;
	rc = pk_ref_parse(target_ref, &to, err);
	if (rc == 0) {
		rc = push_between(&push, &from, &to, digest, err);
		pk_ref_finish(&to);
	}
	pk_ref_finish(&from);
	if (rc < 0)
		pk_err_prefix(err, "%s", target_ref);
	return rc;
}
