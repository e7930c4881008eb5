// SPDX-License-Identifier: Apache-2.0
// Range requests against servers that ignore, misread and cut them.
#include "registry/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"

#define CHUNK_BYTES        (256 * 1024)
#define N_RETRIES          3
#define WRITE_BEHIND_BYTES (INT64_C(4) << 20)
#define MAX_ATTEMPTS       64 // also when each brings a few bytes
#define RETRY_MIN_NS       (PK_NS_PER_S / 2)
#define RETRY_CAP_NS       (30 * PK_NS_PER_S)
#define RETRY_WAIT_NS      (20 * PK_NS_PER_S)
#define GROWTH_MAX_STEPS   10

struct sink {
	struct pk_fetch *fetch;
	uint8_t *chunk;
	size_t n_chunk;
};

unsigned pk_fetch_n_retries(const struct pk_registry_options *options)
{
	return options->n_retries ? options->n_retries : N_RETRIES;
}

int64_t pk_fetch_pause_ns(
	const struct pk_registry_options *options, unsigned n, int64_t retry_after_ns, double u)
{
	int64_t base = options->retry_min_ns > 0 ? options->retry_min_ns : RETRY_MIN_NS;
	unsigned steps = PK_MIN(n > 0 ? n - 1 : 0, (unsigned)GROWTH_MAX_STEPS);
	double pause = (double)base * (double)(1u << steps);
	pause = PK_MIN(pause, (double)RETRY_CAP_NS) * (0.5 + 0.5 * u);
	// The server's wish is a lower bound: spread after it.
	return retry_after_ns > 0 ? retry_after_ns + (int64_t)(pause / 2) : (int64_t)pause;
}

static double random_unit(void)
{
	uint32_t v = 0;
	if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		v = (uint32_t)pk_boottime_ns();
	return (double)v / 4294967296.0;
}

int pk_fetch_pause(struct pk_http *http, const struct pk_registry_options *options, unsigned n,
	int64_t retry_after_ns, struct pk_err *err)
{
	int64_t max = options->retry_wait_max_ns > 0 ? options->retry_wait_max_ns : RETRY_WAIT_NS;
	if (retry_after_ns > max)
		return -EAGAIN; // the text of what went wrong stays
	if (options->report)
		options->report->n_retries++;
	int64_t ns = pk_fetch_pause_ns(options, n, retry_after_ns, random_unit());
	return pk_http_sleep(http, ns, err);
}

