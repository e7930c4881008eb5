// SPDX-License-Identifier: Apache-2.0
// libmosquitto, driven by our own poll: connecting, watching for dead connections, counting what is
// on its way.
#include "pipeline/sinks/mqtt_link.h"

#include <errno.h>
#include <mosquitto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/backoff.h"

#define PK_MQTT_WINDOW       64                     // results on their way
#define PK_MQTT_WINDOW_BYTES (1024u * 1024u)        // and their bytes, one at least
#define PK_MQTT_TABLE        (PK_MQTT_WINDOW + 512) // and what is not counted against it
#define PK_MQTT_CONNECT_NS   (10 * PK_NS_PER_S)     // from the first packet to the broker's answer
#define PK_MQTT_GOOD_NS      (10 * PK_NS_PER_S)     // after that the next wait is short again
#define PK_MQTT_REFUSED_NS   (10 * PK_NS_PER_S)     // first wait after refused credentials
#define PK_MQTT_SECRET_MAX   4096

enum pk_mqtt_phase {
	PK_MQTT_DOWN, // until retry_ns
	PK_MQTT_CONNECTING,
	PK_MQTT_UP,
};

struct pk_mqtt_inflight {
	int mid; // 0: free
	size_t tag, n;
};

struct pk_mqtt_link {
	struct pk_mqtt_link_setup setup; // its strings are owned
	struct mosquitto *client;
	enum pk_mqtt_phase phase;
	int64_t since_ns; // phase entered
	int64_t retry_ns;
	int64_t heard_ns; // last confirmation, or when the first of the window was sent
	struct pk_backoff backoff, refused_backoff;
	int refusal;                                  // of the broker, by on_connect; 0: none
	char detail[200];                             // what libmosquitto last complained of
	struct pk_mqtt_inflight table[PK_MQTT_TABLE]; // above QoS 0 and not confirmed
	size_t n_inflight, inflight_bytes;            // those that count against the window
	size_t n_unconfirmed;                         // all in the table
};

static void pk_mqtt_init_library(void)
{
	mosquitto_lib_init();
}

static void pk_mqtt_on_connect(struct mosquitto *client, void *ctx, int code)
{
	struct pk_mqtt_link *link = ctx;
	link->refusal = code;
	if (code != 0)
		return;
	link->phase = PK_MQTT_UP;
	link->since_ns = link->heard_ns = pk_now_ns();
	link->setup.changed(link->setup.ctx, 0, "");
}

static void pk_mqtt_on_publish(struct mosquitto *client, void *ctx, int mid)
{
	struct pk_mqtt_link *link = ctx;
	for (size_t i = 0; i < PK_MQTT_TABLE; i++) {
		struct pk_mqtt_inflight *entry = &link->table[i];
		if (entry->mid != mid)
			continue;
		link->heard_ns = pk_now_ns();
		link->n_unconfirmed--;
		link->n_inflight -= entry->tag != SIZE_MAX;
		link->inflight_bytes -= entry->tag != SIZE_MAX ? entry->n : 0;
		*entry = (struct pk_mqtt_inflight){0};
		return;
	}
}

static void pk_mqtt_on_log(struct mosquitto *client, void *ctx, int level, const char *text)
{
	struct pk_mqtt_link *link = ctx;
	if (level == MOSQ_LOG_ERR)
		snprintf(link->detail, sizeof(link->detail), "%s", text);
}

// One copy of all strings of the setup.
static int pk_mqtt_copy(struct pk_mqtt_link_setup *setup)
{
	const char **const strings[] = {&setup->host, &setup->client_id, &setup->user,
		&setup->password_file, &setup->ca, &setup->cert, &setup->key, &setup->will_topic,
		&setup->will_payload};
	bool whole = true;
	for (size_t i = 0; i < PK_ARRAY_LEN(strings); i++) {
		*strings[i] = strdup(*strings[i] ? *strings[i] : "");
		whole = whole && *strings[i];
	}
	return whole ? 0 : -ENOMEM;
}

