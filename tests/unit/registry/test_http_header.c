// SPDX-License-Identifier: Apache-2.0
// The headers of answers: ranges, waiting times, links, bounds.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "registry/http_header.h"

static struct pk_http_response read_lines(const char *const *lines)
{
	struct pk_http_response r;
	pk_http_response_init(&r, 100);
	for (; *lines; lines++)
		assert_int_equal(pk_http_response_line(&r, *lines, strlen(*lines)), 0);
	pk_http_response_settle(&r, 1000);
	return r;
}

static void test_headers(void **state)
{
	static const char *const lines[] = {"HTTP/1.1 100 Continue\r\n", "ETag: \"old\"\r\n",
		"HTTP/1.1 206 Partial Content\r\n",
		"content-type: Application/JSON ; charset=x\r\n", "ETag:   \"sha256:ab\"  \r\n",
		"Content-Length: 5\r\n", "Content-Range: bytes 5-9/10\r\n",
		"Content-Encoding: identity\r\n", "Link: </v2/x?last=a>; rel=\"next\"\r\n",
		"WWW-Authenticate: Basic realm=\"a\"\r\n",
		"www-authenticate: Bearer realm=\"b\"\r\n", "nonsense\r\n", ": empty\r\n",
		"Retry-After: 7\r\n", "\r\n", NULL};
	struct pk_http_response r = read_lines(lines);
	assert_string_equal(r.content_type, "application/json");
	assert_string_equal(r.etag, "\"sha256:ab\"");
	assert_int_equal(r.content_length, 5);
	assert_true(r.has_content_range);
	assert_int_equal(r.range_from, 5);
	assert_int_equal(r.range_total, 10);
	assert_string_equal(r.content_encoding, "");
	assert_string_equal(r.link, "/v2/x?last=a");
	assert_string_equal(r.challenges.data, "Basic realm=\"a\"\nBearer realm=\"b\"");
	assert_int_equal(r.retry_after_ns, 7 * PK_NS_PER_S);
	pk_http_response_finish(&r);
}

static void test_retry_after(void **state)
{
	static const struct {
		const char *retry, *date;
		int64_t s;
	} rows[] = {
		{"Retry-After: 0", "", 1},
		{"Retry-After: 120", "", 120},
		{"Retry-After: 1000000000", "", 86400},
		{"Retry-After: 99999999999999999999999", "", 86400},
		{"Retry-After: -5", "", 0},
		{"Retry-After: soon", "", 0},
		{"Retry-After: 1.5", "", 0},
		{"Retry-After: Thu, 01 Jan 1970 00:17:40 GMT", "", 60}, // 1060, at 1000
		{"Retry-After: Thu, 01 Jan 1970 00:10:00 GMT", "", 1},
		{"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", "", 86400},
		{"Retry-After: Mon, 30 Nov 2026 19:25:00 GMT",
			"Date: Mon, 30 Nov 2026 19:24:30 GMT", 30},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		const char *const lines[] = {rows[i].retry, rows[i].date, NULL};
		struct pk_http_response r = read_lines(lines);
		if (r.retry_after_ns != rows[i].s * PK_NS_PER_S)
			fail_msg("%s: %lld", rows[i].retry, (long long)r.retry_after_ns);
		pk_http_response_finish(&r);
	}
}

static void test_content_range(void **state)
{
	static const char *const wrong[] = {"", "bytes", "bytes 5", "bytes 5-", "bytes 5-4/10",
		"bytes 5-9/9", "bytes -5-9/10", "bytes 5-9/", "bytes 5-9/x", "lines 5-9/10",
		"bytes 5-9/99999999999999999999", "bytes */10", "bytes 5 -9/10"};
	int64_t from, to, total;
	for (size_t i = 0; i < PK_ARRAY_LEN(wrong); i++)
		if (pk_http_parse_content_range(wrong[i], &from, &to, &total))
			fail_msg("`%s` is taken", wrong[i]);
	assert_true(pk_http_parse_content_range("Bytes 0-0/1", &from, &to, &total));
	assert_true(pk_http_parse_content_range("bytes 5-9/*", &from, &to, &total));
	assert_int_equal(total, -1);
}

static void test_bounds(void **state)
{
	struct pk_http_response r;
	char line[4000];
	memset(line, 'x', sizeof(line));
	memcpy(line, "ETag: ", 6);
	pk_http_response_init(&r, 100);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pk_http_response_line(&r, line, sizeof(line)), 0);
	assert_string_equal(r.etag, ""); // too long: none
	assert_int_equal(pk_http_response_line(&r, line, sizeof(line)), -EPROTO);
	// A new status line does not give new room.
	assert_int_equal(pk_http_response_line(&r, "HTTP/1.1 200 OK", 15), -EPROTO);
	pk_http_response_finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_content_range),
		cmocka_unit_test(test_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
