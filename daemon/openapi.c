// SPDX-License-Identifier: Apache-2.0
// Routes become paths, objects become schemas. Source: OpenAPI Specification 3.1.
#include "daemon/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "daemon/commands/route.h"

static const struct {
	const char *name, *help;
} objects[] = {
#define PK_OBJECT(name, help) {#name, help},
#define PK_MEMBER(object, member, type, help)
#include "daemon/api_list.h"
#undef PK_OBJECT
#undef PK_MEMBER
};

static const struct {
	const char *object, *member, *type, *help;
} members[] = {
#define PK_OBJECT(name, help)
#define PK_MEMBER(object, member, type, help) {#object, member, type, help},
#include "daemon/api_list.h"
#undef PK_OBJECT
#undef PK_MEMBER
};

static json_t *reference(const char *name)
{
	char text[96];
	snprintf(text, sizeof(text), "#/components/schemas/%s", name);
	return json_pack("{s:s}", "$ref", text);
}

static bool is_scalar(const char *type)
{
	static const char *const scalars[] = {"string", "integer", "number", "boolean"};
	for (size_t i = 0; i < PK_ARRAY_LEN(scalars); i++) {
		if (strcmp(type, scalars[i]) == 0)
			return true;
	}
	return false;
}

// type without [] and ?.
static json_t *plain_type(const char *type, bool nullable)
{
	if (strcmp(type, "any") == 0)
		return json_object();
	if (is_scalar(type))
		return nullable ? json_pack("{s:[s,s]}", "type", type, "null")
				: json_pack("{s:s}", "type", type);
	return nullable ? json_pack("{s:[o,{s:s}]}", "oneOf", reference(type), "type", "null")
			: reference(type);
}

static json_t *type_json(const char *type)
{
	char plain[32];
	size_t n = strcspn(type, "[?");
	bool list = strstr(type, "[]") != NULL, nullable = strchr(type, '?') != NULL;
	snprintf(plain, sizeof(plain), "%.*s", (int)n, type);
	if (list)
		return json_pack("{s:s, s:o}", "type", "array", "items", plain_type(plain, false));
	return plain_type(plain, nullable);
}

static json_t *schema_json(const char *object)
{
	json_t *properties = json_object(), *required = json_array();
	for (size_t i = 0; i < PK_ARRAY_LEN(members); i++) {
		if (strcmp(members[i].object, object) != 0)
			continue;
		json_t *type = type_json(members[i].type);
		if (members[i].help[0])
			json_object_set_new(type, "description", json_string(members[i].help));
		json_object_set_new(properties, members[i].member, type);
		json_array_append_new(required, json_string(members[i].member));
	}
	return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
		required);
}

static json_t *schemas_json(void)
{
	json_t *schemas = json_object();
	for (size_t i = 0; i < PK_ARRAY_LEN(objects); i++) {
		json_t *schema = schema_json(objects[i].name);
		json_object_set_new(schema, "description", json_string(objects[i].help));
		json_object_set_new(schemas, objects[i].name, schema);
	}
	return schemas;
}

static json_t *answer_json(const char *help, const char *object)
{
	return json_pack("{s:s, s:{s:{s:o}}}", "description", help, "content", "application/json",
		"schema", reference(object));
}

static json_t *responses_json(const struct pk_route *route)
{
	json_t *responses = json_object();
	const char *object = route->answer ? route->answer : "done";
	if (strcmp(object, "text") == 0)
		json_object_set_new(responses, "200",
			json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", route->help, "content",
				"text/plain", "schema", "type", "string"));
	else
		json_object_set_new(responses, "200", answer_json(route->help, object));
	json_object_set_new(responses, "default", answer_json("it was not done", "error"));
	return responses;
}

static json_t *parameters_json(const struct pk_route *route)
{
	json_t *list = json_array();
	if (strstr(route->path, "{name}"))
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", "name", "in", "path",
				      "required", 1, "schema", "type", "string"));
	// "after:integer follow:integer"
	for (const char *at = route->query; at && *at;) {
		char name[32], type[32];
		int n = 0;
		if (sscanf(at, "%31[^:]:%31s %n", name, type, &n) != 2 || n == 0)
			break;
		json_array_append_new(list, json_pack("{s:s, s:s, s:{s:s}}", "name", name, "in",
						    "query", "schema", "type", type));
		at += n;
	}
	return list;
}

static json_t *paths_json(void)
{
	json_t *paths = json_object();
	for (const struct pk_route *route = pk_route_table; route->method; route++) {
		char method[16];
		size_t n = 0;
		for (; route->method[n] && n < sizeof(method) - 1; n++)
			method[n] = (char)tolower((unsigned char)route->method[n]);
		method[n] = '\0';
		json_t *path = json_object_get(paths, route->path);
		if (!path) {
			path = json_object();
			json_object_set_new(paths, route->path, path);
		}
		json_object_set_new(path, method,
			json_pack("{s:s, s:o, s:o}", "summary", route->help, "parameters",
				parameters_json(route), "responses", responses_json(route)));
	}
	return paths;
}

json_t *pk_openapi_json(void)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s, s:s}], s:o, s:{s:o}}", "openapi",
		"3.1.0", "info", "title", "Picket control API", "version", "1", "description",
		"HTTP over the unix socket /run/picket/control.sock; members may be added within "
		"v1. Who may connect: root and the group picket.",
		"servers", "url", "http://picketd", "description",
		"any host name: the socket is the address", "paths", paths_json(), "components",
		"schemas", schemas_json());
}
