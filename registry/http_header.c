// SPDX-License-Identifier: Apache-2.0
// Header lines of hostile servers.
#include "registry/http_header.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/clock.h"

#define RETRY_MIN_S 1
#define RETRY_MAX_S (24 * 3600)

void pk_http_response_init(struct pk_http_response *response, int64_t max_body)
{
	*response = (struct pk_http_response){.content_length = -1, .range_total = -1};
	pk_buf_init(&response->challenges, PK_HTTP_HEADERS_MAX);
	pk_buf_init(&response->body, (size_t)max_body);
}

void pk_http_response_finish(struct pk_http_response *response)
{
	pk_buf_finish(&response->challenges);
	pk_buf_finish(&response->body);
}

// A decimal number and nothing else; -1 when it is none or too big.
static int64_t parse_number(const char *text)
{
	int64_t v = 0;
	size_t n = strspn(text, "0123456789");
	if (n == 0 || text[n] != '\0')
		return -1;
	for (size_t i = 0; i < n; i++)
		if (pk_mul_overflow(v, 10, &v) || pk_add_overflow(v, text[i] - '0', &v))
			return -1;
	return v;
}

// The number before `end`, which is passed over; -1: none.
static int64_t take_number(const char **text, char end)
{
	char digits[20];
	const char *stop = strchr(*text, end);
	size_t n = stop ? (size_t)(stop - *text) : sizeof(digits);
	if (n >= sizeof(digits))
		return -1;
	memcpy(digits, *text, n);
	digits[n] = '\0';
	*text = stop + 1;
	return parse_number(digits);
}

bool pk_http_parse_content_range(const char *text, int64_t *from, int64_t *to, int64_t *total)
{
	static const char unit[] = "bytes ";
	if (strncasecmp(text, unit, strlen(unit)) != 0)
		return false;
	text += strlen(unit);
	*from = take_number(&text, '-');
	*to = *from < 0 ? -1 : take_number(&text, '/');
	if (*from < 0 || *to < *from)
		return false;
	*total = strcmp(text, "*") == 0 ? -1 : parse_number(text);
	return strcmp(text, "*") == 0 || *total > *to;
}

// What a header's value is kept in: all or nothing.
static void keep(char *out, size_t size, const char *value)
{
	size_t n = strlen(value);
	out[0] = '\0';
	if (n < size)
		memcpy(out, value, n + 1);
}

static void keep_lower(char *out, size_t size, const char *value, const char *end)
{
	size_t n = strcspn(value, end);
	while (n > 0 && isspace((unsigned char)value[n - 1]))
		n--;
	out[0] = '\0';
	if (n >= size)
		return;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)tolower((unsigned char)value[i]);
	out[n] = '\0';
}

static void on_content_type(struct pk_http_response *r, const char *value)
{
	keep_lower(r->content_type, sizeof(r->content_type), value, ";");
}

static void on_content_encoding(struct pk_http_response *r, const char *value)
{
	keep_lower(r->content_encoding, sizeof(r->content_encoding), value, "");
	if (strcmp(r->content_encoding, "identity") == 0)
		r->content_encoding[0] = '\0';
	else if (*value && !r->content_encoding[0])
		keep(r->content_encoding, sizeof(r->content_encoding), "unknown");
}

static void on_etag(struct pk_http_response *r, const char *value)
{
	keep(r->etag, sizeof(r->etag), value);
}

static void on_location(struct pk_http_response *r, const char *value)
{
	keep(r->location, sizeof(r->location), value);
}

// Link: </v2/x/referrers/sha256:…?n=1&last=2>; rel="next"
static void on_link(struct pk_http_response *r, const char *value)
{
	const char *end = value[0] == '<' ? strchr(value, '>') : NULL;
	if (!end || (!strstr(end, "rel=\"next\"") && !strstr(end, "rel=next")))
		return;
	size_t n = (size_t)(end - value - 1);
	r->link[0] = '\0';
	if (n >= sizeof(r->link))
		return;
	memcpy(r->link, value + 1, n);
	r->link[n] = '\0';
}