static int pk_mqtt_prepare(struct pk_mqtt_link *link, struct pk_err *err)
{
	const struct pk_mqtt_link_setup *setup = &link->setup;
	link->client = mosquitto_new(setup->client_id, !setup->lasting, link);
	if (!link->client)
		return pk_fail(err, -errno, "mosquitto: %s", strerror(errno));
	mosquitto_connect_callback_set(link->client, pk_mqtt_on_connect);
	mosquitto_publish_callback_set(link->client, pk_mqtt_on_publish);
	mosquitto_log_callback_set(link->client, pk_mqtt_on_log);
	mosquitto_max_inflight_messages_set(link->client, 0);
	int rc = mosquitto_will_set(link->client, setup->will_topic,
		(int)strlen(setup->will_payload), setup->will_payload, 1, true);
	if (rc != MOSQ_ERR_SUCCESS)
		return pk_fail(err, -EINVAL, "last will: %s", mosquitto_strerror(rc));
	return 0;
}

int pk_mqtt_link_create(
	const struct pk_mqtt_link_setup *setup, struct pk_mqtt_link **out, struct pk_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, pk_mqtt_init_library);
	pk_auto(pk_mqtt_link) link = calloc(1, sizeof(*link));
	if (!link)
		return pk_fail(err, -ENOMEM, "out of memory");
	link->setup = *setup;
	uint64_t seed = (uint64_t)pk_now_ns() ^ (uint64_t)(uintptr_t)link;
	int64_t max_ns = PK_MAX(setup->retry_max_ns, setup->retry_min_ns);
	link->backoff = (struct pk_backoff){
		.min_ns = setup->retry_min_ns, .max_ns = max_ns, .random = seed};
	link->refused_backoff = (struct pk_backoff){.min_ns = PK_MQTT_REFUSED_NS,
		.max_ns = PK_MAX(max_ns, 60 * PK_MQTT_REFUSED_NS),
		.random = ~seed};
	int r = pk_mqtt_copy(&link->setup);
	if (r < 0)
		return pk_fail(err, r, "out of memory");
	r = pk_mqtt_prepare(link, err);
	if (r < 0)
		return r;
	*out = pk_steal(link);
	return 0;
}

void pk_mqtt_link_destroy(struct pk_mqtt_link *link)
{
	if (!link)
		return;
	if (link->client)
		mosquitto_destroy(link->client);
	const char *const strings[] = {link->setup.host, link->setup.client_id, link->setup.user,
		link->setup.password_file, link->setup.ca, link->setup.cert, link->setup.key,
		link->setup.will_topic, link->setup.will_payload};
	for (size_t i = 0; i < PK_ARRAY_LEN(strings); i++)
		free((char *)(uintptr_t)strings[i]);
	free(link);
}

static int pk_mqtt_set_password(struct pk_mqtt_link *link, struct pk_err *err)
{
	const struct pk_mqtt_link_setup *setup = &link->setup;
	if (!*setup->user)
		return 0;
	pk_auto_buf struct pk_buf secret;
	pk_buf_init(&secret, PK_MQTT_SECRET_MAX + 1);
	if (*setup->password_file) {
		int r = pk_fs_read(setup->password_file, PK_MQTT_SECRET_MAX, &secret, err);
		if (r < 0)
			return r;
		secret.data[strcspn(secret.data, "\r\n")] = '\0';
	}
	int rc = mosquitto_username_pw_set(
		link->client, setup->user, *setup->password_file ? secret.data : NULL);
	if (secret.data)
		explicit_bzero(secret.data, secret.cap);
	return rc == MOSQ_ERR_SUCCESS
		       ? 0
		       : pk_fail(err, -EINVAL, "user and password: %s", mosquitto_strerror(rc));
}

// libmosquitto only says "invalid" when one of the files cannot be read.
static int pk_mqtt_set_tls(struct pk_mqtt_link *link, struct pk_err *err)
{
	const struct pk_mqtt_link_setup *setup = &link->setup;
	if (!*setup->ca)
		return 0;
	const char *const files[] = {setup->ca, setup->cert, setup->key};
	for (size_t i = 0; i < PK_ARRAY_LEN(files); i++)
		if (*files[i] && access(files[i], R_OK) < 0)
			return pk_fail_errno(err, "%s", files[i]);
	int rc = mosquitto_tls_set(link->client, setup->ca, NULL, *setup->cert ? setup->cert : NULL,
		*setup->key ? setup->key : NULL, NULL);
	if (rc != MOSQ_ERR_SUCCESS)
		return pk_fail(err, -EINVAL, "TLS: %s", mosquitto_strerror(rc));
	return 0;
}

