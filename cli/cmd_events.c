// SPDX-License-Identifier: Apache-2.0
// picketctl events: what happened, and what happens.
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl events [--after ID] [--follow] [--json]\n"
	"\n"
	"The last events, oldest first. --follow goes on until it is interrupted; with --json one\n"
	"object a line. docs/EVENTS.md says what each event means.\n";

static const char *priority_word(double priority)
{
	if (priority <= 2)
		return "alert";
	if (priority <= 3)
		return "error";
	return priority <= 4 ? "warning" : "";
}

static void print_event(const json_t *event)
{
	printf("%6.0f  %.19sZ  ", pk_json_number(event, "id"), pk_json_text(event, "time"));
	pk_print_word(priority_word(pk_json_number(event, "priority")), 7);
	printf("  %-15s  %s\n", pk_json_text(event, "name"), pk_json_text(event, "message"));
}

static int on_line(void *ctx, const char *text, size_t n)
{
	const bool *as_json = ctx;
	pk_auto_json event = NULL;
	if (*as_json)
		printf("%.*s\n", (int)n, text);
	else if (pk_json_parse(text, n, "event", &event, NULL) == 0)
		print_event(event);
	// Nobody reads any more when the pipe is closed: end.
	return fflush(stdout) != 0;
}

struct options {
	bool json, follow;
	const char *after;
};

static int print_list(const struct options *options, int64_t *last_id)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	char path[96];
	snprintf(path, sizeof(path), PK_API_EVENTS "?after=%.40s", options->after);
	int r = pk_client_get(path, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	size_t i;
	json_t *event;
	*last_id = (int64_t)pk_json_number(answer.json, "last_id");
	if (options->json && !options->follow)
		puts(answer.text);
	else
		json_array_foreach (json_object_get(answer.json, "events"), i, event) {
			pk_auto_free char *text =
				options->json ? json_dumps(event, JSON_COMPACT) : NULL;
			if (text)
				puts(text);
			else
				print_event(event);
		}
	pk_answer_finish(&answer);
	return fflush(stdout) == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_cmd_events(int argc, char **argv)
{
	struct options options = {.after = "0"};
	struct pk_err err = {0};
	int64_t last_id = 0;
	char path[96];
	const struct pk_option rows[] = {
		{.name = "follow", .letter = 'f', .to = &options.follow},
		PK_TEXT("after", &options.after),
		PK_FLAG("json", &options.json),
	};
	const struct pk_verb_line line = {"events", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	if (code != PK_GO_ON)
		return code;
	code = print_list(&options, &last_id);
	if (code != PK_EXIT_OK || !options.follow)
		return code;
	snprintf(path, sizeof(path), PK_API_EVENTS "?follow=1&after=%lld", (long long)last_id);
	int r = pk_client_follow(path, on_line, &options.json, &err);
	return r < 0 ? pk_print_failure(&err, r) : PK_EXIT_OK;
}
