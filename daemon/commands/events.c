// SPDX-License-Identifier: Apache-2.0
// GET /v1/events: what happened after an id, or from now on.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/commands/route.h"

static int parse_id(const char *text, int64_t *out)
{
	char *end = NULL;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < 0)
		return -EINVAL;
	*out = value;
	return 0;
}

static json_t *list_after(const struct pk_events *events, int64_t after)
{
	json_t *list = json_array();
	const json_t *event;
	while ((event = pk_events_next(events, after))) {
		json_array_append(list, (json_t *)(uintptr_t)event);
		after = json_integer_value(json_object_get(event, "id"));
	}
	return list;
}

void pk_command_events(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	const struct pk_events *events = pk_daemon_events(daemon);
	const char *after_text = request->query(request, "after");
	const char *follow_text = request->query(request, "follow");
	bool follow = follow_text && strcmp(follow_text, "1") == 0;
	int64_t after = follow ? pk_events_last_id(events) : 0;
	if (after_text && parse_id(after_text, &after) < 0) {
		pk_reply_error(reply, 400, "after: expected an event's id; found `%s`", after_text);
		return;
	}
	reply->follow = follow;
	reply->after = after;
	if (!follow)
		reply->body = json_pack("{s:o, s:I}", "events", list_after(events, after),
			"last_id", (json_int_t)pk_events_last_id(events));
}