static void pk_mqtt_down(struct pk_mqtt_link *link, int code, const char *cause)
{
	int64_t now_ns = pk_now_ns();
	bool refused = code == -EACCES;
	if (link->phase == PK_MQTT_UP && now_ns - link->since_ns > PK_MQTT_GOOD_NS) {
		pk_backoff_reset(&link->backoff);
		pk_backoff_reset(&link->refused_backoff);
	}
	link->phase = PK_MQTT_DOWN;
	link->since_ns = now_ns;
	link->retry_ns =
		now_ns + pk_backoff_next(refused ? &link->refused_backoff : &link->backoff);
	link->setup.changed(link->setup.ctx, code, cause);
}

static int pk_mqtt_code(int rc)
{
	return rc == MOSQ_ERR_TLS    ? -EPROTO
	       : rc == MOSQ_ERR_AUTH ? -EACCES
	       : rc == MOSQ_ERR_EAI  ? -EHOSTUNREACH
				     : -EPIPE;
}

// rc: of a call of libmosquitto after which there is no connection.
static void pk_mqtt_gone(struct pk_mqtt_link *link, int rc, int saved_errno)
{
	char cause[400];
	const char *at = link->setup.host;
	int port = link->setup.port;
	if (link->refusal) {
		bool credentials = link->refusal == 4 || link->refusal == 5; // MQTT 3.1.1, 3.2.2.3
		snprintf(cause, sizeof(cause), "%s:%d refuses us: %s", at, port,
			mosquitto_connack_string(link->refusal));
		pk_mqtt_down(link, credentials ? -EACCES : -ECONNREFUSED, cause);
		return;
	}
	const char *why = rc == MOSQ_ERR_ERRNO && saved_errno ? strerror(saved_errno)
							      : mosquitto_strerror(rc);
	bool tls = rc == MOSQ_ERR_TLS && link->detail[0];
	snprintf(cause, sizeof(cause), "%s:%d: %s%s%s", at, port,
		link->phase == PK_MQTT_UP ? "connection lost: " : "", tls ? "TLS: " : "",
		tls ? link->detail : why);
	pk_mqtt_down(link, pk_mqtt_code(rc), cause);
}

static void pk_mqtt_connect(struct pk_mqtt_link *link)
{
	struct pk_err err = {0};
	int r = pk_mqtt_set_password(link, &err);
	if (r == 0)
		r = pk_mqtt_set_tls(link, &err);
	if (r < 0) {
		pk_mqtt_down(link, r, pk_err_text(&err, r));
		return;
	}
	link->refusal = 0;
	link->detail[0] = '\0';
	link->phase = PK_MQTT_CONNECTING;
	link->since_ns = pk_now_ns();
	errno = 0;
	int rc = mosquitto_connect_async(link->client, link->setup.host, link->setup.port,
		(int)(link->setup.keepalive_ns / PK_NS_PER_S));
	if (rc != MOSQ_ERR_SUCCESS)
		pk_mqtt_gone(link, rc, errno);
}

// Is the other side there, though the connection seems to stand?
static const char *pk_mqtt_overdue(const struct pk_mqtt_link *link, int64_t now_ns)
{
	if (link->phase == PK_MQTT_CONNECTING && now_ns - link->since_ns > PK_MQTT_CONNECT_NS)
		return "no answer";
	if (link->phase == PK_MQTT_UP && link->n_unconfirmed &&
		now_ns - link->heard_ns > link->setup.keepalive_ns)
		return "nothing is confirmed any more";
	return NULL;
}

static int pk_mqtt_serve(struct pk_mqtt_link *link, short revents)
{
	int rc = MOSQ_ERR_SUCCESS;
	errno = 0;
	if (revents & (POLLIN | POLLHUP | POLLERR))
		rc = mosquitto_loop_read(link->client, 64);
	if (rc == MOSQ_ERR_SUCCESS && revents & POLLOUT)
		rc = mosquitto_loop_write(link->client, 64);
	if (rc == MOSQ_ERR_SUCCESS)
		rc = mosquitto_loop_misc(link->client);
	return rc;
}

static int pk_mqtt_wait(struct pk_mqtt_link *link, int other_fd, int timeout_ms)
{
	int fd = mosquitto_socket(link->client);
	struct pollfd fds[] = {{.fd = other_fd, .events = POLLIN},
		{.fd = link->phase == PK_MQTT_DOWN ? -1 : fd, .events = POLLIN}};
	if (fds[1].fd >= 0 &&
		(mosquitto_want_write(link->client) || link->phase == PK_MQTT_CONNECTING))
		fds[1].events |= POLLOUT;
	if (poll(fds, PK_ARRAY_LEN(fds), timeout_ms) < 0)
		return 0;
	return fds[1].revents;
}

