// SPDX-License-Identifier: Apache-2.0
// The one libcurl wrapper: sets every handle up the same strict way and drives it so that
// cancelling, stalls and deadlines end it within a moment.
#include "registry/http.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "registry/http_private.h"

#define MAX_HOPS           5
#define POLL_MS            100
#define CONNECT_NS         (10 * PK_NS_PER_S)
#define STALL_NS           (30 * PK_NS_PER_S)
#define STALL_BYTES_PER_S  1024
#define RECEIVE_BYTES      (64L * 1024)
#define ERROR_BODY_GIVE_UP (64 * 1024)

struct pk_http {
	const struct pk_registry_options *options;
	int64_t end_ns; // 0: no deadline
	CURLM *multi;   // keeps the connections
	CURL *easy;
	char detail[CURL_ERROR_SIZE];
};

// One request on its way.
struct transfer {
	struct pk_http *http;
	const struct pk_http_request *request;
	struct pk_http_response *response;
	struct pk_err *err;
	struct curl_slist *headers;
	int64_t n_sent, n_body;
	int64_t window_ns, window_bytes; // of the stall's watch
	int64_t end_ns;                  // 0: none
	int refusal;                     // negative: what a callback ended it with
	bool has_begun;                  // the sink was asked
	bool to_sink;
	bool is_enough;         // of an error's text
	bool is_hop;            // not the request's own URL any more
	enum pk_http_zone zone; // of the request's own host
};

static pthread_once_t init_once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

int pk_http_create(
	const struct pk_registry_options *options, struct pk_http **out, struct pk_err *err)
{
	pthread_once(&init_once, init_curl);
	struct pk_http *http = calloc(1, sizeof(*http));
	*out = http;
	if (!http)
		return pk_fail(err, -ENOMEM, "out of memory");
	http->options = options;
	http->end_ns = options->deadline_ns > 0 ? pk_boottime_ns() + options->deadline_ns : 0;
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	if (http->multi && http->easy)
		return 0;
	pk_http_destroy(http);
	*out = NULL;
	return pk_fail(err, -ENOMEM, "out of memory");
}

void pk_http_destroy(struct pk_http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->easy);
	curl_multi_cleanup(http->multi);
	free(http);
}

static struct pk_registry_report *report_of(const struct pk_http *http)
{
	static _Thread_local struct pk_registry_report nobody;
	return http->options->report ? http->options->report : &nobody;
}

static size_t refuse(struct transfer *t, int rc)
{
	t->refusal = rc;
	return 0; // libcurl ends the transfer
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	n *= size;
	if (pk_http_response_line(t->response, line, n) < 0)
		return refuse(t, pk_fail(t->err, -EPROTO, "more than %d bytes of headers",
					 PK_HTTP_HEADERS_MAX));
	t->window_bytes += (int64_t)n;
	return n;
}

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static void read_status(struct transfer *t)
{
	long status = 0;
	curl_easy_getinfo(t->http->easy, CURLINFO_RESPONSE_CODE, &status);
	t->response->status = (int)status;
}

// Decides once per answer where its body goes.
static int begin_body(struct transfer *t)
{
	struct pk_http_response *r = t->response;
	const struct pk_http_sink *sink = t->request->sink;
	t->has_begun = true;
	read_status(t);
	if (r->content_encoding[0])
		return pk_fail(t->err, -EPROTO,
			"the answer is encoded (%s) although none was asked for: its digest means "
			"nothing",
			r->content_encoding);
	if (!sink || r->status < 200 || r->status > 299)
		return 0;
	int rc = sink->begin(sink->ctx, r, t->err);
	t->to_sink = rc == 0;
	return rc < 0 ? rc : 0;
}

static int keep_body(struct transfer *t, const char *bytes, size_t n)
{
	struct pk_buf *body = &t->response->body;
	bool is_answer = t->response->status < 300;
	if (is_answer && n > body->max - body->len)
		return pk_fail(
			t->err, -EFBIG, "more than the %zu bytes that are allowed", body->max);
	size_t room = PK_MIN(body->max, (size_t)PK_HTTP_ERROR_BODY_MAX);
	if (!is_answer)
		n = room > body->len ? PK_MIN(n, room - body->len) : 0;
	return pk_buf_append(body, bytes, n) < 0 ? pk_fail(t->err, -ENOMEM, "out of memory") : 0;
}

