// SPDX-License-Identifier: Apache-2.0
// Topics and retained messages of the mqtt sink.
#include "pipeline/sinks/mqtt_topic.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void pk_mqtt_topic_root(char out[PK_MQTT_TOPIC_MAX], const char *prefix, const char *node)
{
	// Bounds of the configuration: 128 and 253 bytes.
	int n = snprintf(out, PK_MQTT_TOPIC_MAX, "%.128s/", prefix);
	char *level = out + n;
	snprintf(level, PK_MQTT_TOPIC_MAX - (size_t)n, "%.253s", node);
	for (char *p = level; *p; p++)
		if (strchr("/+#", *p) || (unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '_';
}

void pk_mqtt_topic_status(char out[PK_MQTT_TOPIC_MAX], const char *root)
{
	snprintf(out, PK_MQTT_TOPIC_MAX, "%s/status", root);
}

void pk_mqtt_topic_camera(
	char out[PK_MQTT_TOPIC_MAX], const char *root, const char *camera, const char *leaf)
{
	snprintf(out, PK_MQTT_TOPIC_MAX, "%s/cameras/%s/%s", root, camera, leaf);
}

static void pk_mqtt_put(struct pk_buf *out, const char *key, const char *value)
{
	pk_buf_printf(out, ",\"%s\":", key);
	pk_buf_json_string(out, value);
}

void pk_mqtt_write_status(struct pk_buf *out, const struct pk_mqtt_status *status)
{
	pk_buf_str(out, "{\"schema\":1");
	pk_mqtt_put(out, "node", status->node);
	pk_buf_printf(out, ",\"online\":%s", status->online ? "true" : "false");
	if (status->reason)
		pk_mqtt_put(out, "reason", status->reason);
	pk_mqtt_put(out, "version", PICKET_VERSION);
	pk_mqtt_put(out, "boot_id", status->boot_id);
	pk_mqtt_put(out, "session", status->session);
	pk_buf_str(out, "}");
}

void pk_mqtt_write_state(struct pk_buf *out, const struct pk_mqtt_state *state, int64_t realtime_ns)
{
	char time[PK_ISO_TIME_MAX];
	pk_format_iso_time(realtime_ns, time);
	pk_buf_str(out, "{\"schema\":1");
	pk_mqtt_put(out, "camera", state->camera);
	pk_mqtt_put(out, "time", time);
	pk_mqtt_put(out, "state", pk_camera_state_name(state->state));
	pk_mqtt_put(out, "cause", state->cause);
	pk_mqtt_put(out, "rung", state->rung.rung);
	pk_mqtt_put(out, "runtime", state->rung.runtime);
	pk_mqtt_put(out, "rung_cause", state->rung.cause);
	pk_buf_str(out, ",\"model\":{\"name\":");
	pk_buf_json_string(out, state->model);
	pk_mqtt_put(out, "digest", state->rung.digest);
	pk_buf_str(out, "}}");
}