void pk_mqtt_link_turn(struct pk_mqtt_link *link, int other_fd, int timeout_ms)
{
	if (link->phase == PK_MQTT_DOWN) {
		int64_t left_ms = (link->retry_ns - pk_now_ns()) / PK_NS_PER_MS + 1;
		if (pk_now_ns() >= link->retry_ns)
			pk_mqtt_connect(link);
		else
			timeout_ms = (int)PK_MIN((int64_t)timeout_ms, left_ms);
	}
	short revents = (short)pk_mqtt_wait(link, other_fd, timeout_ms);
	if (link->phase == PK_MQTT_DOWN)
		return;
	int rc = pk_mqtt_serve(link, revents), saved_errno = errno;
	const char *overdue = pk_mqtt_overdue(link, pk_now_ns());
	if (rc != MOSQ_ERR_SUCCESS || mosquitto_socket(link->client) < 0) {
		pk_mqtt_gone(link, rc, saved_errno);
	} else if (overdue) {
		char cause[400];
		snprintf(cause, sizeof(cause), "%s:%d: %s", link->setup.host, link->setup.port,
			overdue);
		pk_mqtt_down(link, -ETIMEDOUT, cause);
	}
}

bool pk_mqtt_link_is_up(const struct pk_mqtt_link *link)
{
	return link->phase == PK_MQTT_UP;
}

size_t pk_mqtt_link_n_unconfirmed(const struct pk_mqtt_link *link)
{
	return link->n_unconfirmed;
}

bool pk_mqtt_link_has_room(const struct pk_mqtt_link *link)
{
	return link->phase == PK_MQTT_UP && link->n_inflight < PK_MQTT_WINDOW &&
	       (link->n_inflight == 0 || link->inflight_bytes < PK_MQTT_WINDOW_BYTES) &&
	       !mosquitto_want_write(link->client);
}

static void pk_mqtt_note(struct pk_mqtt_link *link, const struct pk_mqtt_message *message, int mid)
{
	if (link->n_unconfirmed == 0)
		link->heard_ns = pk_now_ns();
	for (size_t i = 0; i < PK_MQTT_TABLE; i++) {
		if (link->table[i].mid)
			continue;
		link->table[i] =
			(struct pk_mqtt_inflight){.mid = mid, .tag = message->tag, .n = message->n};
		link->n_unconfirmed++;
		link->n_inflight += message->tag != SIZE_MAX;
		link->inflight_bytes += message->tag != SIZE_MAX ? message->n : 0;
		return;
	}
}

int pk_mqtt_link_publish(struct pk_mqtt_link *link, const struct pk_mqtt_message *message)
{
	int mid = 0;
	if (link->phase != PK_MQTT_UP)
		return -EAGAIN;
	int rc = mosquitto_publish(link->client, &mid, message->topic, (int)message->n,
		message->payload, message->qos, message->retain);
	switch (rc) {
	case MOSQ_ERR_INVAL:
	case MOSQ_ERR_PAYLOAD_SIZE:
	case MOSQ_ERR_MALFORMED_UTF8:
	case MOSQ_ERR_QOS_NOT_SUPPORTED:
	case MOSQ_ERR_OVERSIZE_PACKET:
		return -EINVAL;
	case MOSQ_ERR_NOMEM:
		return -ENOMEM;
	default:
		break;
	}
	// From QoS 1 on a broken connection changes nothing: libmosquitto has it and sends it
	// again; before that it was never sent.
	if (message->qos == 0)
		return rc == MOSQ_ERR_SUCCESS ? 0 : -EAGAIN;
	pk_mqtt_note(link, message, mid);
	return 0;
}

void pk_mqtt_link_close(struct pk_mqtt_link *link)
{
	if (link->phase != PK_MQTT_UP)
		return;
	mosquitto_disconnect(link->client);
	int64_t until_ns = pk_now_ns() + 200 * PK_NS_PER_MS;
	while (mosquitto_socket(link->client) >= 0 && mosquitto_want_write(link->client) &&
		pk_now_ns() < until_ns) {
		struct pollfd fd = {.fd = mosquitto_socket(link->client), .events = POLLOUT};
		if (poll(&fd, 1, 50) < 0 ||
			mosquitto_loop_write(link->client, 64) != MOSQ_ERR_SUCCESS)
			break;
	}
	link->phase = PK_MQTT_DOWN;
	link->retry_ns = INT64_MAX;
}
