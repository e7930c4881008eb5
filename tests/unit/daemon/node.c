// SPDX-License-Identifier: Apache-2.0
// Starting, asking and stopping a picketd under test.
#include "tests/unit/daemon/node.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "registry/bundle.h"
#include "tests/unit/daemon/double_mode.h"

static char *picketd_program, *doubles_folder;

const char node_usual_config[] = "node: {name: desk}\n"
				 "telemetry: {interval: 1s}\n"
				 "runtime: {chain: [cpu]}\n"
				 "build: {retry_min: 1s, retry_max: 2s, memory: 0}\n"
				 "models:\n"
				 "  parts: {artifact: \"oci:%s/registry:stable\"}\n"
				 "cameras:\n"
				 "  belt: {source: {kind: test}, model: parts}\n";

static const char card[] = "card: 1\n"
			   "name: parts\n"
			   "task: detect\n"
			   "inputs:\n"
			   "  - name: images\n"
			   "    shape: [1, 3, 64, 64]\n"
			   "    layout: nchw\n"
			   "    dtype: f32\n"
			   "    color: rgb\n"
			   "    resize: {mode: letterbox, anchor: center, pad: [114, 114, 114]}\n"
			   "    normalize: {scale: 0.0039, mean: [0, 0, 0], std: [1, 1, 1]}\n"
			   "outputs:\n"
			   "  - {name: output0, role: pred}\n"
			   "decode:\n"
			   "  family: yolo-v8\n"
			   "  classes: 2\n"
			   "  pred_axis: last\n"
			   "  box: {format: cxcywh, units: pixel, order: xy}\n"
			   "  score: {activation: none}\n"
			   "postprocess: {conf: 0.25, nms: {type: hard, iou: 0.45}, max_det: 300}\n"
			   "labels: [gear, bolt]\n";

void node_programs(const char *picketd, const char *doubles)
{
	picketd_program = realpath(picketd, NULL);
	char *worker = realpath(doubles, NULL);
	assert_non_null(picketd_program);
	assert_non_null(worker);
	*strrchr(worker, '/') = '\0';
	doubles_folder = worker;
}

void node_bundle(struct node *node, const char *tag, const char *onnx)
{
	struct pk_err err = {0};
	struct pk_digest digest;
	char onnx_path[256], card_path[256], registry[256];
	write_text(node->root, "model.onnx", onnx);
	write_text(node->root, "card.yaml", card);
	snprintf(onnx_path, sizeof(onnx_path), "%s/model.onnx", node->root);
	snprintf(card_path, sizeof(card_path), "%s/card.yaml", node->root);
	snprintf(registry, sizeof(registry), "%s/registry", node->root);
	const struct pk_bundle_options options = {
		.onnx_path = onnx_path, .card_path = card_path, .folder = registry, .tag = tag};
	int r = pk_bundle_create(&options, &digest, &err);
	if (r < 0)
		print_error("%s\n", err.text);
	assert_int_equal(r, 0);
}

void node_config(struct node *node, const char *config)
{
	char text[4096];
	size_t n = 0;
	for (; *config && n < sizeof(text) - 300; config++) {
		if (config[0] == '%' && config[1] == 's') {
			n += (size_t)snprintf(text + n, 300, "%s", node->root);
			config++;
		} else {
			text[n++] = *config;
		}
	}
	text[n] = '\0';
	write_text(node->root, "etc/picket/picket.yaml", text);
}