static int take_body(struct transfer *t, const char *bytes, size_t n)
{
	const struct pk_http_sink *sink = t->request->sink;
	int rc = t->has_begun ? 0 : begin_body(t);
	if (rc < 0)
		return rc;
	rc = t->to_sink ? sink->data(sink->ctx, bytes, n, t->err) : keep_body(t, bytes, n);
	if (rc == 0 && t->http->options->budget)
		rc = pk_byte_budget_take(
			t->http->options->budget, (int64_t)n, pk_boottime_ns(), t->err);
	return rc;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	n *= size;
	t->n_body += (int64_t)n;
	t->window_bytes += (int64_t)n;
	report_of(t->http)->received_bytes += (int64_t)n;
	int rc = take_body(t, bytes, n);
	if (rc < 0)
		return refuse(t, rc);
	t->is_enough = t->response->status >= 300 && t->n_body > ERROR_BODY_GIVE_UP;
	return t->is_enough ? 0 : n;
}

static size_t on_send(char *bytes, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	const struct pk_http_body *body = t->request->body;
	size_t want = (size_t)PK_MIN((int64_t)(n * size), body->n - t->n_sent);
	ssize_t got = (ssize_t)want;
	if (body->bytes)
		memcpy(bytes, (const char *)body->bytes + t->n_sent, want);
	else
		got = pread(body->fd, bytes, want, body->offset + t->n_sent);
	if (got < 0 || (got == 0 && want > 0)) {
		t->refusal = pk_fail(t->err, -EIO, "the file that is sent cannot be read");
		return CURL_READFUNC_ABORT;
	}
	t->n_sent += got;
	t->window_bytes += got;
	if (t->request->sent && t->request->sent(t->request->sent_ctx, t->n_sent) != 0) {
		t->refusal = pk_fail(t->err, -ECANCELED, "cancelled");
		return CURL_READFUNC_ABORT;
	}
	return (size_t)got;
}

// A connection that was kept and is dead by now: the body is sent again.
static int on_rewind(void *ctx, curl_off_t offset, int origin)
{
	struct transfer *t = ctx;
	if (origin != SEEK_SET || offset < 0 || offset > t->request->body->n)
		return CURL_SEEKFUNC_FAIL;
	t->n_sent = offset;
	return CURL_SEEKFUNC_OK;
}

