// SPDX-License-Identifier: Apache-2.0
// Followers are suspended while there is nothing for them.
#include "daemon/control_follow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/clock.h"
#include "daemon/control.h"

#define BLOCK_BYTES 4096

struct follower {
	struct pk_follow *follow;
	struct MHD_Connection *connection;
	struct pk_list link;
	int64_t after;   // id of the last event that was taken
	int64_t sent_ns; // monotonic, of the last byte
	char *line;      // with '\n'; NULL: none begun
	size_t n, at;
	bool suspended;
};

void pk_follow_init(struct pk_follow *follow, const struct pk_events *events)
{
	*follow = (struct pk_follow){.events = events};
	pk_list_init(&follow->followers);
}

void pk_follow_finish(struct pk_follow *follow)
{
	follow->ending = true;
}

bool pk_follow_any(const struct pk_follow *follow)
{
	return follow->n > 0;
}

static bool beat_due(const struct follower *follower)
{
	return pk_now_ns() - follower->sent_ns >= PK_FOLLOW_BEAT_NS;
}

// Takes the next event, or an empty line when it is time for one. False: nothing to send.
static bool take_line(struct follower *follower)
{
	const json_t *event = pk_events_next(follower->follow->events, follower->after);
	char *text = NULL;
	if (event) {
		follower->after = json_integer_value(json_object_get(event, "id"));
		text = json_dumps(event, JSON_COMPACT);
	} else if (beat_due(follower)) {
		text = strdup("");
	}
	if (!text)
		return false;
	follower->n = strlen(text);
	text[follower->n++] = '\n'; // in place of NUL: only n counts
	follower->line = text;
	follower->at = 0;
	return true;
}

static ssize_t on_read(void *cls, pk_unused uint64_t pos, char *out, size_t max)
{
	struct follower *follower = cls;
	if (!follower->line && !take_line(follower)) {
		if (follower->follow->ending)
			return MHD_CONTENT_READER_END_OF_STREAM;
		follower->suspended = true;
		MHD_suspend_connection(follower->connection);
		return 0;
	}
	size_t n = follower->n - follower->at;
	if (n > max)
		n = max;
	memcpy(out, follower->line + follower->at, n);
	follower->at += n;
	follower->sent_ns = pk_now_ns();
	if (follower->at == follower->n) {
		free(follower->line);
		follower->line = NULL;
	}
	return (ssize_t)n;
}

static void on_free(void *cls)
{
	struct follower *follower = cls;
	pk_list_remove(&follower->link);
	follower->follow->n--;
	free(follower->line);
	free(follower);
}

static enum MHD_Result refuse(struct MHD_Connection *connection)
{
	static const char text[] = "{\"error\":\"too many follow the events already\"}";
	struct MHD_Response *response = MHD_create_response_from_buffer(
		sizeof(text) - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", "application/json");
	enum MHD_Result r = MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, response);
	MHD_destroy_response(response);
	return r;
}

enum MHD_Result pk_follow_start(
	struct pk_follow *follow, struct MHD_Connection *connection, int64_t after)
{
	if (follow->n >= PK_CONTROL_MAX_FOLLOWERS)
		return refuse(connection);
	struct follower *follower = calloc(1, sizeof(*follower));
	if (!follower)
		return MHD_NO;
	*follower = (struct follower){
		.follow = follow, .connection = connection, .after = after, .sent_ns = pk_now_ns()};
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, follower, on_free);
	if (!response) {
		free(follower);
		return MHD_NO;
	}
	pk_list_insert(&follow->followers, &follower->link);
	follow->n++;
	MHD_add_response_header(response, "Content-Type", "application/x-ndjson");
	enum MHD_Result r = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return r;
}

static void resume(struct follower *follower)
{
	if (!follower->suspended)
		return;
	follower->suspended = false;
	MHD_resume_connection(follower->connection);
}

void pk_follow_wake(struct pk_follow *follow)
{
	int64_t last_id = pk_events_last_id(follow->events);
	struct follower *it;
	pk_list_each (it, &follow->followers, link) {
		if (it->after < last_id || beat_due(it))
			resume(it);
	}
}

void pk_follow_end(struct pk_follow *follow)
{
	struct follower *it;
	follow->ending = true;
	pk_list_each (it, &follow->followers, link)
		resume(it);
}
