// SPDX-License-Identifier: Apache-2.0
// What happened: each event goes to the journal once and stays, without secrets, in a ring for the
// control API.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/log.h"

#define PK_EVENTS_KEPT 1000

enum pk_event_type {
#define PK_EVENT(symbol, name, id, priority, help) PK_EVENT_##symbol,
#include "daemon/event_list.h"
#undef PK_EVENT
	PK_N_EVENTS,
};

struct pk_event_info {
	const char *name;       // "engine-built"
	const char *message_id; // 32 hex digits, for ever the same
	enum pk_log_priority priority;
	const char *help; // one sentence
};
const struct pk_event_info *pk_event_info(enum pk_event_type type);

struct pk_events;

struct pk_events *pk_events_create(void) pk_must_check; // NULL: no memory
void pk_events_destroy(struct pk_events *events);
PK_DEFINE_AUTO(pk_events, pk_events_destroy);

// fields carry journal names ("PICKET_MODEL"); the API shows them as "model". The message is for a
// person. Loop's thread.
void pk_events_post(struct pk_events *events, enum pk_event_type type,
	const struct pk_log_field *fields, size_t n_fields, const char *fmt, ...) pk_printf(5, 6);
#define PK_FIELDS(...)                                                                             \
	(const struct pk_log_field[]){__VA_ARGS__},                                                \
		PK_ARRAY_LEN(((const struct pk_log_field[]){__VA_ARGS__}))

// One call after each post, to wake those who follow; NULL: none.
void pk_events_set_listener(struct pk_events *events, void (*posted)(void *ctx), void *ctx);

// At most burst events of a kind about the same thing in a minute; the rest is counted, and told
// with the next that passes. 0: all pass, the default. Alerts always pass.
void pk_events_set_burst(struct pk_events *events, unsigned burst);
json_t *pk_events_counts(const struct pk_events *events); // [{"name", "count"}]; new reference

int64_t pk_events_last_id(const struct pk_events *events); // 0: none yet; ids grow by one
// The oldest kept event with an id above after, as the API shows it (borrowed until the next post);
// NULL: there is none.
const json_t *pk_events_next(const struct pk_events *events, int64_t after);
