// SPDX-License-Identifier: Apache-2.0
// Sends a config to picketd, shows what it changes, confirms it or takes it back.
#include "cli/config_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "config/quantity.h"
#include "config/yaml.h"
#include "daemon/control_api.h"

struct arguments {
	const char *file;   // plan, apply
	int64_t confirm_ns; // apply: how long on trial; negative: at once for good
	bool plan, json;
};

static void print_changes(const json_t *changes)
{
	static const char *const kinds[] = {"cameras", "models", "sinks", "sections"};
	size_t n = 0, i;
	json_t *item;
	for (size_t k = 0; k < PK_ARRAY_LEN(kinds); k++) {
		json_array_foreach (json_object_get(changes, kinds[k]), i, item) {
			const char *change = pk_json_text(item, "change");
			printf("  %-8s %-20s %-8s %s\n", kinds[k], pk_json_text(item, "name"),
				change[0] ? change : "changed", pk_json_text(item, "effect"));
			n++;
		}
	}
	if (n == 0)
		puts("  nothing changes");
}

static int report(const struct arguments *arguments, const struct pk_answer *answer)
{
	const json_t *confirm = json_object_get(answer->json, "confirm_s");
	const char *error = pk_json_text(answer->json, "error");
	bool ok = answer->status == 200;
	size_t i;
	json_t *problem;
	if (arguments->json) {
		puts(answer->text);
		return ok ? PK_EXIT_OK : error[0] ? PK_EXIT_FAIL : PK_EXIT_USAGE;
	}
	json_array_foreach (json_object_get(answer->json, "problems"), i, problem)
		fprintf(stderr, "%s\n", json_string_value(problem));
	if (error[0])
		fprintf(stderr, "picketctl: %s\n", error);
	if (!ok)
		return error[0] ? PK_EXIT_FAIL : PK_EXIT_USAGE;
	if (arguments->file)
		print_changes(json_object_get(answer->json, "changes"));
	if (json_is_number(confirm))
		printf("on trial for %.0f s: `picketctl config confirm` keeps it\n",
			json_number_value(confirm));
	else if (!arguments->plan)
		puts(arguments->file ? "config taken" : "done");
	return PK_EXIT_OK;
}

// Sends what file holds, or nothing, to path.
static int call(const struct arguments *arguments, const char *path)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, PK_YAML_MAX_BYTES + 1);
	int r = arguments->file ? pk_fs_read(arguments->file, PK_YAML_MAX_BYTES, &bytes, &err) : 0;
	if (r == 0)
		r = pk_client_send(path, bytes.data, bytes.len, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	int code = report(arguments, &answer);
	pk_answer_finish(&answer);
	return code;
}

int pk_config_plan_verb(int argc, char **argv)
{
	struct arguments arguments = {.plan = true};
	struct pk_words words;
	const struct pk_option rows[] = {PK_FLAG("json", &arguments.json)};
	const struct pk_verb_line line = {
		"config plan", pk_config_usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one file"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	arguments.file = words.at[0];
	return call(&arguments, PK_API_CONFIG "?plan=1");
}

int pk_config_apply_verb(int argc, char **argv)
{
	struct arguments arguments = {.confirm_ns = -1};
	struct pk_words words;
	char path[128];
	const struct pk_option rows[] = {
		PK_DURATION("confirm", &arguments.confirm_ns), PK_FLAG("json", &arguments.json)};
	const struct pk_verb_line line = {
		"config apply", pk_config_usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one file"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	if (arguments.confirm_ns >= 0 && arguments.confirm_ns < PK_NS_PER_S)
		return pk_usage_mistake(line.verb, "--confirm: at least 1s");
	arguments.file = words.at[0];
	if (arguments.confirm_ns > 0)
		snprintf(path, sizeof(path), PK_API_CONFIG "?confirm=%lld",
			(long long)(arguments.confirm_ns / PK_NS_PER_S));
	else
		snprintf(path, sizeof(path), PK_API_CONFIG);
	return call(&arguments, path);
}

// A verb that takes nothing but --json.
static int plain_verb(const char *name, const char *path, int argc, char **argv)
{
	struct arguments arguments = {0};
	const struct pk_option rows[] = {PK_FLAG("json", &arguments.json)};
	const struct pk_verb_line line = {
		name, pk_config_usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	return code == PK_GO_ON ? call(&arguments, path) : code;
}

int pk_config_confirm_verb(int argc, char **argv)
{
	return plain_verb("config confirm", PK_API_CONFIG "/confirm", argc, argv);
}

int pk_config_revert_verb(int argc, char **argv)
{
	return plain_verb("config revert", PK_API_CONFIG "/revert", argc, argv);
}