// A redirect must not reach what only this node can reach: its own services, or the address that
// cloud machines get their credentials from.
static curl_socket_t on_socket(void *ctx, pk_unused curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = ctx;
	enum pk_http_zone zone = pk_http_zone_of(&a->addr);
	if (t->is_hop && zone != PK_HTTP_ZONE_PUBLIC && zone != t->zone) {
		t->refusal = pk_fail(
			t->err, -EPROTO, "redirected to a loopback or link-local address: refused");
		return CURL_SOCKET_BAD;
	}
	if (!t->is_hop)
		t->zone = zone;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static bool is_cancelled(const struct pk_http *http)
{
	const atomic_bool *cancel = http->options->cancel;
	return cancel && atomic_load(cancel);
}

static int64_t stall_ns(const struct pk_http *http)
{
	return http->options->stall_ns > 0 ? http->options->stall_ns : STALL_NS;
}

// Fewer bytes than 1 KiB/s, or than half the bandwidth that we ask for, over the whole window.
static int check_stall(struct transfer *t, int64_t now_ns)
{
	int64_t rate = STALL_BYTES_PER_S;
	int64_t window_ns = stall_ns(t->http);
	int64_t limit = t->http->options->bandwidth_bytes_per_s;
	if (limit > 0)
		rate = PK_MIN(rate, limit / 2);
	if (now_ns - t->window_ns < window_ns)
		return 0;
	double need = (double)rate * (double)window_ns / (double)PK_NS_PER_S;
	bool is_slow = (double)t->window_bytes < need;
	t->window_ns = now_ns;
	t->window_bytes = 0;
	if (!is_slow)
		return 0;
	return pk_fail(t->err, -ETIMEDOUT, "stalled: slower than %" PRId64 " bytes/s for %g s",
		rate, (double)window_ns / (double)PK_NS_PER_S);
}

static int check_time(struct transfer *t)
{
	int64_t now_ns = pk_boottime_ns();
	if (is_cancelled(t->http))
		return pk_fail(t->err, -ECANCELED, "cancelled");
	if (t->end_ns != 0 && now_ns >= t->end_ns)
		return pk_fail(t->err, -ETIMEDOUT, "not done within the time allowed");
	return check_stall(t, now_ns);
}

// Until the transfer is over; *code is libcurl's verdict. Negative: ended by us.
static int drive(struct transfer *t, CURLcode *code)
{
	CURLM *multi = t->http->multi;
	int running = 1;
	for (;;) {
		int n_messages;
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return pk_fail(t->err, -EIO, "libcurl is out of order");
		CURLMsg *message = curl_multi_info_read(multi, &n_messages);
		if (message && message->msg == CURLMSG_DONE) {
			*code = message->data.result;
			return 0;
		}
		int rc = check_time(t);
		if (rc < 0)
			return rc;
		curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
	}
}

static int add_header(struct transfer *t, const char *name, const char *value)
{
	pk_auto_free char *line = NULL;
	if (!value)
		return 0;
	if (asprintf(&line, "%s: %s", name, value) < 0)
		line = NULL;
	struct curl_slist *list = line ? curl_slist_append(t->headers, line) : NULL;
	if (!list)
		return -ENOMEM;
	t->headers = list;
	return 0;
}

static int add_headers(struct transfer *t)
{
	const struct pk_http_request *request = t->request;
	const struct {
		const char *name, *value;
	} rows[] = {
		// Anything else would break digests and ranges.
		{"Accept-Encoding", "identity"},
		{"Accept", request->accept ? request->accept : "*/*"},
		{"If-None-Match", request->if_none_match},
		{"Content-Type", request->body ? request->content_type : NULL},
		{"Content-Range", request->content_range},
		{"Authorization", request->authorization},
	};
	// A redirect's target gets the question and nothing that is a secret.
	size_t n = t->is_hop ? PK_ARRAY_LEN(rows) - 1 : PK_ARRAY_LEN(rows);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_header(t, rows[i].name, rows[i].value);
	if (rc == 0 && request->body) {
		struct curl_slist *list = curl_slist_append(t->headers, "Expect:");
		rc = list ? 0 : -ENOMEM;
		t->headers = list ? list : t->headers;
	}
	return rc < 0 ? pk_fail(t->err, rc, "out of memory") : 0;
}

static void limit_protocols(CURL *easy, bool insecure)
{
#if LIBCURL_VERSION_NUM >= 0x075500 // 7.85
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, insecure ? "http,https" : "https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
		(long)(insecure ? CURLPROTO_HTTP | CURLPROTO_HTTPS : CURLPROTO_HTTPS));
#endif
}

static bool given(const char *text)
{
	return text && *text;
}

// host: the entry for the URL's own host, or NULL.
static void set_trust(CURL *easy, const struct pk_registry_host *host, bool is_hop)
{
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (host && given(host->ca_path)) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, host->ca_path);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (!host || !given(host->cert_path) || is_hop)
		return;
	curl_easy_setopt(easy, CURLOPT_SSLCERT, host->cert_path);
	curl_easy_setopt(
		easy, CURLOPT_SSLKEY, given(host->key_path) ? host->key_path : host->cert_path);
}

static void set_limits(const struct transfer *t)
{
	CURL *easy = t->http->easy;
	const struct pk_registry_options *options = t->http->options;
	int64_t connect_ns =
		options->connect_timeout_ns > 0 ? options->connect_timeout_ns : CONNECT_NS;
	curl_off_t rate = (curl_off_t)PK_MAX(options->bandwidth_bytes_per_s, 0);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_ns / PK_NS_PER_MS));
	curl_easy_setopt(easy, CURLOPT_MAX_RECV_SPEED_LARGE, rate);
	curl_easy_setopt(easy, CURLOPT_MAX_SEND_SPEED_LARGE, rate);
	// libcurl keeps to a rate between reads: small ones make it even.
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, rate > 0 ? RECEIVE_BYTES / 4 : RECEIVE_BYTES);
}

