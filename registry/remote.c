// SPDX-License-Identifier: Apache-2.0
// The registry and its mirrors.
#include "registry/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/json.h"
#include "registry/auth.h"
#include "registry/fetch.h"
#include "registry/http_private.h"
#include "registry/media_type.h"

#define URL_MAX            4096
#define REFERRER_PAGES_MAX 8

#define ACCEPT_MANIFEST                                                                            \
	PK_MEDIA_MANIFEST ", " PK_MEDIA_INDEX ", " PK_MEDIA_DOCKER_IMAGE ","                       \
			  " " PK_MEDIA_DOCKER_INDEX

// One host that is asked; the registry itself, or a mirror.
struct source {
	char *name; // host[:port]
	const struct pk_registry_host *host;
	struct pk_auth *auth;
	bool is_mirror;
	bool was_used;      // for the last blob
	bool is_distrusted; // it sent wrong bytes: not asked for blobs any more
};

struct remote {
	const struct pk_registry_options *options;
	struct pk_http *http;
	char *repository;
	struct source *sources; // mirrors first, the registry last
	size_t n_sources;
	const struct pk_registry_watch *watch;
};

static void remote_close(void *impl)
{
	struct remote *remote = impl;
	for (size_t i = 0; i < remote->n_sources; i++) {
		pk_auth_destroy(remote->sources[i].auth);
		free(remote->sources[i].name);
	}
	free(remote->sources);
	free(remote->repository);
	pk_http_destroy(remote->http);
	free(remote);
}

static struct source *primary_of(struct remote *remote)
{
	return &remote->sources[remote->n_sources - 1];
}

static int add_source(struct remote *remote, const char *name, bool is_mirror, struct pk_err *err)
{
	struct source *source = &remote->sources[remote->n_sources];
	source->name = strdup(name);
	if (!source->name)
		return pk_fail(err, -ENOMEM, "out of memory");
	remote->n_sources++;
	source->is_mirror = is_mirror;
	source->host = pk_registry_host_find(remote->options, name);
	const struct pk_auth_place place = {.name = source->name,
		.host = source->host,
		.repository = remote->repository,
		.options = remote->options};
	return pk_auth_create(remote->http, &place, &source->auth, err);
}

static int add_sources(struct remote *remote, const char *name, struct pk_err *err)
{
	const struct pk_registry_host *host = pk_registry_host_find(remote->options, name);
	size_t n_mirrors = host ? host->n_mirrors : 0;
	remote->sources = calloc(n_mirrors + 1, sizeof(*remote->sources));
	if (!remote->sources)
		return pk_fail(err, -ENOMEM, "out of memory");
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n_mirrors; i++)
		rc = add_source(remote, host->mirrors[i], true, err);
	return rc < 0 ? rc : add_source(remote, name, false, err);
}

static int remote_open(const struct pk_ref *ref, const struct pk_registry_options *options,
	void **impl, struct pk_err *err)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	if (!remote)
		return pk_fail(err, -ENOMEM, "out of memory");
	remote->options = options;
	remote->repository = strdup(ref->name);
	int rc = remote->repository ? pk_http_create(options, &remote->http, err)
				    : pk_fail(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = add_sources(remote, ref->location, err);
	if (rc < 0) {
		remote_close(remote);
		return rc;
	}
	*impl = remote;
	return 0;
}

static const char *scheme_of(const struct source *source)
{
	return source->host && source->host->insecure ? "http" : "https";
}

// https://HOST/v2/NAME/KIND/WHAT
static char *url_of(const struct remote *remote, const struct source *source, const char *kind,
	const char *what)
{
	char *url = NULL;
	if (asprintf(&url, "%s://%s/v2/%s/%s/%s", scheme_of(source), source->name,
		    remote->repository, kind, what) < 0)
		return NULL;
	return url;
}

static int perform(void *ctx, struct pk_http_request *request, struct pk_http_response *response,
	struct pk_err *err)
{
	struct source *source = ctx;
	return pk_auth_perform(source->auth, request, response, err);
}

// One small thing, tried again when that may help; the caller finishes *response in any case.
static int get_small(struct remote *remote, struct source *source, struct pk_http_request *request,
	struct pk_http_response *response, struct pk_err *err)
{
	unsigned n_retries = source->is_mirror ? 0 : pk_fetch_n_retries(remote->options);
	request->method = "GET";
	request->host = source->host;
	request->timeout_ns = PK_HTTP_SMALL_NS;
	for (unsigned n = 1;; n++) {
		int rc = perform(source, request, response, err);
		if (rc == 0)
			rc = pk_http_status_error(response, "registry", err);
		if (rc == 0 || rc == -EDQUOT || !pk_registry_error_is_transient(rc))
			return rc;
		if (remote->options->report)
			remote->options->report->retry_after_ns = response->retry_after_ns;
		if (n > n_retries)
			return rc;
		int slept = pk_fetch_pause(
			remote->http, remote->options, n, response->retry_after_ns, err);
		if (slept < 0)
			return slept;
		pk_http_response_finish(response);
	}
}

