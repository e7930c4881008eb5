// SPDX-License-Identifier: Apache-2.0
// picketctl logs: Picket's records of the journal, by journalctl.
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "cli/cmd.h"

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

// 0, 1: help was asked for, -EINVAL.
static int parse(int argc, char **argv, struct command *command)
{
	static const struct option longs[] = {{"follow", no_argument, NULL, 'f'},
		{"lines", required_argument, NULL, 'n'}, {"camera", required_argument, NULL, 'c'},
		{"model", required_argument, NULL, 'm'}, {"explain", no_argument, NULL, 'x'},
		{"directory", required_argument, NULL, 'D'}, {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'}, {0}};
	const char *lines = "100";
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, "fn:h", longs, NULL)) != -1;) {
		switch (c) {
		case 'f':
			add(command, "--follow");
			break;
		case 'n':
			lines = optarg;
			break;
		case 'c':
			add_match(command, "PICKET_CAMERA", optarg);
			break;
		case 'm':
			add_match(command, "PICKET_MODEL", optarg);
			break;
		case 'x':
			add(command, "--catalog");
			break;
		case 'D':
			add(command, "--directory");
			add(command, optarg);
			break;
		case 'j':
			add(command, "--output=json");
			break;
		case 'h':
			return 1;
		default:
			return -EINVAL;
		}
	}
	add(command, "--lines");
	add(command, lines);
	return optind < argc ? -EINVAL : 0;
}

int pk_cmd_logs(int argc, char **argv)
{
	struct command command = {.argv = {"journalctl", "--no-pager", "--quiet", "-t", "picketd",
					  "-t", "picket-worker", "-t", "picket-build"},
		.n = 9};
	int r = parse(argc, argv, &command);
	if (r != 0) {
		fputs(usage, r > 0 ? stdout : stderr);
		return r > 0 ? PK_EXIT_OK : PK_EXIT_USAGE;
	}
	execvp(command.argv[0], (char *const *)(uintptr_t)command.argv);
	fprintf(stderr, "picketctl: journalctl: %s\n", strerror(errno));
	for (size_t i = 0; i < command.n_owned; i++)
		free(command.owned[i]);
	return PK_EXIT_FAIL;
}
