// SPDX-License-Identifier: Apache-2.0
// Clients that follow the events: a chunked answer without end, one event a line. An empty line
// each few seconds shows that the line still stands.
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "daemon/events.h"

struct pk_follow {
	const struct pk_events *events;
	struct pk_list followers;
	unsigned n;
	bool ending;
};

void pk_follow_init(struct pk_follow *follow, const struct pk_events *events);
void pk_follow_finish(struct pk_follow *follow); // after the server has stopped
// Queues the answer; 503 when there are too many already.
enum MHD_Result pk_follow_start(
	struct pk_follow *follow, struct MHD_Connection *connection, int64_t after);
bool pk_follow_any(const struct pk_follow *follow);
// Resumes those for whom there is something to send. Call it before MHD_run, at least each
// PK_FOLLOW_BEAT_NS.
void pk_follow_wake(struct pk_follow *follow);
#define PK_FOLLOW_BEAT_NS (10 * PK_NS_PER_S)
void pk_follow_end(struct pk_follow *follow); // lets all answers end