// A manifest says twice what it is; two readers must not take it for two things.
static int check_type(const struct pk_http_response *response, struct pk_err *err)
{
	static const char *const known[] = {
		PK_MEDIA_MANIFEST, PK_MEDIA_INDEX, PK_MEDIA_DOCKER_IMAGE, PK_MEDIA_DOCKER_INDEX};
	const char *type = response->content_type;
	pk_auto_json root = NULL;
	bool is_known = type[0] == '\0';
	for (size_t i = 0; i < PK_ARRAY_LEN(known); i++)
		is_known = is_known || strcmp(type, known[i]) == 0;
	if (!is_known)
		return pk_fail(err, -EPROTO, "manifest: the server sends '%s'", type);
	if (pk_json_parse(
		    pk_buf_cstr(&response->body), response->body.len, "manifest", &root, err) < 0)
		return -EPROTO;
	const char *inner = json_string_value(json_object_get(root, "mediaType"));
	if (type[0] && inner && strcmp(inner, type) != 0)
		return pk_fail(err, -EPROTO, "manifest: it is '%.80s' inside and '%s' outside",
			inner, type);
	return 0;
}

static void take_poll(struct pk_resolved *poll, const struct pk_http_response *response)
{
	if (!poll)
		return;
	poll->retry_after_ns = response->retry_after_ns;
	poll->not_modified = response->status == 304;
	if (response->status == 200)
		snprintf(poll->etag, sizeof(poll->etag), "%s", response->etag);
}

static int check_digest(
	const struct pk_http_response *response, const struct pk_ref *ref, struct pk_err *err)
{
	struct pk_digest digest;
	if (!ref->has_digest)
		return 0;
	int rc = pk_digest_bytes(pk_buf_cstr(&response->body), response->body.len, &digest);
	if (rc < 0)
		return pk_fail(err, rc, "manifest: cannot hash");
	if (!pk_digest_equal(&digest, &ref->digest))
		return pk_fail(err, -EBADMSG, "manifest: its bytes do not match the digest");
	return 0;
}

static int judge_manifest(const struct pk_http_response *response, const struct pk_ref *ref,
	const struct pk_resolved *poll, struct pk_err *err)
{
	if (response->status == 304 && poll && poll->etag[0])
		return 0;
	if (response->status != 200)
		return pk_fail(err, -EPROTO, "manifest: the server answers %d", response->status);
	int rc = check_digest(response, ref, err);
	return rc < 0 ? rc : check_type(response, err);
}

static int get_manifest_from(struct remote *remote, struct source *source, const struct pk_ref *ref,
	struct pk_resolved *poll, struct pk_buf *out, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	struct pk_http_response response;
	if (ref->has_digest)
		pk_digest_format(&ref->digest, digest);
	pk_auto_free char *url =
		url_of(remote, source, "manifests", ref->has_digest ? digest : ref->tag);
	if (!url)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_http_request request = {.url = url,
		.accept = ACCEPT_MANIFEST,
		.if_none_match = poll && poll->etag[0] ? poll->etag : NULL,
		.max_bytes = (int64_t)(out->max - out->len)};
	int rc = get_small(remote, source, &request, &response, err);
	if (rc == 0)
		rc = judge_manifest(&response, ref, poll, err);
	take_poll(poll, &response);
	if (rc == 0 && response.status == 200 &&
		pk_buf_append(out, pk_buf_cstr(&response.body), response.body.len) < 0)
		rc = pk_fail(err, -EFBIG, "manifest: too big");
	pk_http_response_finish(&response);
	return rc;
}

// Does a failure at one source leave sense in asking the next?
static bool may_go_on(const struct source *source, int rc)
{
	return source->is_mirror && rc != -ECANCELED && rc != -EDQUOT && rc != -ENOMEM &&
	       rc != -ENOSPC;
}

static int remote_get_manifest(void *impl, const struct pk_ref *ref, struct pk_resolved *poll,
	struct pk_buf *out, struct pk_err *err)
{
	struct remote *remote = impl;
	size_t first = ref->has_digest ? 0 : remote->n_sources - 1;
	for (size_t i = first;; i++) {
		struct source *source = &remote->sources[i];
		int rc = get_manifest_from(remote, source, ref, poll, out, err);
		if (rc == 0 || !may_go_on(source, rc))
			return rc;
	}
}

static int get_blob_from(struct remote *remote, struct source *source,
	const struct pk_descriptor *blob, int fd, int64_t *have, struct pk_err *err)
{
	char digest[PK_DIGEST_TEXT];
	pk_digest_format(&blob->digest, digest);
	pk_auto_free char *url = url_of(remote, source, "blobs", digest);
	if (!url)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_fetch fetch = {.http = remote->http,
		.options = remote->options,
		.watch = remote->watch,
		.url = url,
		.host = source->host,
		.perform = perform,
		.ctx = source,
		.size = blob->size,
		.fd = fd,
		.have = *have,
		.n_retries = source->is_mirror ? 0 : pk_fetch_n_retries(remote->options)};
	int rc = pk_fetch_blob(&fetch, err);
	*have = fetch.have;
	if (rc < 0)
		pk_err_prefix(err, "%s", digest);
	return rc;
}

