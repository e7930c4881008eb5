// SPDX-License-Identifier: Apache-2.0
// The route table and how a path finds its row.
#include "daemon/commands/route.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/control_api.h"
#include "daemon/text.h"

#define NAME_PART "{name}"

const struct pk_route pk_route_table[] = {
	{"GET", PK_API_STATUS, pk_command_status, "one look at everything", "status"},
	{"GET", PK_API_HEALTH, pk_command_health,
		"heat, power, memory, disk and time of the machine, and what follows from them",
		"health"},
	{"GET", PK_API_CAMERAS, pk_command_cameras, "each camera", "cameras"},
	{"GET", PK_API_CAMERAS "/" NAME_PART, pk_command_camera, "one camera", "camera"},
	{"GET", PK_API_MODELS, pk_command_models, "each model", "models"},
	{"GET", PK_API_MODELS "/" NAME_PART, pk_command_model, "one model", "model"},
	{"POST", PK_API_MODELS "/" NAME_PART "/" PK_API_REBUILD, pk_command_rebuild,
		"forget failures and build its tuned engine anew"},
	{"GET", PK_API_MODELS "/" NAME_PART "/explain", pk_command_explain,
		"why nothing happens to it, or what does", "explanation"},
	{"GET", PK_API_MODELS "/" NAME_PART "/history", pk_command_history, "what became of it",
		"history"},
	{"POST", PK_API_MODELS "/" NAME_PART "/check", pk_command_check, "look for a new one now"},
	{"POST", PK_API_MODELS "/" NAME_PART "/pull", pk_command_pull,
		"and take it whatever window and rollout say"},
	{"POST", PK_API_MODELS "/" NAME_PART "/pin", pk_command_pin,
		"stay at ?digest=, or at the active one; any_seq=1: an older one too", NULL,
		"digest:string any_seq:integer"},
	{"POST", PK_API_MODELS "/" NAME_PART "/unpin", pk_command_unpin,
		"follow the reference again"},
	{"POST", PK_API_MODELS "/" NAME_PART "/cancel", pk_command_cancel,
		"give up the update that is under way"},
	{"POST", PK_API_MODELS "/" NAME_PART "/rollback", pk_command_rollback,
		"back to the model before"},
	{"GET", PK_API_METRICS, pk_command_metrics, "every figure, as OpenMetrics", "text"},
	{"GET", PK_API_EVENTS, pk_command_events,
		"events after an id; follow=1: without end, one object a line", "events",
		"after:integer follow:integer"},
	{"POST", PK_API_CONFIG, pk_command_config_apply,
		"the body becomes picket.yaml; confirm=SECONDS: on trial; plan=1: only says what "
		"it does",
		"applied", "confirm:integer plan:integer"},
	{"POST", PK_API_CONFIG "/confirm", pk_command_config_confirm,
		"the config on trial stays, if all cameras came back"},
	{"POST", PK_API_CONFIG "/revert", pk_command_config_revert, "back to the config before it"},
	{"POST", PK_API_RELOAD, pk_command_reload, "read the config again", "reloaded"},
	{0},
};

static bool copy_name(char *name, size_t size, const char *from, size_t n)
{
	if (n == 0 || n >= size)
		return false;
	memcpy(name, from, n);
	name[n] = '\0';
	return true;
}

static bool matches(const char *pattern, const char *path, char *name, size_t name_size)
{
	const char *part = strstr(pattern, NAME_PART);
	if (!part)
		return strcmp(pattern, path) == 0;
	size_t head = (size_t)(part - pattern);
	if (strncmp(pattern, path, head) != 0)
		return false;
	size_t n = strcspn(path + head, "/");
	return strcmp(part + strlen(NAME_PART), path + head + n) == 0 &&
	       copy_name(name, name_size, path + head, n);
}

enum pk_route_match pk_route_find(const char *method, const char *path,
	const struct pk_route **route, char *name, size_t name_size)
{
	enum pk_route_match found = PK_ROUTE_NO_PATH;
	name[0] = '\0';
	for (const struct pk_route *it = pk_route_table; it->method; it++) {
		if (!matches(it->path, path, name, name_size))
			continue;
		if (strcmp(it->method, method) == 0) {
			*route = it;
			return PK_ROUTE_FOUND;
		}
		found = PK_ROUTE_NO_METHOD;
	}
	return found;
}

void pk_reply_error(struct pk_reply *reply, unsigned status, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_text_mend(text);
	reply->status = status;
	json_decref(reply->body);
	reply->body = json_pack("{s:s}", "error", text);
}

void pk_reply_found(struct pk_reply *reply, json_t *body, const char *what, const char *name)
{
	if (body)
		reply->body = body;
	else
		pk_reply_error(reply, 404, "no %s `%s` in the config", what, name);
}
