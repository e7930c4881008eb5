// SPDX-License-Identifier: Apache-2.0
// /v1/models and what can be done with one.
#include "daemon/commands/route.h"

void pk_command_models(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	reply->body = pk_daemon_models_json(daemon);
}

void pk_command_model(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	pk_reply_found(reply, pk_daemon_model_json(daemon, request->name), "model", request->name);
}

void pk_command_rebuild(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	bool known = pk_daemon_rebuild(daemon, request->name) == 0;
	pk_reply_found(reply, known ? json_pack("{s:b}", "ok", 1) : NULL, "model", request->name);
}
