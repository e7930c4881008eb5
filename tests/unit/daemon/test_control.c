// SPDX-License-Identifier: Apache-2.0
// The control API as clients meet it, hostile ones included.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/daemon/node.h"

static struct node node;

static int open_node(void **ctx)
{
	(void)ctx;
	node_init(&node, false);
	node_start(&node);
	return node_wait_rung(&node, "engine", 8000) ? 0 : -1;
}

static int close_node(void **ctx)
{
	(void)ctx;
	int code = node_stop(&node);
	node_finish(&node);
	return code;
}

static void test_status_has_what_the_contract_names(void **ctx)
{
	(void)ctx;
	static const char *const members[] = {"node", "version", "uptime_s", "config", "worker",
		"rss_bytes", "models", "cameras", "alarms", "status"};
	static const char *const model_members[] = {"name", "artifact", "digest", "rung", "cause",
		"since", "runtime", "build", "engine", "next_retry_s"};
	static const char *const camera_members[] = {
		"name", "model", "state", "rung", "cause", "fps", "age_p99_ms", "dropped"};
	int http = 0;
	json_t *status = node_get(&node, "/v1/status", &http);
	assert_int_equal(http, 200);
	for (size_t i = 0; i < PK_ARRAY_LEN(members); i++)
		assert_non_null(json_object_get(status, members[i]));
	json_t *model = json_array_get(json_object_get(status, "models"), 0);
	for (size_t i = 0; i < PK_ARRAY_LEN(model_members); i++)
		assert_non_null(json_object_get(model, model_members[i]));
	json_t *camera = json_array_get(json_object_get(status, "cameras"), 0);
	for (size_t i = 0; i < PK_ARRAY_LEN(camera_members); i++)
		assert_non_null(json_object_get(camera, camera_members[i]));
	assert_string_equal(json_string_value(json_object_get(status, "node")), "desk");
	assert_string_equal(json_string_value(json_object_get(model, "runtime")), "cpu");
	json_decref(status);
}

static void test_one_of_each(void **ctx)
{
	(void)ctx;
	int http = 0;
	json_t *camera = node_get(&node, "/v1/cameras/belt", &http);
	assert_int_equal(http, 200);
	assert_string_equal(json_string_value(json_object_get(camera, "rung")), "engine");
	json_decref(camera);
	json_t *model = node_get(&node, "/v1/models/parts", &http);
	assert_int_equal(http, 200);
	json_decref(model);
}

static void test_errors(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *method, *path;
		int http;
	} rows[] = {
		{"GET", "/", 404},
		{"GET", "/v1", 404},
		{"GET", "/v1/cameras/none", 404},
		{"GET", "/v1/models/none", 404},
		{"POST", "/v1/models/none/rebuild", 404},
		{"POST", "/v1/status", 405},
		{"GET", "/v1/reload", 405},
		{"PUT", "/v1/status", 405},
		{"GET", "/v1/events?after=x", 400},
		{"GET", "/v1/events?after=-1", 400},
		{"GET", "/v1/events?after=99999999999999999999", 400},
		{"GET", "/v1/cameras/%2e%2e%2fetc", 404},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char request[256];
		int http = 0;
		snprintf(request, sizeof(request),
			"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
			"0\r\n\r\n",
			rows[i].method, rows[i].path);
		pk_auto_free char *body = node_http(&node, request, &http);
		if (http != rows[i].http)
			print_error("%s %s: %d\n", rows[i].method, rows[i].path, http);
		assert_int_equal(http, rows[i].http);
		assert_non_null(strstr(body, "\"error\":"));
	}
}

static void test_hostile_requests(void **ctx)
{
	(void)ctx;
	int http = 0;
	free(node_http(&node,
		"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n"
		"Connection: close\r\n\r\n",
		&http));
	assert_int_equal(http, 413);
	free(node_http(&node, "rubbish\r\n\r\n", &http));
	// One header larger than a connection's memory.
	char *big = malloc(200001);
	memset(big, 'a', 200000);
	memcpy(big, "GET /v1/status HTTP/1.1\r\nX: ", 28);
	big[200000] = '\0';
	free(node_http(&node, big, &http));
	free(big);
	// A body without end, in chunks.
	char *chunked = malloc(400000);
	size_t n = (size_t)snprintf(chunked, 400000,
		"POST /v1/reload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 80; i++) {
		n += (size_t)snprintf(chunked + n, 400000 - n, "1000\r\n");
		memset(chunked + n, 'b', 4096);
		n += 4096;
		n += (size_t)snprintf(chunked + n, 400000 - n, "\r\n");
	}
	free(node_http(&node, chunked, &http));
	free(chunked);
	assert_int_not_equal(http, 200);
	json_decref(node_get(&node, "/v1/status", &http));
	assert_int_equal(http, 200); // it still answers
}