static void set_callbacks(struct transfer *t)
{
	CURL *easy = t->http->easy;
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->http->detail);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, t);
}

static void set_method(struct transfer *t)
{
	CURL *easy = t->http->easy;
	const struct pk_http_request *request = t->request;
	if (strcmp(request->method, "HEAD") == 0)
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else if (request->body)
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	if (strcmp(request->method, "HEAD") != 0)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	if (!request->body)
		return;
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(easy, CURLOPT_READDATA, t);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, t);
	curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body->n);
}

static int set_up(struct transfer *t, const char *url, const struct pk_registry_host *host)
{
	CURL *easy = t->http->easy;
	char range[32];
	curl_easy_reset(easy);
	t->http->detail[0] = '\0';
	int rc = add_headers(t);
	if (rc < 0)
		return rc;
	set_callbacks(t);
	set_limits(t);
	set_trust(easy, host, t->is_hop);
	set_method(t);
	limit_protocols(easy, host && host->insecure);
	if (t->request->range_from > 0) {
		snprintf(range, sizeof(range), "%" PRId64 "-", t->request->range_from);
		curl_easy_setopt(easy, CURLOPT_RANGE, range);
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_PROXY, ""); // not from the environment
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "picket/" PICKET_VERSION);
	CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, url);
	return code == CURLE_OK ? 0 : pk_fail(t->err, -ENOMEM, "out of memory");
}

// What libcurl calls an error but is an answer: 2.8.2 of the reference registry, for one, announces
// the whole blob's length for the text of a 416.
static bool is_answer_nevertheless(const struct transfer *t, CURLcode code)
{
	if (t->refusal != 0 || t->response->status == 0)
		return false;
	if (t->is_enough)
		return true;
	return t->response->status >= 400 &&
	       (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR);
}

static int judge(struct transfer *t, CURLcode code)
{
	long os_errno = 0;
	if (t->refusal < 0)
		return t->refusal;
	read_status(t);
	if (code == CURLE_OK || is_answer_nevertheless(t, code))
		return t->has_begun ? 0 : begin_body(t); // an empty body begins too
	curl_easy_getinfo(t->http->easy, CURLINFO_OS_ERRNO, &os_errno);
	return pk_http_curl_error(code, t->http->detail, os_errno, t->err);
}

static void note_peer(struct transfer *t)
{
	char *address = NULL;
	curl_easy_getinfo(t->http->easy, CURLINFO_PRIMARY_IP, &address);
	// A connection that was kept: nobody asked on_socket.
	if (t->is_hop || !address || !address[0])
		return;
	if (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0)
		t->zone = PK_HTTP_ZONE_LOOPBACK;
}

static int perform_once(struct transfer *t, const char *url, const struct pk_registry_host *host)
{
	CURLcode code = CURLE_OK;
	t->refusal = 0;
	t->has_begun = t->to_sink = t->is_enough = false;
	t->n_body = t->n_sent = 0;
	t->window_ns = pk_boottime_ns();
	t->window_bytes = 0;
	int rc = set_up(t, url, host);
	if (rc == 0 && curl_multi_add_handle(t->http->multi, t->http->easy) != CURLM_OK)
		rc = pk_fail(t->err, -ENOMEM, "out of memory");
	if (rc == 0) {
		report_of(t->http)->n_requests++;
		rc = drive(t, &code);
		if (rc == 0)
			rc = judge(t, code);
		note_peer(t);
		curl_multi_remove_handle(t->http->multi, t->http->easy);
	}
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	pk_http_response_settle(t->response, (int64_t)time(NULL));
	return rc;
}