static void listen_notify(struct node *node, bool watchdog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", node->root);
	node->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(node->notify_fd >= 0);
	assert_int_equal(bind(node->notify_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
	if (watchdog)
		assert_int_equal(setenv("WATCHDOG_USEC", "400000", 1), 0);
	else
		unsetenv("WATCHDOG_USEC");
}

void node_init(struct node *node, bool watchdog)
{
	char path[256];
	*node = (struct node){.root = make_folder(), .process = {.pidfd = -1}, .notify_fd = -1};
	snprintf(path, sizeof(path), "%s/etc/picket", node->root);
	assert_int_equal(pk_fs_mkdirs(path, 0755, NULL), 0);
	set_mode(node->root, DOUBLE_WORKER_MODE, "good");
	set_mode(node->root, DOUBLE_BUILD_MODE, "good");
	node_bundle(node, "stable", "not really an ONNX file");
	node_config(node, node_usual_config);
	listen_notify(node, watchdog);
}

void node_finish(struct node *node)
{
	struct pk_exit_status status;
	if (node->process.pid > 0) {
		pk_subprocess_signal(&node->process, SIGKILL);
		(void)pk_subprocess_wait(&node->process, -1, &status);
	}
	close(node->notify_fd);
	remove_folder(node->root);
}

int node_spawn(struct node *node)
{
	const char *const argv[] = {
		picketd_program, "--root", node->root, "--libexec", doubles_folder, NULL};
	const struct pk_subprocess_options options = {.argv = argv, .die_with_parent = true};
	return pk_subprocess_start(&node->process, &options, NULL);
}

void node_start(struct node *node)
{
	assert_int_equal(node_spawn(node), 0);
	assert_true(node_notified(node, "READY=1", 5000));
}

// Also so that sd_notify of picketd never has to wait for room.
static void take_notified(struct node *node)
{
	char chunk[1024];
	ssize_t n;
	while ((n = recv(node->notify_fd, chunk, sizeof(chunk) - 1, 0)) > 0) {
		chunk[n] = '\0';
		size_t have = strlen(node->notified);
		if (have + (size_t)n + 2 > sizeof(node->notified))
			have = 0; // only the newest matter
		snprintf(node->notified + have, sizeof(node->notified) - have, "%s\n", chunk);
	}
}

int node_stop(struct node *node)
{
	struct pk_exit_status status;
	take_notified(node);
	pk_subprocess_signal(&node->process, SIGTERM);
	if (pk_subprocess_wait(&node->process, 2000, &status) != 1)
		return -1;
	node->notified[0] = '\0';
	return status.signalled ? -1 : status.code;
}

static int connect_node(struct node *node)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	take_notified(node);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/picket/control.sock",
		node->root);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval limit = {.tv_sec = 5};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

char *node_http(struct node *node, const char *request, int *status)
{
	pk_auto_buf struct pk_buf answer;
	pk_buf_init(&answer, 8u << 20);
	pk_auto_close int fd = connect_node(node);
	*status = 0;
	if (fd < 0 || send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		return NULL;
	char chunk[4096];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		pk_buf_append(&answer, chunk, (size_t)n);
	const char *body = strstr(pk_buf_cstr(&answer), "\r\n\r\n");
	if (!body || sscanf(answer.data, "HTTP/1.1 %d", status) != 1)
		return NULL;
	return strdup(body + 4);
}

static json_t *ask(struct node *node, const char *method, const char *path, int *status)
{
	char request[512];
	int ignored;
	snprintf(request, sizeof(request),
		"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		method, path);
	pk_auto_free char *body = node_http(node, request, status ? status : &ignored);
	return body ? json_loads(body, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

json_t *node_get(struct node *node, const char *path, int *status)
{
	return ask(node, "GET", path, status);
}

json_t *node_post(struct node *node, const char *path, int *status)
{
	return ask(node, "POST", path, status);
}

void node_model_text(struct node *node, const char *member, char out[512])
{
	json_t *model = node_get(node, "/v1/models/parts", NULL);
	const char *text = json_string_value(json_object_get(model, member));
	snprintf(out, 512, "%s", text ? text : "");
	json_decref(model);
}

void node_update_text(struct node *node, const char *member, char out[512])
{
	json_t *model = node_get(node, "/v1/models/parts", NULL);
	const json_t *update = json_object_get(model, "update");
	const char *text = json_string_value(json_object_get(update, member));
	snprintf(out, 512, "%s", text ? text : "");
	json_decref(model);
}

bool node_wait_rung(struct node *node, const char *rung, int limit_ms)
{
	int64_t end_ns = pk_now_ns() + limit_ms * PK_NS_PER_MS;
	char now[512];
	for (;;) {
		node_model_text(node, "rung", now);
		if (strcmp(now, rung) == 0)
			return true;
		if (pk_now_ns() > end_ns)
			break;
		usleep(20000);
	}
	print_error("rung is %s, not %s\n", now, rung);
	return false;
}

bool node_wait_alarm(struct node *node, int limit_ms)
{
	for (int i = 0; i < limit_ms / 20; i++) {
		json_t *status = node_get(node, "/v1/status", NULL);
		size_t n = json_array_size(json_object_get(status, "alarms"));
		json_decref(status);
		if (n > 0)
			return true;
		usleep(20000);
	}
	return false;
}

pid_t node_worker_pid(struct node *node)
{
	json_t *status = node_get(node, "/v1/status", NULL);
	json_t *worker = json_object_get(status, "worker");
	pid_t pid = (pid_t)json_integer_value(json_object_get(worker, "pid"));
	json_decref(status);
	return pid;
}

unsigned node_events(struct node *node, const char *name, const char *member, char value[512])
{
	json_t *answer = node_get(node, "/v1/events", NULL);
	unsigned n = 0;
	size_t i;
	json_t *event;
	json_array_foreach (json_object_get(answer, "events"), i, event) {
		if (strcmp(json_string_value(json_object_get(event, "name")), name) != 0)
			continue;
		n++;
		json_t *fields = json_object_get(event, "fields");
		const char *text =
			member ? json_string_value(json_object_get(fields, member)) : NULL;
		if (value)
			snprintf(value, 512, "%s", text ? text : "");
	}
	json_decref(answer);
	return n;
}

unsigned node_n_builds(struct node *node)
{
	pk_auto_free char *log = read_text(node->root, DOUBLE_BUILD_MODE ".log");
	return n_lines(log);
}

bool node_notified(struct node *node, const char *text, int limit_ms)
{
	int64_t end_ns = pk_now_ns() + limit_ms * PK_NS_PER_MS;
	for (;;) {
		take_notified(node);
		if (strstr(node->notified, text))
			return true;
		if (pk_now_ns() > end_ns)
			return false;
		usleep(5000);
	}
}
