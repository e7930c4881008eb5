// SPDX-License-Identifier: Apache-2.0
// picketctl: the command line of Picket. Finds the verb and hands over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/log.h"
#include "cli/cmd.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct verb verbs[] = {
	{"status", pk_cmd_status, "one look at everything: cameras, models, alarms"},
	{"cameras", pk_cmd_cameras, "each camera: state, rate, frame age, rung"},
	{"camera", pk_cmd_camera, "look at one camera: formats, rate, jitter, a picture"},
	{"model", pk_cmd_model,
		"models and their updates: list, show, pull, pin, rollback, explain, …"},
	{"models", pk_cmd_models, NULL}, // model list
	{"top", pk_cmd_top, "cameras, models and the machine, live"},
	{"events", pk_cmd_events, "what happened, newest last; --follow"},
	{"logs", pk_cmd_logs, "Picket's records of the journal"},
	{"reload", pk_cmd_reload, "make picketd read its config again"},
	{"doctor", pk_cmd_doctor, "what is wrong with this node, and what to do about it"},
	{"support-bundle", pk_cmd_support, "one tar file for the developers, without secrets"},
	{"config", pk_cmd_config,
		"check, plan, apply, confirm or take back a config; check a card"},
	{"card", pk_cmd_card, "propose a model card for an ONNX file"},
	{"pull", pk_cmd_pull, "fetch an artifact into the store"},
	{"push", pk_cmd_push, "copy an artifact from a layout to a registry"},
	{"store", pk_cmd_store, "usage, cleaning and checking of the files on this node"},
	{"bundle", pk_cmd_bundle, "make an artifact of a model and its card; sign and verify it"},
	{"key", pk_cmd_key, "make a signing key, or say which key a file holds"},
	{"engine", pk_cmd_engine, "build, run, inspect, check and bench engines on files"},
};

static const char *root = "";

const char *pk_cli_root(void)
{
	return root;
}

static void usage(FILE *out)
{
	fprintf(out, "usage: picketctl [--root DIR] VERB [ARGUMENTS]\n\n");
	for (size_t i = 0; i < PK_ARRAY_LEN(verbs); i++) {
		if (verbs[i].help)
			fprintf(out, "  %-14s %s\n", verbs[i].name, verbs[i].help);
	}
	fprintf(out, "\n`picketctl VERB --help` tells more. --json prints JSON on every query.\n"
		     "--root DIR (or PICKET_ROOT) moves every path below DIR.\n");
}

// Global options stand before the verb. Returns the index of the verb, 0 on a mistake.
static int parse_globals(int argc, char **argv)
{
	const char *env = getenv("PICKET_ROOT");
	if (env)
		root = env;
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--root") == 0 && i + 1 < argc)
			root = argv[++i];
		else if (strncmp(argv[i], "--root=", 7) == 0)
			root = argv[i] + 7;
		else
			return 0;
	}
	return i < argc ? i : 0;
}

static int answer_global(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
		puts("picketctl " PICKET_VERSION);
		return PK_EXIT_OK;
	}
	bool asked = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
	usage(asked ? stdout : stderr);
	return asked ? PK_EXIT_OK : PK_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	pk_log_init("picketctl", PK_LOG_WARNING);
	int at = parse_globals(argc, argv);
	if (at == 0)
		return answer_global(argc, argv);
	for (size_t i = 0; i < PK_ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[at], verbs[i].name) == 0)
			return verbs[i].run(argc - at, argv + at);
	}
	fprintf(stderr, "picketctl: no verb `%s`; `picketctl --help` lists them\n", argv[at]);
	return PK_EXIT_USAGE;
}
