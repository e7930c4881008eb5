// SPDX-License-Identifier: Apache-2.0
// /v1/models and what can be done with one.
#include <errno.h>
#include <string.h>

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

void pk_command_explain(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	const struct pk_model *model = pk_daemon_model(daemon, request->name);
	pk_reply_found(reply, model ? pk_model_explain_json(model) : NULL, "model", request->name);
}

void pk_command_history(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	const struct pk_model *model = pk_daemon_model(daemon, request->name);
	pk_reply_found(reply, model ? pk_model_history(model) : NULL, "model", request->name);
}

static void command(struct pk_daemon *daemon, const struct pk_request *request,
	struct pk_reply *reply, enum pk_model_verb verb)
{
	struct pk_err err = {0};
	struct pk_model *model = pk_daemon_model(daemon, request->name);
	const char *any_seq = request->query(request, "any_seq");
	if (!model) {
		pk_reply_found(reply, NULL, "model", request->name);
		return;
	}
	int r = pk_model_command(model, verb, request->query(request, "digest"),
		any_seq && strcmp(any_seq, "1") == 0, &err);
	if (r < 0)
		pk_reply_error(reply, r == -EINVAL ? 400 : 409, "model %s: %s", request->name,
			pk_err_text(&err, r));
	else
		reply->body = json_pack("{s:b}", "ok", 1);
}

void pk_command_check(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_CHECK);
}

void pk_command_pull(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_PULL);
}

void pk_command_pin(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_PIN);
}

void pk_command_unpin(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_UNPIN);
}

void pk_command_cancel(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_CANCEL);
}

void pk_command_rollback(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	command(daemon, request, reply, PK_MODEL_ROLLBACK);
}
