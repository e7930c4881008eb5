// SPDX-License-Identifier: Apache-2.0
// GET /v1/status, /v1/health, /v1/cameras and /metrics.
#include "daemon/commands/route.h"
#include "daemon/metrics.h"

void pk_command_status(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	reply->body = pk_daemon_status_json(daemon);
}

void pk_command_health(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	reply->body = pk_daemon_health_json(daemon);
}

void pk_command_metrics(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	bool open = pk_metrics_wants_open(request->header(request, "Accept"));
	reply->type = open ? PK_METRICS_TYPE_OPEN : PK_METRICS_TYPE_TEXT;
	pk_daemon_write_metrics(daemon, open, &reply->text);
}

void pk_command_cameras(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	reply->body = pk_daemon_cameras_json(daemon);
}

void pk_command_camera(
	struct pk_daemon *daemon, const struct pk_request *request, struct pk_reply *reply)
{
	pk_reply_found(
		reply, pk_daemon_camera_json(daemon, request->name), "camera", request->name);
}