// The absolute address that the answer points at, if it may be followed.
static int next_address(struct transfer *t, const struct pk_http_origin *from, bool insecure,
	char **url, struct pk_http_origin *to)
{
	char *next = NULL;
	curl_easy_getinfo(t->http->easy, CURLINFO_REDIRECT_URL, &next);
	if (!next || !t->response->location[0])
		return pk_fail(t->err, -EPROTO, "a redirect without an address");
	if (!pk_http_origin_parse(next, to))
		return pk_fail(t->err, -EPROTO,
			"redirected to an address that is not plain http or https: refused");
	if (strcmp(to->scheme, "https") != 0 && (!insecure || strcmp(from->scheme, "https") == 0))
		return pk_fail(t->err, -EPROTO, "redirected to http on %s: refused", to->host);
	*url = strdup(next);
	return *url ? 0 : pk_fail(t->err, -ENOMEM, "out of memory");
}

// The trust that holds for a redirect's target: its own entry, else that of who sent us there.
static const struct pk_registry_host *host_of(const struct pk_http *http,
	const struct pk_http_origin *origin, const struct pk_registry_host *otherwise)
{
	char name[sizeof(origin->host) + sizeof(origin->port) + 1];
	snprintf(name, sizeof(name), "%s:%s", origin->host, origin->port);
	const struct pk_registry_host *host = pk_registry_host_find(http->options, name);
	if (!host && (strcmp(origin->port, "443") == 0 || strcmp(origin->port, "80") == 0))
		host = pk_registry_host_find(http->options, origin->host);
	return host ? host : otherwise;
}

static int follow(struct transfer *t, const struct pk_http_origin *home)
{
	const struct pk_http_request *request = t->request;
	pk_auto_free char *url = strdup(request->url);
	struct pk_http_origin at = *home, next;
	const struct pk_registry_host *host = request->host;
	bool insecure = host && host->insecure;
	bool may_follow =
		strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
	for (unsigned hop = 0; url; hop++) {
		t->response->n_hops = hop;
		int rc = perform_once(t, url, host);
		snprintf(t->response->host, sizeof(t->response->host), "%s", at.host);
		if (rc < 0 || !may_follow || !is_redirect(t->response->status))
			return rc;
		if (hop == MAX_HOPS)
			return pk_fail(t->err, -EPROTO, "more than %d redirects", MAX_HOPS);
		char *to = NULL;
		rc = next_address(t, &at, insecure, &to, &next);
		if (rc < 0)
			return rc;
		free(url);
		url = to;
		at = next;
		// Back at home the secret may come along again: it goes nowhere else.
		t->is_hop = !pk_http_origin_equal(&at, home);
		host = t->is_hop ? host_of(t->http, &at, request->host) : request->host;
	}
	return pk_fail(t->err, -ENOMEM, "out of memory");
}

int pk_http_perform(struct pk_http *http, const struct pk_http_request *request,
	struct pk_http_response *response, struct pk_err *err)
{
	struct pk_http_origin home;
	struct pk_err ignored = {0};
	struct transfer t = {.http = http,
		.request = request,
		.response = response,
		.err = err ? err : &ignored,
		.end_ns = http->end_ns};
	pk_http_response_init(response, request->max_bytes);
	if (!pk_http_origin_parse(request->url, &home))
		return pk_fail(err, -EPROTO, "not an http or https address");
	if (request->timeout_ns > 0) {
		int64_t end_ns = pk_boottime_ns() + request->timeout_ns;
		t.end_ns = t.end_ns == 0 ? end_ns : PK_MIN(t.end_ns, end_ns);
	}
	int rc = follow(&t, &home);
	if (rc < 0)
		pk_err_prefix(err, "%s", home.host);
	return rc;
}

int pk_http_sleep(struct pk_http *http, int64_t ns, struct pk_err *err)
{
	int64_t end_ns = pk_boottime_ns() + ns;
	if (http->end_ns != 0 && end_ns >= http->end_ns)
		return pk_fail(err, -ETIMEDOUT, "not done within the time allowed");
	for (int64_t left; (left = end_ns - pk_boottime_ns()) > 0;) {
		if (is_cancelled(http))
			return pk_fail(err, -ECANCELED, "cancelled");
		int64_t step = PK_MIN(left, POLL_MS * PK_NS_PER_MS);
		struct timespec pause = {.tv_nsec = (long)step};
		nanosleep(&pause, NULL);
	}
	return 0;
}
