// SPDX-License-Identifier: Apache-2.0
// libcurl over the control socket.
#include "cli/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "daemon/control_api.h"

#define MAX_ANSWER_BYTES (16u << 20)
#define MAX_LINE_BYTES   (256u << 10)
#define CONNECT_MS       3000L
#define ANSWER_MS        15000L

void pk_answer_finish(struct pk_answer *answer)
{
	free(answer->text);
	json_decref(answer->json);
	*answer = (struct pk_answer){0};
}

static char *socket_path(void)
{
	return pk_fs_join(pk_cli_root()[0] ? pk_cli_root() : "/", PK_CONTROL_SOCKET);
}

char *pk_client_path(const char *prefix, const char *name, const char *suffix)
{
	char *path = NULL;
	char *escaped = curl_easy_escape(NULL, name, 0);
	if (!escaped)
		return NULL;
	if (asprintf(&path, "%s/%s%s%s", prefix, escaped, suffix ? "/" : "", suffix ? suffix : "") <
		0)
		path = NULL;
	curl_free(escaped);
	return path;
}

struct transfer {
	CURL *curl;
	char *socket, *url;
	const void *upload; // n_upload bytes; NULL: none
	size_t n_upload;
};

static void transfer_finish(struct transfer *transfer)
{
	curl_easy_cleanup(transfer->curl);
	free(transfer->socket);
	free(transfer->url);
}

