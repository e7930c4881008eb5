// SPDX-License-Identifier: Apache-2.0
// POST /v1/reload: the config anew, or why not.
#include "daemon/commands/route.h"

void pk_command_reload(struct pk_daemon *daemon, pk_unused const struct pk_request *request,
	struct pk_reply *reply)
{
	json_t *problems = NULL;
	bool ok = pk_daemon_reload(daemon, &problems);
	reply->status = ok ? 200 : 409;
	reply->body = json_pack("{s:b, s:o}", "ok", (int)ok, "problems", problems);
}