static int open_connection(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/picket/control.sock",
		node.root);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval limit = {.tv_sec = 5};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static bool read_until(int fd, const char *want, char *out, size_t size)
{
	size_t n = strlen(out);
	while (!strstr(out, want)) {
		ssize_t got = read(fd, out + n, size - 1 - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		out[n] = '\0';
	}
	return true;
}

static void test_events_can_be_followed_and_resumed(void **ctx)
{
	(void)ctx;
	static char text[1 << 20];
	json_t *list = node_get(&node, "/v1/events", NULL);
	int64_t last = json_integer_value(json_object_get(list, "last_id"));
	assert_int_equal(json_array_size(json_object_get(list, "events")), last);
	json_decref(list);
	int fd = open_connection();
	static const char request[] = "GET /v1/events?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n";
	assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
	text[0] = '\0';
	assert_true(read_until(fd, "\r\n\r\n", text, sizeof(text)));
	usleep(50000); // nothing happens: it is suspended
	json_decref(node_post(&node, "/v1/reload", NULL));
	assert_true(read_until(fd, "config-applied", text, sizeof(text)));
	close(fd);
	// From an id on: the same event again, and nothing before it.
	char path[64];
	snprintf(path, sizeof(path), "/v1/events?after=%lld", (long long)last);
	list = node_get(&node, path, NULL);
	const json_t *first = json_array_get(json_object_get(list, "events"), 0);
	assert_int_equal(json_integer_value(json_object_get(first, "id")), last + 1);
	json_decref(list);
}

static void test_followers_are_bounded_and_do_not_hold_it_up(void **ctx)
{
	(void)ctx;
	int fds[40];
	unsigned n_refused = 0;
	static char text[1 << 16];
	static const char request[] = "GET /v1/events?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n";
	for (size_t i = 0; i < PK_ARRAY_LEN(fds); i++) {
		fds[i] = open_connection();
		assert_int_equal(write(fds[i], request, sizeof(request) - 1), sizeof(request) - 1);
		text[0] = '\0';
		assert_true(read_until(fds[i], "\r\n\r\n", text, sizeof(text)));
		n_refused += strstr(text, " 503 ") != NULL;
	}
	// The one that the test before has closed may still be counted: it is noticed at its next
	// beat.
	assert_true(n_refused == 8 || n_refused == 9);
	// Nobody of them reads: events and answers go on.
	for (int i = 0; i < 200; i++)
		json_decref(node_post(&node, "/v1/reload", NULL));
	for (size_t i = 0; i < PK_ARRAY_LEN(fds); i++)
		close(fds[i]);
	int http = 0;
	json_decref(node_get(&node, "/v1/status", &http));
	assert_int_equal(http, 200);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void test_50_clients_are_answered_quickly(void **ctx)
{
	(void)ctx;
	int fds[50];
	int64_t times[1000];
	static char text[1 << 16];
	static const char request[] = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";
	for (size_t i = 0; i < PK_ARRAY_LEN(fds); i++)
		fds[i] = open_connection();
	for (size_t i = 0; i < PK_ARRAY_LEN(times); i++) {
		int fd = fds[i % PK_ARRAY_LEN(fds)];
		int64_t start_ns = pk_now_ns();
		assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
		text[0] = '\0';
		assert_true(read_until(fd, "}]}", text, sizeof(text)));
		times[i] = pk_now_ns() - start_ns;
	}
	qsort(times, PK_ARRAY_LEN(times), sizeof(times[0]), by_value);
	print_message("control: p50 %lld us, p99 %lld us\n", (long long)times[500] / 1000,
		(long long)times[990] / 1000);
	// The machine may be busy; the product's limit (5 ms) is the benchmark's to hold.
	assert_true(times[990] < 200 * PK_NS_PER_MS);
	for (size_t i = 0; i < PK_ARRAY_LEN(fds); i++)
		close(fds[i]);
}

static void test_socket_is_for_owner_and_group(void **ctx)
{
	(void)ctx;
	char path[256];
	struct stat st;
	snprintf(path, sizeof(path), "%s/run/picket/control.sock", node.root);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_has_what_the_contract_names),
		cmocka_unit_test(test_one_of_each),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_hostile_requests),
		cmocka_unit_test(test_events_can_be_followed_and_resumed),
		cmocka_unit_test(test_followers_are_bounded_and_do_not_hold_it_up),
		cmocka_unit_test(test_50_clients_are_answered_quickly),
		cmocka_unit_test(test_socket_is_for_owner_and_group),
	};
	if (argc < 3)
		return 1;
	node_programs(argv[1], argv[2]);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, open_node, close_node);
}
