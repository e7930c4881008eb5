// SPDX-License-Identifier: Apache-2.0
// picketctl reload: picketd reads its config again, and says what is wrong with it.
#include <stdio.h>

#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl reload [--json]\n"
	"\n"
	"Makes picketd read its config again. Only what changed is restarted. A config with\n"
	"mistakes is not taken: they are printed, and the old config stays in force.\n"
	"Exit code: 0 taken, 1 picketd does not answer, 2 mistakes.\n";

static void print_problems(const json_t *problems)
{
	size_t i;
	json_t *problem;
	json_array_foreach (problems, i, problem)
		fprintf(stderr, "%s\n", json_string_value(problem));
	fputs("picketctl: the config was not taken; the old one stays in force\n", stderr);
}

int pk_cmd_reload(int argc, char **argv)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	bool as_json = false;
	const struct pk_option rows[] = {PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {"reload", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	if (code != PK_GO_ON)
		return code;
	int r = pk_client_call("POST", PK_API_RELOAD, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	bool ok = answer.status == 200;
	if (as_json)
		puts(answer.text);
	else if (ok)
		puts("config taken");
	else
		print_problems(json_object_get(answer.json, "problems"));
	pk_answer_finish(&answer);
	return ok ? PK_EXIT_OK : PK_EXIT_USAGE;
}
