// SPDX-License-Identifier: Apache-2.0
// POST /v1/config and what becomes of it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/commands/route.h"

#define MAX_CONFIRM_S 86400

static int parse_seconds(const char *text, int64_t *ns)
{
	char *end = NULL;
	long value = strtol(text, &end, 10);
	if (end == text || *end || value < 1 || value > MAX_CONFIRM_S)
		return -EINVAL;
	*ns = value * PK_NS_PER_S;
	return 0;
}

void pk_command_config_apply(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	struct pk_err err = {0};
	const char *confirm = request->query(request, "confirm");
	const char *plan = request->query(request, "plan");
	struct pk_config_request apply = {.bytes = request->body,
		.n = request->n_body,
		.plan = plan && strcmp(plan, "1") == 0};
	if (confirm && parse_seconds(confirm, &apply.confirm_ns) < 0) {
		pk_reply_error(reply, 400, "confirm: expected seconds, 1 to %d; found `%s`",
			MAX_CONFIRM_S, confirm);
		return;
	}
	if (!request->n_body) {
		pk_reply_error(reply, 400, "the body must be the new config");
		return;
	}
	int r = pk_daemon_config_apply(daemon, &apply, &reply->body, &err);
	if (r == 0)
		return;
	reply->status = 409;
	if (r != -EINVAL) // else the problems say it all
		json_object_set_new(reply->body, "error", json_string(pk_err_text(&err, r)));
}

static void answer(struct pk_reply *reply, int r, const struct pk_err *err)
{
	if (r < 0)
		pk_reply_error(reply, 409, "%s", pk_err_text(err, r));
	else
		reply->body = json_pack("{s:b}", "ok", 1);
}

void pk_command_config_confirm(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	struct pk_err err = {0};
	int r = pk_daemon_config_confirm(daemon, &err);
	answer(reply, r, &err);
}

void pk_command_config_revert(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	struct pk_err err = {0};
	int r = pk_daemon_config_revert(daemon, &err);
	answer(reply, r, &err);
}
