// SPDX-License-Identifier: Apache-2.0
// A connection to an MQTT 3.1.1 broker that is brought back for ever, with a bounded number of
// messages on their way. One thread owns it.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

struct pk_mqtt_link;

// Strings are copied.
struct pk_mqtt_link_setup {
	const char *host, *client_id;
	int port;
	const char *user, *password_file; // "": none; the file is read anew for each try
	const char *ca, *cert, *key;      // PEM files; ca "": no TLS
	int64_t keepalive_ns;             // at least 5 s
	int64_t retry_min_ns, retry_max_ns;
	bool lasting;           // the broker keeps the session: QoS 2 across connections needs it
	const char *will_topic; // will_payload is published there, retained, when it is lost
	const char *will_payload;
	// Connected (0) or not (negative errno and the cause: each failed try). From pk_mqtt_turn.
	void (*changed)(void *ctx, int code, const char *cause);
	void *ctx;
};

int pk_mqtt_link_create(const struct pk_mqtt_link_setup *setup, struct pk_mqtt_link **out,
	struct pk_err *err) pk_must_check;
void pk_mqtt_link_destroy(struct pk_mqtt_link *link); // without goodbye: the will is published
PK_DEFINE_AUTO(pk_mqtt_link, pk_mqtt_link_destroy);

struct pk_mqtt_message {
	const char *topic;
	const char *payload;
	size_t n;
	int qos;
	bool retain;
	size_t tag; // SIZE_MAX: not counted against the window
};

// May one more result be published now?
bool pk_mqtt_link_has_room(const struct pk_mqtt_link *link);
bool pk_mqtt_link_is_up(const struct pk_mqtt_link *link);
// Messages of QoS 1 and 2 that the broker has not confirmed.
size_t pk_mqtt_link_n_unconfirmed(const struct pk_mqtt_link *link);
// Hands it over; with QoS 1 and 2 it is then delivered however often the connection breaks. 0, or
// -EAGAIN: not now, it stays the caller's; others: never.
int pk_mqtt_link_publish(struct pk_mqtt_link *link, const struct pk_mqtt_message *message);
// Waits for network, other_fd (readable) or timeout_ms and does what is due. May block while a name
// is resolved.
void pk_mqtt_link_turn(struct pk_mqtt_link *link, int other_fd, int timeout_ms);
// Says goodbye: no will. Best when all is confirmed: an answer that nobody reads makes the kernel
// reset the connection, and the goodbye may go under with it.
void pk_mqtt_link_close(struct pk_mqtt_link *link);
