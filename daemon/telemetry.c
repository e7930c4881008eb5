// SPDX-License-Identifier: Apache-2.0
// Figures of the last heartbeat as journal fields.
#include "daemon/telemetry.h"

#include <stdio.h>

#include "base/json.h"

#define VALUE_MAX 64

// Members of a camera (worker_proto.h, control_api.h) and the fields that they become.
static const struct {
	const char *member, *field;
} rows[] = {
	{"name", "PICKET_CAMERA"},
	{"model", "PICKET_MODEL"},
	{"state", "PICKET_STATE"},
	{"rung", "PICKET_RUNG"},
	{"cause", "PICKET_CAUSE"},
	{"fps", "PICKET_FPS"},
	{"age_p50_ms", "PICKET_AGE_P50_MS"},
	{"age_p99_ms", "PICKET_AGE_P99_MS"},
	{"inference_p50_ms", "PICKET_INFERENCE_P50_MS"},
	{"captured", "PICKET_CAPTURED"},
	{"inferred", "PICKET_INFERRED"},
	{"passthrough", "PICKET_PASSTHROUGH"},
	{"dropped", "PICKET_DROPPED"},
	{"detections", "PICKET_DETECTIONS"},
	{"restarts", "PICKET_RESTARTS"},
	{"sink_drops", "PICKET_SINK_DROPS"},
	{"skipped", "PICKET_SKIPPED"},
	{"copies", "PICKET_COPIES"},
};

static const char *value_text(const json_t *value, char out[VALUE_MAX])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(out, VALUE_MAX, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(out, VALUE_MAX, "%.2f", json_real_value(value));
	else
		return NULL;
	return out;
}

static double number(const json_t *camera, const char *member)
{
	return json_number_value(json_object_get(camera, member));
}

static void record(const json_t *camera)
{
	const struct pk_event_info *info = pk_event_info(PK_EVENT_CAMERA_FIGURES);
	struct pk_log_field fields[PK_ARRAY_LEN(rows)];
	char values[PK_ARRAY_LEN(rows)][VALUE_MAX];
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		fields[i] = (struct pk_log_field){
			.name = rows[i].field,
			.value = value_text(json_object_get(camera, rows[i].member), values[i]),
		};
	pk_log_event(info->priority, info->message_id, fields, PK_ARRAY_LEN(rows),
		"camera %s: %s, %.1f fps, age p50 %.0f ms p99 %.0f ms, rung %s", fields[0].value,
		fields[2].value, number(camera, "fps"), number(camera, "age_p50_ms"),
		number(camera, "age_p99_ms"), fields[3].value);
}

static void on_timer(void *ctx)
{
	struct pk_telemetry *telemetry = ctx;
	pk_auto_json cameras = pk_cameras_json(telemetry->cameras);
	size_t i;
	json_t *camera;
	pk_loop_start_timer(telemetry->loop, &telemetry->timer, telemetry->interval_ns);
	json_array_foreach (cameras, i, camera)
		record(camera);
}

void pk_telemetry_init(
	struct pk_telemetry *telemetry, struct pk_loop *loop, const struct pk_cameras *cameras)
{
	*telemetry = (struct pk_telemetry){.loop = loop, .cameras = cameras};
	telemetry->timer = (struct pk_timer){.fire = on_timer, .ctx = telemetry};
}

void pk_telemetry_finish(struct pk_telemetry *telemetry)
{
	pk_loop_stop_timer(&telemetry->timer);
}

void pk_telemetry_set_interval(struct pk_telemetry *telemetry, int64_t interval_ns)
{
	if (telemetry->timer.active && telemetry->interval_ns == interval_ns)
		return;
	telemetry->interval_ns = interval_ns;
	pk_loop_start_timer(telemetry->loop, &telemetry->timer, interval_ns);
}