// The disk begins while the network goes on, so that the store's syncs find little left to do. Only
// speed hangs on it: where it is not known, nothing is lost.
static void start_writing(const struct pk_fetch *fetch)
{
	if (fetch->have % WRITE_BEHIND_BYTES < CHUNK_BYTES)
		(void)sync_file_range(fetch->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static int flush(struct sink *sink, struct pk_err *err)
{
	struct pk_fetch *fetch = sink->fetch;
	if (sink->n_chunk == 0)
		return 0;
	int rc = pk_fs_write_all(fetch->fd, sink->chunk, sink->n_chunk);
	if (rc < 0)
		return pk_fail(err, rc, "writing: %s", strerror(-rc));
	fetch->have += (int64_t)sink->n_chunk;
	sink->n_chunk = 0;
	start_writing(fetch);
	return fetch->watch ? fetch->watch->landed(fetch->watch->ctx, err) : 0;
}

static int restart(struct pk_fetch *fetch, struct pk_err *err)
{
	if (fetch->have == 0)
		return 0;
	if (ftruncate(fetch->fd, 0) < 0 || lseek(fetch->fd, 0, SEEK_SET) < 0)
		return pk_fail_errno(err, "starting afresh");
	fetch->have = 0;
	return fetch->watch ? fetch->watch->landed(fetch->watch->ctx, err) : 0;
}

static int check_length(const struct pk_fetch *fetch, const struct pk_http_response *response,
	int64_t expected, struct pk_err *err)
{
	if (response->content_length < 0 || response->content_length == expected)
		return 0;
	return pk_fail(err, -EBADMSG,
		"%" PRId64 " bytes are sent instead of the %" PRId64 " that were announced",
		response->content_length, expected);
}

// Looks at the status before the first byte is written: bytes of a whole answer must not land
// behind those that are there.
static int begin(void *ctx, const struct pk_http_response *response, struct pk_err *err)
{
	struct sink *sink = ctx;
	struct pk_fetch *fetch = sink->fetch;
	if (response->status == 200) {
		int rc = restart(fetch, err); // the range was ignored
		return rc < 0 ? rc : check_length(fetch, response, fetch->size, err);
	}
	if (response->status != 206 || fetch->have == 0)
		return pk_fail(err, -EPROTO, "an answer %d to a request for all", response->status);
	if (strncmp(response->content_type, "multipart/", 10) == 0)
		return pk_fail(
			err, -EPROTO, "several ranges instead of the one that was asked for");
	if (!response->has_content_range || response->range_from != fetch->have ||
		(response->range_total != fetch->size && response->range_total != -1))
		return pk_fail(err, -EPROTO,
			"another range than the one from %" PRId64 " of %" PRId64
			" that was asked for",
			fetch->have, fetch->size);
	return check_length(fetch, response, fetch->size - fetch->have, err);
}

static int take(void *ctx, const void *bytes, size_t n, struct pk_err *err)
{
	struct sink *sink = ctx;
	const struct pk_fetch *fetch = sink->fetch;
	int64_t room = fetch->size - fetch->have - (int64_t)sink->n_chunk;
	if ((int64_t)n > room)
		return pk_fail(err, -EBADMSG, "more bytes than the %" PRId64 " that were announced",
			fetch->size);
	while (n > 0) {
		size_t part = PK_MIN(n, CHUNK_BYTES - sink->n_chunk);
		memcpy(sink->chunk + sink->n_chunk, bytes, part);
		sink->n_chunk += part;
		bytes = (const uint8_t *)bytes + part;
		n -= part;
		int rc = sink->n_chunk == CHUNK_BYTES ? flush(sink, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

// What the answer as a whole means. -EAGAIN: worth another attempt.
static int judge(
	struct pk_fetch *fetch, const struct pk_http_response *response, struct pk_err *err)
{
	if (response->status == 416) { // it does not have what we have
		int rc = restart(fetch, err);
		return rc < 0 ? rc : pk_fail(err, -EAGAIN, "the server does not know this range");
	}
	// A signed address that has expired: the registry gives a new one.
	if (response->n_hops > 0 && (response->status == 401 || response->status == 403))
		return pk_fail(err, -EAGAIN, "%s answers %d to what the registry pointed at",
			response->host, response->status);
	int rc = pk_http_status_error(response, "blob", err);
	if (rc < 0)
		return rc;
	if (response->status != 200 && response->status != 206)
		return pk_fail(err, -EPROTO, "blob: the server answers %d", response->status);
	if (fetch->have < fetch->size)
		return pk_fail(err, -ECONNRESET, "the transfer ended %" PRId64 " bytes early",
			fetch->size - fetch->have);
	return 0;
}

static int attempt(
	struct pk_fetch *fetch, uint8_t *chunk, int64_t *retry_after_ns, struct pk_err *err)
{
	struct sink sink = {.fetch = fetch, .chunk = chunk};
	const struct pk_http_sink taker = {.begin = begin, .data = take, .ctx = &sink};
	struct pk_http_response response;
	struct pk_http_request request = {.method = "GET",
		.url = fetch->url,
		.host = fetch->host,
		.range_from = fetch->have,
		.max_bytes = PK_HTTP_ERROR_BODY_MAX,
		.sink = &taker};
	int rc = fetch->perform(fetch->ctx, &request, &response, err);
	// What came is kept whatever ended it, unless it is known to be wrong.
	if (rc != -EBADMSG && rc != -EPROTO) {
		int flushed = flush(&sink, rc < 0 ? NULL : err);
		rc = flushed < 0 ? flushed : rc;
	}
	if (rc == 0)
		rc = judge(fetch, &response, err);
	*retry_after_ns = response.retry_after_ns;
	if (rc == 0 && fetch->options->report)
		snprintf(fetch->options->report->source, sizeof(fetch->options->report->source),
			"%s", response.host);
	pk_http_response_finish(&response);
	return rc;
}

static bool is_worth_another(int rc)
{
	return rc != -EDQUOT && rc != -EBUSY && pk_registry_error_is_transient(rc);
}

int pk_fetch_blob(struct pk_fetch *fetch, struct pk_err *err)
{
	pk_auto_free uint8_t *chunk = malloc(CHUNK_BYTES);
	unsigned n_failed = 0; // in a row, without a new byte
	if (!chunk)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (unsigned n = 1;; n++) {
		int64_t before = fetch->have, retry_after_ns = 0;
		int rc = attempt(fetch, chunk, &retry_after_ns, err);
		if (rc == 0 || !is_worth_another(rc))
			return rc;
		n_failed = fetch->have > before ? 0 : n_failed + 1;
		if (fetch->options->report)
			fetch->options->report->retry_after_ns = retry_after_ns;
		if (n_failed > fetch->n_retries || n >= MAX_ATTEMPTS)
			return rc;
		int slept = pk_fetch_pause(
			fetch->http, fetch->options, n_failed + 1, retry_after_ns, err);
		if (slept < 0)
			return slept;
	}
}