static int remote_get_blob(
	void *impl, const struct pk_descriptor *blob, int fd, int64_t have, struct pk_err *err)
{
	struct remote *remote = impl;
	if (remote->options->report)
		remote->options->report->resumed_bytes += have;
	for (size_t i = 0; i < remote->n_sources; i++)
		remote->sources[i].was_used = false;
	for (size_t i = 0;; i++) {
		struct source *source = &remote->sources[i];
		if (source->is_distrusted)
			continue;
		source->was_used = true;
		int rc = get_blob_from(remote, source, blob, fd, &have, err);
		if (rc == 0 || !may_go_on(source, rc))
			return rc;
	}
}

static bool remote_distrust(void *impl)
{
	struct remote *remote = impl;
	bool is_news = false;
	for (size_t i = 0; i < remote->n_sources; i++) {
		struct source *source = &remote->sources[i];
		bool is_suspect = source->is_mirror && source->was_used;
		is_news |= is_suspect && !source->is_distrusted;
		source->is_distrusted |= is_suspect;
	}
	return is_news;
}

// The address of the next page: a path at the same host, or the same host in full.
static char *next_page(const struct source *source, const char *link)
{
	pk_auto_free char *base = NULL;
	struct pk_http_origin own, next;
	char *url = NULL;
	if (asprintf(&base, "%s://%s", scheme_of(source), source->name) < 0) {
		base = NULL;
		return NULL;
	}
	if (link[0] == '/' && link[1] != '/')
		return asprintf(&url, "%s%s", base, link) < 0 ? NULL : url;
	bool same = pk_http_origin_parse(base, &own) && pk_http_origin_parse(link, &next) &&
		    pk_http_origin_equal(&own, &next);
	return same ? strdup(link) : NULL;
}

static int take_page(const struct pk_http_response *response, json_t *all, struct pk_err *err)
{
	pk_auto_json root = NULL;
	if (strcmp(response->content_type, PK_MEDIA_INDEX) != 0)
		return -ENOENT; // something answers, but not this API
	if (pk_json_parse(
		    pk_buf_cstr(&response->body), response->body.len, "referrers", &root, err) < 0)
		return -EPROTO;
	json_t *manifests = json_object_get(root, "manifests");
	if (!json_is_array(manifests))
		return pk_fail(err, -EPROTO, "referrers: no list of manifests");
	return json_array_extend(all, manifests) < 0 ? pk_fail(err, -ENOMEM, "out of memory") : 0;
}

static int get_page(struct remote *remote, char **url, json_t *all, struct pk_err *err)
{
	struct source *source = primary_of(remote);
	struct pk_http_response response;
	struct pk_http_request request = {
		.url = *url, .accept = PK_MEDIA_INDEX, .max_bytes = PK_MANIFEST_MAX_BYTES};
	int rc = get_small(remote, source, &request, &response, err);
	if (rc == 0)
		rc = take_page(&response, all, err);
	free(*url);
	*url = NULL;
	if (rc == 0 && response.link[0]) {
		*url = next_page(source, response.link);
		if (!*url)
			rc = pk_fail(err, -EPROTO, "referrers: the next page is at another host");
	}
	pk_http_response_finish(&response);
	return rc;
}

static int get_pages(struct remote *remote, char *url, json_t *all, struct pk_err *err)
{
	int rc = 0;
	for (int page = 0; rc == 0 && url; page++) {
		if (page == REFERRER_PAGES_MAX)
			rc = pk_fail(
				err, -EPROTO, "referrers: more than %d pages", REFERRER_PAGES_MAX);
		else
			rc = get_page(remote, &url, all, err);
	}
	free(url);
	return rc;
}

static int remote_get_referrers(void *impl, const struct pk_digest *subject,
	const char *artifact_type, struct pk_buf *out, struct pk_err *err)
{
	struct remote *remote = impl;
	char what[PK_DIGEST_TEXT];
	pk_digest_format(subject, what);
	// The type is filtered here: a server may ignore it, and paging with it is no gain.
	(void)artifact_type;
	char *url = url_of(remote, primary_of(remote), "referrers", what);
	pk_auto_json all = json_array();
	if (!url || !all) {
		free(url);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	int rc = get_pages(remote, url, all, err);
	if (rc < 0)
		return rc;
	pk_auto_json index = json_pack("{s:i, s:s, s:O}", "schemaVersion", 2, "mediaType",
		PK_MEDIA_INDEX, "manifests", all);
	pk_auto_free char *text = index ? pk_json_canonical(index) : NULL;
	if (!text)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_buf_str(out, text) < 0 ? pk_fail(err, -EFBIG, "referrers: too many") : 0;
}

static void remote_watch(void *impl, const struct pk_registry_watch *watch)
{
	struct remote *remote = impl;
	remote->watch = watch;
}

const struct pk_registry_ops pk_remote_ops = {
	.scheme = "registry",
	.open = remote_open,
	.get_manifest = remote_get_manifest,
	.get_blob = remote_get_blob,
	.distrust = remote_distrust,
	.get_referrers = remote_get_referrers,
	.watch = remote_watch,
	.close = remote_close,
};
