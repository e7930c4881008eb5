// SPDX-License-Identifier: Apache-2.0
// picketctl logs: Picket's records of the journal, by journalctl.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "cli/cmd.h"
#include "cli/options.h"

#define MAX_ARGUMENTS 24

static const char usage[] =
	"usage: picketctl logs [-f] [-n N] [--camera NAME | --model NAME] [--explain] [--json]\n"
	"\n"
	"What picketd, its worker and its builder wrote to the journal, newest last. This runs\n"
	"journalctl, which can do much more: `journalctl -u picketd --since today`.\n"
	"\n"
	"  -f, --follow      go on as new records come\n"
	"  -n, --lines N     the last N (default: 100)\n"
	"  --camera NAME     records of one camera\n"
	"  --model NAME      records of one model\n"
	"  --explain         with the catalog's explanation and what to do\n"
	"  --directory DIR   a journal folder instead of this machine's\n"
	"  --json            one JSON object a line, all fields\n";

struct command {
	const char *argv[MAX_ARGUMENTS];
	size_t n;
	char *owned[2]; // matches that were put together
	size_t n_owned;
};

static void add(struct command *command, const char *argument)
{
	if (command->n + 1 < MAX_ARGUMENTS)
		command->argv[command->n++] = argument;
}

static void add_match(struct command *command, const char *field, const char *value)
{
	char *match = NULL;
	if (command->n_owned == PK_ARRAY_LEN(command->owned) ||
		asprintf(&match, "%s=%s", field, value) < 0)
		return;
	command->owned[command->n_owned++] = match;
	add(command, match);
}

static const char *take_camera(void *command, const char *name)
{
	add_match(command, "PICKET_CAMERA", name);
	return NULL;
}

static const char *take_model(void *command, const char *name)
{
	add_match(command, "PICKET_MODEL", name);
	return NULL;
}

static int parse(int argc, char **argv, struct command *command)
{
	const char *lines = "100", *directory = NULL;
	bool follow = false, explain = false, as_json = false;
	const struct pk_option rows[] = {
		{.name = "follow", .letter = 'f', .to = &follow},
		{.name = "lines", .letter = 'n', .kind = PK_OPTION_TEXT, .to = &lines},
		PK_CALL("camera", take_camera, command),
		PK_CALL("model", take_model, command),
		PK_FLAG("explain", &explain),
		PK_TEXT("directory", &directory),
		PK_FLAG("json", &as_json),
	};
	const struct pk_verb_line line = {"logs", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	if (follow)
		add(command, "--follow");
	if (explain)
		add(command, "--catalog");
	if (directory)
		add(command, "--directory");
	if (directory)
		add(command, directory);
	if (as_json)
		add(command, "--output=json");
	add(command, "--lines");
	add(command, lines);
	return code;
}

int pk_cmd_logs(int argc, char **argv)
{
	struct command command = {.argv = {"journalctl", "--no-pager", "--quiet", "-t", "picketd",
					  "-t", "picket-worker", "-t", "picket-build"},
		.n = 9};
	int code = parse(argc, argv, &command);
	if (code != PK_GO_ON)
		return code;
	execvp(command.argv[0], (char *const *)(uintptr_t)command.argv);
	fprintf(stderr, "picketctl: journalctl: %s\n", strerror(errno));
	for (size_t i = 0; i < command.n_owned; i++)
		free(command.owned[i]);
	return PK_EXIT_FAIL;
}
