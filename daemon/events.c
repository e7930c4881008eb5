// SPDX-License-Identifier: Apache-2.0
// A ring of JSON objects, oldest overwritten first.
#include "daemon/events.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log_redact.h"
#include "base/ratelimit.h"
#include "daemon/text.h"

#define FIELD_PREFIX     "PICKET_"
#define MAX_FIELD_NAME   64
#define MAX_MESSAGE_TEXT 1024
#define MAX_FIELD_TEXT   4096
#define BURST_WINDOW_NS  (60 * PK_NS_PER_S)
#define N_LIMITS         256 // things that share one by chance are held back together

struct pk_events {
	json_t *ring[PK_EVENTS_KEPT]; // of event `id` at id % PK_EVENTS_KEPT
	int64_t last_id;
	uint64_t counts[PK_N_EVENTS];
	unsigned burst;
	struct pk_ratelimit limits[N_LIMITS];
	void (*posted)(void *ctx);
	void *ctx;
};

static const struct pk_event_info infos[] = {
#define PK_EVENT(symbol, name, id, priority, help) {name, id, priority, help},
#include "daemon/event_list.h"
#undef PK_EVENT
};

const struct pk_event_info *pk_event_info(enum pk_event_type type)
{
	return (size_t)type < PK_ARRAY_LEN(infos) ? &infos[type] : NULL;
}

struct pk_events *pk_events_create(void)
{
	return calloc(1, sizeof(struct pk_events));
}

void pk_events_destroy(struct pk_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < PK_ARRAY_LEN(events->ring); i++)
		json_decref(events->ring[i]);
	free(events);
}

// PICKET_ENGINE_KEY → engine_key
static void api_name(const char *journal_name, char out[MAX_FIELD_NAME])
{
	size_t skip = strlen(FIELD_PREFIX);
	const char *from =
		strncmp(journal_name, FIELD_PREFIX, skip) == 0 ? journal_name + skip : journal_name;
	size_t n = 0;
	for (; from[n] && n < MAX_FIELD_NAME - 1; n++)
		out[n] = (char)tolower((unsigned char)from[n]);
	out[n] = '\0';
}

// Secrets go before the text is cut: half of one would stay otherwise.
static json_t *redacted(const char *text, size_t max)
{
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, SIZE_MAX);
	pk_log_redact_append(&out, text);
	if (pk_buf_error(&out))
		return NULL;
	if (out.len > max)
		out.len = max;
	const char *clean = pk_buf_cstr(&out);
	pk_text_mend(out.data);
	return json_string(clean);
}

static json_t *fields_json(const struct pk_log_field *fields, size_t n)
{
	json_t *object = json_object();
	for (size_t i = 0; i < n; i++) {
		char name[MAX_FIELD_NAME];
		api_name(fields[i].name, name);
		// A text that is not UTF-8 gives NULL, which leaves the member out.
		if (fields[i].value)
			json_object_set_new(
				object, name, redacted(fields[i].value, MAX_FIELD_TEXT));
	}
	return object;
}

static json_t *event_json(
	const struct pk_event_info *info, int64_t id, json_t *fields, const char *message)
{
	char time[PK_ISO_TIME_MAX];
	pk_format_iso_time(pk_realtime_ns(), time);
	return json_pack("{s:I, s:s, s:s, s:i, s:o, s:o}", "id", (json_int_t)id, "time", time,
		"name", info->name, "priority", (int)info->priority, "message",
		redacted(message, MAX_MESSAGE_TEXT), "fields", fields);
}

// What the event is about: its kind and its first field.
static size_t subject_of(enum pk_event_type type, const struct pk_log_field *fields, size_t n)
{
	uint32_t hash = 2166136261u ^ (uint32_t)type; // FNV-1a
	const char *text = n > 0 ? fields[0].value : NULL;
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash % N_LIMITS;
}

static bool passes(struct pk_events *events, enum pk_event_type type,
	const struct pk_log_field *fields, size_t n_fields, unsigned *swallowed)
{
	struct pk_ratelimit *limit = &events->limits[subject_of(type, fields, n_fields)];
	*swallowed = 0;
	if (events->burst == 0 || infos[type].priority <= PK_LOG_ALERT)
		return true;
	limit->interval_ns = BURST_WINDOW_NS;
	limit->burst = events->burst;
	return pk_ratelimit_pass(limit, pk_now_ns(), swallowed);
}

void pk_events_set_burst(struct pk_events *events, unsigned burst)
{
	events->burst = burst;
}

json_t *pk_events_counts(const struct pk_events *events)
{
	json_t *list = json_array();
	for (size_t i = 0; i < PK_N_EVENTS; i++) {
		if (events->counts[i] > 0)
			json_array_append_new(
				list, json_pack("{s:s, s:I}", "name", infos[i].name, "count",
					      (json_int_t)events->counts[i]));
	}
	return list;
}

void pk_events_post(struct pk_events *events, enum pk_event_type type,
	const struct pk_log_field *fields, size_t n_fields, const char *fmt, ...)
{
	const struct pk_event_info *info = &infos[type];
	char message[MAX_MESSAGE_TEXT], more[64] = "";
	unsigned swallowed;
	events->counts[type]++;
	if (!passes(events, type, fields, n_fields, &swallowed))
		return;
	if (swallowed > 0)
		snprintf(more, sizeof(more), " (%u like it were held back)", swallowed);
	va_list args;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	size_t n = strlen(message);
	snprintf(message + n, sizeof(message) - n, "%s", more);
	pk_text_mend(message);
	pk_log_event(info->priority, info->message_id, fields, n_fields, "%s", message);
	int64_t id = ++events->last_id;
	json_t **slot = &events->ring[id % PK_EVENTS_KEPT];
	json_decref(*slot);
	*slot = event_json(info, id, fields_json(fields, n_fields), message);
	if (events->posted)
		events->posted(events->ctx);
}

void pk_events_set_listener(struct pk_events *events, void (*posted)(void *ctx), void *ctx)
{
	events->posted = posted;
	events->ctx = ctx;
}

int64_t pk_events_last_id(const struct pk_events *events)
{
	return events->last_id;
}

const json_t *pk_events_next(const struct pk_events *events, int64_t after)
{
	int64_t oldest = events->last_id - PK_EVENTS_KEPT + 1;
	int64_t id = after < 0 ? 1 : after < INT64_MAX ? after + 1 : after;
	if (id < oldest)
		id = oldest;
	if (id < 1)
		id = 1;
	const json_t *event = NULL; // one that found no memory is passed over
	while (!event && id <= events->last_id)
		event = events->ring[id++ % PK_EVENTS_KEPT];
	return event;
}