static int transfer_init(struct transfer *transfer, const char *path, struct pk_err *err)
{
	transfer->curl = curl_easy_init();
	transfer->socket = socket_path();
	if (asprintf(&transfer->url, "http://picketd%s", path) < 0)
		transfer->url = NULL;
	if (!transfer->curl || !transfer->socket || !transfer->url)
		return pk_fail(err, -ENOMEM, "out of memory");
	curl_easy_setopt(transfer->curl, CURLOPT_UNIX_SOCKET_PATH, transfer->socket);
	curl_easy_setopt(transfer->curl, CURLOPT_URL, transfer->url);
	curl_easy_setopt(transfer->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(transfer->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(transfer->curl, CURLOPT_PROXY, "");
	return 0;
}

// What a person should do about it.
static int explain(const struct transfer *transfer, CURLcode code, struct pk_err *err)
{
	long os_error = 0;
	curl_easy_getinfo(transfer->curl, CURLINFO_OS_ERRNO, &os_error);
	if (code == CURLE_COULDNT_CONNECT && os_error == EACCES)
		return pk_fail(err, -EACCES,
			"no access to %s: use sudo or become a member of the group of that socket",
			transfer->socket);
	if (code == CURLE_COULDNT_CONNECT)
		return pk_fail(err, -ECONNREFUSED,
			"picketd does not run (nobody listens on %s): start it with `systemctl "
			"start "
			"picketd`, or name its root with --root",
			transfer->socket);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return pk_fail(
			err, -ETIMEDOUT, "picketd does not answer: see `journalctl -u picketd`");
	return pk_fail(err, -EIO, "talking to picketd: %s", curl_easy_strerror(code));
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct pk_buf *body = ctx;
	return pk_buf_append(body, data, size * n) < 0 ? 0 : size * n;
}

static int perform(struct transfer *transfer, const char *method, struct pk_buf *body, long *status,
	struct pk_err *err)
{
	curl_easy_setopt(transfer->curl, CURLOPT_TIMEOUT_MS, ANSWER_MS);
	curl_easy_setopt(transfer->curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(transfer->curl, CURLOPT_WRITEDATA, body);
	if (strcmp(method, "POST") == 0) {
		curl_easy_setopt(transfer->curl, CURLOPT_POST, 1L);
		curl_easy_setopt(transfer->curl, CURLOPT_POSTFIELDSIZE, (long)transfer->n_upload);
		curl_easy_setopt(transfer->curl, CURLOPT_POSTFIELDS,
			transfer->upload ? transfer->upload : "");
	}
	CURLcode code = curl_easy_perform(transfer->curl);
	if (code != CURLE_OK)
		return explain(transfer, code, err);
	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, status);
	return 0;
}

static int exchange(struct transfer *transfer, const char *method, const char *path,
	struct pk_answer *answer, struct pk_err *err)
{
	pk_auto_buf struct pk_buf body;
	pk_buf_init(&body, MAX_ANSWER_BYTES);
	*answer = (struct pk_answer){0};
	int r = transfer_init(transfer, path, err);
	if (r == 0)
		r = perform(transfer, method, &body, &answer->status, err);
	if (r == 0)
		r = pk_json_parse(
			pk_buf_cstr(&body), body.len, "picketd's answer", &answer->json, err);
	if (r == 0 && !(answer->text = strdup(pk_buf_cstr(&body))))
		r = pk_fail(err, -ENOMEM, "out of memory");
	answer->n = body.len;
	if (r < 0)
		pk_answer_finish(answer);
	return r;
}

int pk_client_call(
	const char *method, const char *path, struct pk_answer *answer, struct pk_err *err)
{
	pk_cleanup(transfer_finish) struct transfer transfer = {0};
	return exchange(&transfer, method, path, answer, err);
}

int pk_client_send(
	const char *path, const void *body, size_t n, struct pk_answer *answer, struct pk_err *err)
{
	pk_cleanup(transfer_finish) struct transfer transfer = {.upload = body, .n_upload = n};
	return exchange(&transfer, "POST", path, answer, err);
}

int pk_client_get(const char *path, struct pk_answer *answer, struct pk_err *err)
{
	int r = pk_client_call("GET", path, answer, err);
	if (r < 0 || answer->status == 200)
		return r;
	const char *reason = json_string_value(json_object_get(answer->json, "error"));
	r = pk_fail(err, answer->status == 404 ? -ENOENT : -EIO, "%s",
		reason ? reason : "picketd refused");
	pk_answer_finish(answer);
	return r;
}

struct lines {
	struct pk_buf buf;
	int (*line)(void *ctx, const char *text, size_t n);
	void *ctx;
	bool ended; // line asked for it
};

static size_t on_stream(char *data, size_t size, size_t n, void *ctx)
{
	struct lines *lines = ctx;
	if (pk_buf_append(&lines->buf, data, size * n) < 0)
		return 0;
	char *newline;
	while (lines->buf.len && (newline = memchr(lines->buf.data, '\n', lines->buf.len))) {
		size_t length = (size_t)(newline - lines->buf.data);
		if (length > 0 && lines->line(lines->ctx, lines->buf.data, length) != 0) {
			lines->ended = true;
			return 0;
		}
		pk_buf_consume(&lines->buf, length + 1);
	}
	return size * n;
}

int pk_client_follow(const char *path, int (*line)(void *ctx, const char *text, size_t n),
	void *ctx, struct pk_err *err)
{
	pk_cleanup(transfer_finish) struct transfer transfer = {0};
	struct lines lines = {.line = line, .ctx = ctx};
	pk_buf_init(&lines.buf, MAX_LINE_BYTES);
	int r = transfer_init(&transfer, path, err);
	if (r == 0) {
		curl_easy_setopt(transfer.curl, CURLOPT_WRITEFUNCTION, on_stream);
		curl_easy_setopt(transfer.curl, CURLOPT_WRITEDATA, &lines);
		// picketd sends an empty line each ten seconds: silence means that it is gone.
		curl_easy_setopt(transfer.curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(transfer.curl, CURLOPT_LOW_SPEED_TIME, 60L);
		CURLcode code = curl_easy_perform(transfer.curl);
		if (code == CURLE_OK)
			r = pk_fail(err, -EPIPE, "picketd has ended");
		else if (!lines.ended)
			r = explain(&transfer, code, err);
	}
	pk_buf_finish(&lines.buf);
	return r;
}
