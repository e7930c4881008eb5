// SPDX-License-Identifier: Apache-2.0
// The text of GET /metrics: escaping, units, what is not there; masks of support bundles.
#include <string.h>

#include "base/json.h"
#include "config/address.h"
#include "config/secrets.h"
#include "daemon/metrics.h"
#include "tests/unit/daemon/support.h"

static json_t *status(void)
{
	return json_pack("{s:{s:b, s:i}, s:[{s:s, s:s, s:f, s:i, s:s}], s:{s:n, s:[{s:s, s:f}]}, "
			 "s:[]}",
		"worker", "up", 1, "restarts", 3, "cameras", "name", "a\"b\\c", "model", "m",
		"age_p99_ms", 250.0, "captured", 7, "state", "running", "health", "memory_bytes",
		"zones", "name", "cpu", "celsius", 51.5, "models");
}

static void assert_has(const struct pk_buf *text, const char *line)
{
	if (!strstr(pk_buf_cstr((struct pk_buf *)(uintptr_t)text), line))
		fail_msg("no `%s` in:\n%s", line, text->data);
}

static void test_text(void **ctx)
{
	(void)ctx;
	pk_auto_json json = status();
	pk_auto_json events = json_pack("[{s:s, s:i}]", "name", "rung", "count", 5);
	pk_auto_buf struct pk_buf text, open;
	pk_buf_init(&text, 1 << 20);
	pk_buf_init(&open, 1 << 20);
	pk_metrics_write(json, events, false, &text);
	pk_metrics_write(json, events, true, &open);
	assert_int_equal(pk_buf_error(&text), 0);
	assert_has(&text, "\npicket_worker_up 1\n");
	assert_has(&text, "# TYPE picket_worker_restarts_total counter\n");
	assert_has(&open, "# TYPE picket_worker_restarts counter\n");
	assert_has(&open, "\npicket_worker_restarts_total 3\n");
	assert_has(&text, "{camera=\"a\\\"b\\\\c\",model=\"m\"} 0.25\n"); // seconds
	assert_has(&text, "state=\"running\"} 1\n");
	assert_has(&text, "state=\"stopped\"} 0\n");
	assert_has(&text, "picket_temperature_celsius{zone=\"cpu\"} 51.5\n");
	assert_has(&text, "picket_events_total{event=\"rung\"} 5\n");
	assert_null(strstr(text.data, "picket_memory_bytes")); // null: not known here
	assert_null(strstr(text.data, "picket_model_rung"));
	assert_string_equal(open.data + open.len - 6, "# EOF\n");
	assert_true(
		pk_metrics_wants_open("text/plain, application/openmetrics-text;version=1.0.0"));
	assert_false(pk_metrics_wants_open("*/*"));
	assert_false(pk_metrics_wants_open(NULL));
}

static void test_masks(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"uri: rtsp://me:pw@host/x", "uri: rtsp://***@host/x"},
		{"uri: rtsp://host/a@b", "uri: rtsp://host/a@b"},
		{"password: hunter2\nnext: 1", "password: ***\nnext: 1"},
		{"password_file: /etc/x", "password_file: /etc/x"},
		{"{\"token\": \"abc\", \"b\": 1}", "{\"token\": ***, \"b\": 1}"},
		{"x Secret=abc", "x Secret=***"},
		{"rtspsrc user-pw=abc location=rtsp://u@h", "rtspsrc user-pw=***"},
		{"my-token: a", "my-token: a"},
		{"://@", "://@"},
		{"", ""},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		pk_auto_buf struct pk_buf out;
		pk_buf_init(&out, 4096);
		pk_secrets_mask(&out, rows[i].in);
		assert_string_equal(pk_buf_cstr(&out), rows[i].out);
	}
}

static void test_addresses(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{"127.0.0.1:9469", true},
		{"127.1.2.3:1", true},
		{"[::1]:65535", true},
		{"0.0.0.0:80", false},
		{"10.0.0.1:80", false},
		{"[::]:80", false},
		{"::1:80", false},
		{"127.0.0.1", false},
		{"127.0.0.1:", false},
		{"127.0.0.1:0", false},
		{"127.0.0.1:65536", false},
		{"127.0.0.1:+1", false},
		{"localhost:80", false},
		{"[127.0.0.1]:80", false},
		{"[", false},
		{":", false},
		{"", false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct sockaddr_storage address;
		socklen_t n = 0;
		struct pk_err err = {0};
		int r = pk_address_loopback(rows[i].text, &address, &n, &err);
		if ((r == 0) != rows[i].good)
			fail_msg("%s: %d %s", rows[i].text, r, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_addresses),
	};
	return cmocka_run_group_tests_name("daemon/metrics", tests, NULL, NULL);
}
