// SPDX-License-Identifier: Apache-2.0
// Topics and retained messages of the mqtt sink (docs/EVENTS.md).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "pipeline/pipeline.h"

#define PK_MQTT_TOPIC_MAX 640 // prefix, node and camera at their longest

// "PREFIX/NODE" with what may not stand in a level (/ + # and control characters) as '_' in NODE.
void pk_mqtt_topic_root(char out[PK_MQTT_TOPIC_MAX], const char *prefix, const char *node);
// "ROOT/status" and "ROOT/cameras/CAMERA/LEAF".
void pk_mqtt_topic_status(char out[PK_MQTT_TOPIC_MAX], const char *root);
void pk_mqtt_topic_camera(
	char out[PK_MQTT_TOPIC_MAX], const char *root, const char *camera, const char *leaf);

// The node's retained status. session tells one start of the sink from another; reason: why it is
// not online.
struct pk_mqtt_status {
	const char *node, *boot_id, *session;
	bool online;
	const char *reason;
};
void pk_mqtt_write_status(struct pk_buf *out, const struct pk_mqtt_status *status);

// What a camera's results come from, as its last result said; all "" before the first.
struct pk_mqtt_rung {
	char rung[16], runtime[16], cause[256], digest[80];
};
// A camera's retained state.
struct pk_mqtt_state {
	const char *camera, *model;
	enum pk_camera_state state;
	const char *cause;
	struct pk_mqtt_rung rung;
};
void pk_mqtt_write_state(
	struct pk_buf *out, const struct pk_mqtt_state *state, int64_t realtime_ns);
