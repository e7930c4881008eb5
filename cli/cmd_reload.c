// SPDX-License-Identifier: Apache-2.0
// picketctl reload: picketd reads its config again, and says what is wrong with it.
#include <stdio.h>

#include "cli/client.h"
#include "cli/cmd.h"
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
	struct pk_query_options options;
	struct pk_answer answer;
	struct pk_err err = {0};
	if (pk_query_parse(argc, argv, "", &options) < 0)
		return PK_EXIT_USAGE;
	if (options.help) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	int r = pk_client_call("POST", PK_API_RELOAD, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	bool ok = answer.status == 200;
	if (options.json)
		puts(answer.text);
	else if (ok)
		puts("config taken");
	else
		print_problems(json_object_get(answer.json, "problems"));
	pk_answer_finish(&answer);
	return ok ? PK_EXIT_OK : PK_EXIT_USAGE;
}