static void on_content_length(struct pk_http_response *r, const char *value)
{
	r->content_length = parse_number(value);
}

static void on_content_range(struct pk_http_response *r, const char *value)
{
	int64_t to;
	r->has_content_range =
		pk_http_parse_content_range(value, &r->range_from, &to, &r->range_total);
}

static void on_retry_after(struct pk_http_response *r, const char *value)
{
	size_t n_digits = strspn(value, "0123456789");
	if (n_digits > 0 && value[n_digits] == '\0') {
		int64_t s = n_digits > 9 ? RETRY_MAX_S : parse_number(value);
		s = PK_MAX(RETRY_MIN_S, PK_MIN(RETRY_MAX_S, s));
		r->retry_after_ns = s * PK_NS_PER_S;
		return;
	}
	time_t t = curl_getdate(value, NULL);
	r->retry_date_s = t > 0 ? (int64_t)t : 0;
}

static void on_date(struct pk_http_response *r, const char *value)
{
	time_t t = curl_getdate(value, NULL);
	r->date_s = t > 0 ? (int64_t)t : 0;
}

static void on_challenge(struct pk_http_response *r, const char *value)
{
	if (r->challenges.len)
		pk_buf_str(&r->challenges, "\n");
	pk_buf_str(&r->challenges, value);
}

static void on_filters(struct pk_http_response *r, const char *value)
{
	r->lists_filtered = strcasestr(value, "artifactType") != NULL;
}

static const struct {
	const char *name;
	void (*take)(struct pk_http_response *r, const char *value);
} headers[] = {
	{"Content-Type", on_content_type},
	{"Content-Encoding", on_content_encoding},
	{"Content-Length", on_content_length},
	{"Content-Range", on_content_range},
	{"ETag", on_etag},
	{"Location", on_location},
	{"Link", on_link},
	{"Retry-After", on_retry_after},
	{"Date", on_date},
	{"WWW-Authenticate", on_challenge},
	{"OCI-Filters-Applied", on_filters},
};

// An answer may be announced by others (100, 103): only the last one's headers count.
static void start_afresh(struct pk_http_response *r)
{
	size_t n = r->n_header_bytes;
	size_t max_body = r->body.max;
	unsigned n_hops = r->n_hops;
	pk_http_response_finish(r);
	pk_http_response_init(r, (int64_t)max_body);
	r->n_header_bytes = n;
	r->n_hops = n_hops;
}

static void take_header(struct pk_http_response *r, const char *line, size_t n)
{
	char value[4096];
	const char *colon = memchr(line, ':', n);
	size_t n_name = colon ? (size_t)(colon - line) : 0;
	const char *from = colon ? colon + 1 : line;
	const char *end = line + n;
	while (from < end && isspace((unsigned char)*from))
		from++;
	while (end > from && isspace((unsigned char)end[-1]))
		end--;
	if (n_name == 0 || (size_t)(end - from) >= sizeof(value) ||
		memchr(from, '\0', (size_t)(end - from)))
		return;
	memcpy(value, from, (size_t)(end - from));
	value[end - from] = '\0';
	for (size_t i = 0; i < PK_ARRAY_LEN(headers); i++)
		if (strlen(headers[i].name) == n_name &&
			strncasecmp(headers[i].name, line, n_name) == 0)
			headers[i].take(r, value);
}

int pk_http_response_line(struct pk_http_response *response, const char *line, size_t n)
{
	response->n_header_bytes += n;
	if (response->n_header_bytes > PK_HTTP_HEADERS_MAX)
		return -EPROTO;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
		start_afresh(response);
	else
		take_header(response, line, n);
	return 0;
}

void pk_http_response_settle(struct pk_http_response *response, int64_t now_s)
{
	if (response->retry_after_ns != 0 || response->retry_date_s == 0)
		return;
	// The server's own clock first: ours may never have been set.
	int64_t from = response->date_s ? response->date_s : now_s;
	int64_t s = PK_MAX(RETRY_MIN_S, PK_MIN(RETRY_MAX_S, response->retry_date_s - from));
	response->retry_after_ns = s * PK_NS_PER_S;
}
