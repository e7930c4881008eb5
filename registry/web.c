// SPDX-License-Identifier: Apache-2.0
// A model that lies on some web server: the digest in the reference is all the trust there is.
#include "registry/web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "registry/auth.h"
#include "registry/descriptor.h"
#include "registry/fetch.h"
#include "registry/media_type.h"

#define DEFAULT_TITLE "model.onnx"

struct web {
	const struct pk_registry_options *options;
	struct pk_http *http;
	struct pk_auth *auth;
	const struct pk_registry_host *host;
	char *url, *name; // name: host[:port]
	const struct pk_registry_watch *watch;
};

static void web_close(void *impl)
{
	struct web *web = impl;
	pk_auth_destroy(web->auth);
	pk_http_destroy(web->http);
	free(web->url);
	free(web->name);
	free(web);
}

static int open_parts(struct web *web, const struct pk_ref *ref, struct pk_err *err)
{
	const char *host = ref->location + strlen("https://");
	web->url = strdup(ref->location);
	web->name = strndup(host, strcspn(host, "/"));
	if (!web->url || !web->name)
		return pk_fail(err, -ENOMEM, "out of memory");
	web->host = pk_registry_host_find(web->options, web->name);
	const struct pk_auth_place place = {
		.name = web->name, .host = web->host, .repository = "", .options = web->options};
	int rc = pk_http_create(web->options, &web->http, err);
	return rc < 0 ? rc : pk_auth_create(web->http, &place, &web->auth, err);
}

static int web_open(const struct pk_ref *ref, const struct pk_registry_options *options,
	void **impl, struct pk_err *err)
{
	struct web *web = calloc(1, sizeof(*web));
	if (!web)
		return pk_fail(err, -ENOMEM, "out of memory");
	web->options = options;
	int rc = open_parts(web, ref, err);
	if (rc < 0) {
		web_close(web);
		return rc;
	}
	*impl = web;
	return 0;
}

static int perform(void *ctx, struct pk_http_request *request, struct pk_http_response *response,
	struct pk_err *err)
{
	struct web *web = ctx;
	return pk_auth_perform(web->auth, request, response, err);
}

static int ask_size(struct web *web, struct pk_resolved *poll, int64_t *size, struct pk_err *err)
{
	for (unsigned n = 1;; n++) {
		struct pk_http_response response;
		struct pk_http_request request = {.method = "HEAD",
			.url = web->url,
			.host = web->host,
			.timeout_ns = PK_HTTP_SMALL_NS,
			.max_bytes = PK_HTTP_ERROR_BODY_MAX};
		int rc = perform(web, &request, &response, err);
		if (rc == 0)
			rc = pk_http_status_error(&response, "file", err);
		*size = response.content_length;
		int64_t retry_after_ns = response.retry_after_ns;
		pk_http_response_finish(&response);
		if (poll)
			poll->retry_after_ns = retry_after_ns;
		if (rc == 0 || !pk_registry_error_is_transient(rc) ||
			n > pk_fetch_n_retries(web->options))
			return rc;
		rc = pk_fetch_pause(web->http, web->options, n, retry_after_ns, err);
		if (rc < 0)
			return rc;
	}
}

static const char *title_of(const char *url)
{
	const char *name = strrchr(url, '/') + 1;
	size_t n = strlen(name), n_end = strlen(".onnx");
	bool is_onnx = n > n_end && strcasecmp(name + n - n_end, ".onnx") == 0;
	return is_onnx && pk_descriptor_check_title(name, NULL) == 0 ? name : DEFAULT_TITLE;
}

static int write_manifest(const struct web *web, const struct pk_digest *digest, int64_t size,
	struct pk_buf *out, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	pk_auto_json manifest = json_pack(
		"{s:i, s:s, s:s, s:{s:s, s:s, s:i}, s:[{s:s, s:s, s:I, s:{s:s}}]}", "schemaVersion",
		2, "mediaType", PK_MEDIA_MANIFEST, "artifactType", PK_MEDIA_MODEL_MANIFEST,
		"config", "mediaType", PK_MEDIA_EMPTY, "digest", PK_EMPTY_DIGEST, "size",
		(int)strlen(PK_EMPTY_TEXT), "layers", "mediaType", PK_MEDIA_WEIGHT, "digest", text,
		"size", (json_int_t)size, "annotations", PK_ANNOTATION_TITLE, title_of(web->url));
	pk_auto_free char *json = manifest ? pk_json_canonical(manifest) : NULL;
	if (!json || pk_buf_str(out, json) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int web_get_manifest(void *impl, const struct pk_ref *ref, struct pk_resolved *poll,
	struct pk_buf *out, struct pk_err *err)
{
	struct web *web = impl;
	int64_t size = -1;
	if (!ref->has_digest)
		return -ENOENT; // no tags here: nothing refers to the file
	int rc = ask_size(web, poll, &size, err);
	if (rc < 0)
		return rc;
	if (size <= 0)
		return pk_fail(err, -EPROTO, "the server does not say how long the file is");
	return write_manifest(web, &ref->digest, size, out, err);
}

static int web_get_blob(
	void *impl, const struct pk_descriptor *blob, int fd, int64_t have, struct pk_err *err)
{
	struct web *web = impl;
	struct pk_fetch fetch = {.http = web->http,
		.options = web->options,
		.watch = web->watch,
		.url = web->url,
		.host = web->host,
		.perform = perform,
		.ctx = web,
		.size = blob->size,
		.fd = fd,
		.have = have,
		.n_retries = pk_fetch_n_retries(web->options)};
	if (web->options->report)
		web->options->report->resumed_bytes += have;
	return pk_fetch_blob(&fetch, err);
}

static void web_watch(void *impl, const struct pk_registry_watch *watch)
{
	struct web *web = impl;
	web->watch = watch;
}

const struct pk_registry_ops pk_web_ops = {
	.scheme = "https",
	.open = web_open,
	.get_manifest = web_get_manifest,
	.get_blob = web_get_blob,
	.watch = web_watch,
	.close = web_close,
};
