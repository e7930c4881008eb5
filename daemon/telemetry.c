// SPDX-License-Identifier: Apache-2.0
// The status as journal fields.
#include "daemon/telemetry.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "daemon/events.h"

#define VALUE_MAX  64
#define MAX_FIELDS 32

// Members of an object of GET /v1/status (dots go inwards), and the fields that they become.
struct row {
	const char *member, *field;
};

static const struct row camera_rows[] = {
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
	{"late", "PICKET_LATE"},
	{"copies", "PICKET_COPIES"},
	{NULL},
};

static const struct row model_rows[] = {
	{"name", "PICKET_MODEL"},
	{"rung", "PICKET_RUNG"},
	{"cause", "PICKET_CAUSE"},
	{"since", "PICKET_SINCE"},
	{"runtime", "PICKET_RUNTIME"},
	{"digest", "PICKET_DIGEST"},
	{"artifact", "PICKET_ARTIFACT"},
	{"engine.key", "PICKET_ENGINE_KEY"},
	{NULL},
};

static const struct row node_rows[] = {
	{"node", "PICKET_NODE"},
	{"status", "PICKET_STATUS"},
	{"rss_bytes", "PICKET_RSS_BYTES"},
	{"worker.rss_bytes", "PICKET_WORKER_RSS_BYTES"},
	{"worker.restarts", "PICKET_WORKER_RESTARTS"},
	{"builder.state", "PICKET_BUILDER"},
	{"health.shed_level", "PICKET_LEVEL"},
	{"health.power_mode", "PICKET_POWER_MODE"},
	{"health.gpu.hz", "PICKET_GPU_HZ"},
	{"health.cpu.hz", "PICKET_CPU_HZ"},
	{"health.memory_available_bytes", "PICKET_MEMORY_AVAILABLE_BYTES"},
	{"health.cpu_pressure", "PICKET_CPU_PRESSURE"},
	{"health.memory_pressure", "PICKET_MEMORY_PRESSURE"},
	{"health.io_pressure", "PICKET_IO_PRESSURE"},
	{"health.disk_free_bytes", "PICKET_DISK_FREE_BYTES"},
	{"health.over_current.average", "PICKET_OVER_CURRENT"},
	{"health.time", "PICKET_TIME"},
	{NULL},
};

static const json_t *dig(const json_t *object, const char *path)
{
	while (object) {
		size_t n = strcspn(path, ".");
		char key[64];
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		object = json_object_get(object, key);
		if (!path[n])
			return object;
		path += n + 1;
	}
	return NULL;
}

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

static void record(
	enum pk_event_type type, const struct row *rows, const json_t *object, const char *message)
{
	const struct pk_event_info *info = pk_event_info(type);
	struct pk_log_field fields[MAX_FIELDS];
	char values[MAX_FIELDS][VALUE_MAX];
	size_t n = 0;
	for (; rows[n].member && n < MAX_FIELDS; n++)
		fields[n] = (struct pk_log_field){
			.name = rows[n].field,
			.value = value_text(dig(object, rows[n].member), values[n]),
		};
	pk_log_event(info->priority, info->message_id, fields, n, "%s", message);
}

static double number(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

static const char *text(const json_t *object, const char *member)
{
	const char *value = json_string_value(json_object_get(object, member));
	return value ? value : "?";
}

static void record_camera(const json_t *camera)
{
	char message[256];
	snprintf(message, sizeof(message),
		"camera %s: %s, %.1f fps, age p50 %.0f ms p99 %.0f ms, rung %s",
		text(camera, "name"), text(camera, "state"), number(camera, "fps"),
		number(camera, "age_p50_ms"), number(camera, "age_p99_ms"), text(camera, "rung"));
	record(PK_EVENT_CAMERA_FIGURES, camera_rows, camera, message);
}

static void record_model(const json_t *model)
{
	char message[512];
	const char *cause = text(model, "cause");
	snprintf(message, sizeof(message), "model %s: %s since %s%s%s", text(model, "name"),
		text(model, "rung"), text(model, "since"), cause[0] ? ": " : "", cause);
	record(PK_EVENT_MODEL_FIGURES, model_rows, model, message);
}

static void on_timer(void *ctx)
{
	struct pk_telemetry *telemetry = ctx;
	pk_loop_start_timer(telemetry->loop, &telemetry->timer, telemetry->interval_ns);
	pk_auto_json status = telemetry->status(telemetry->ctx);
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(status, "cameras"), i, item)
		record_camera(item);
	json_array_foreach (json_object_get(status, "models"), i, item)
		record_model(item);
	record(PK_EVENT_NODE_FIGURES, node_rows, status, text(status, "status"));
}

void pk_telemetry_init(struct pk_telemetry *telemetry, struct pk_loop *loop,
	json_t *(*status)(void *ctx), void *ctx)
{
	*telemetry = (struct pk_telemetry){.loop = loop, .status = status, .ctx = ctx};
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
