// SPDX-License-Identifier: Apache-2.0
// The routes of the control API: one row each, handlers by family beside this file.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "daemon/daemon.h"

struct pk_request {
	char name[128]; // what stood for {name} in the path; ""
	// A query parameter (borrowed) or NULL.
	const char *(*query)(const struct pk_request *request, const char *key);
	const char *(*header)(const struct pk_request *request, const char *name);
	void *ctx;        // theirs
	const char *body; // n_body bytes
	size_t n_body;
};

struct pk_reply {
	unsigned status;    // HTTP
	json_t *body;       // the reply's
	struct pk_buf text; // instead of a body, when type is set
	const char *type;   // its media type
	bool follow;        // instead of a body: events after `after`, a line each, without end
	int64_t after;
};

struct pk_route {
	const char *method;
	const char *path; // "/v1/cameras/{name}"
	void (*handle)(
		struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
	const char *help;
	const char *answer; // object of daemon/api_list.h, "text"; NULL: {ok}
	const char *query;  // "after:integer follow:integer"; NULL: none
};
extern const struct pk_route pk_route_table[]; // ended by a row without method

enum pk_route_match { PK_ROUTE_FOUND, PK_ROUTE_NO_PATH, PK_ROUTE_NO_METHOD };
// *route is set when found; name is filled from the path.
enum pk_route_match pk_route_find(const char *method, const char *path,
	const struct pk_route **route, char *name, size_t name_size);

// {"error": "…"} with that status.
void pk_reply_error(struct pk_reply *reply, unsigned status, const char *fmt, ...) pk_printf(3, 4);
// body, or 404 when it is NULL.
void pk_reply_found(struct pk_reply *reply, json_t *body, const char *what, const char *name);

void pk_command_status(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_health(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_cameras(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_camera(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_models(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_model(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_rebuild(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_metrics(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_events(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_reload(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_explain(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_history(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_check(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_pull(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_pin(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_unpin(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_cancel(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_rollback(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_config_apply(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_config_confirm(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
void pk_command_config_revert(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply);
