// SPDX-License-Identifier: Apache-2.0
// picketctl config: check one offline; plan, apply, confirm and take back the node's.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cli/cmd.h"
#include "cli/config_node.h"
#include "config/card.h"
#include "config/config.h"

static void usage(FILE *out)
{
	fputs("usage: picketctl config check [--card] [--json] [FILE]\n"
	      "       picketctl config plan FILE [--json]\n"
	      "       picketctl config apply FILE [--confirm TIME] [--json]\n"
	      "       picketctl config confirm | revert\n\n"
	      "Checks FILE (default: the node's picket.yaml and picket.d) and prints every mistake "
	      "as\n"
	      "file:line:col. Exit code 0: right, 2: mistakes, 1: could not be read.\n"
	      "  --card   FILE is a model card\n"
	      "  --json   {ok, problems: [{file, line, column, text}]}\n\n"
	      "plan says what FILE would change and restart on the running node; apply makes it "
	      "its\n"
	      "picket.yaml. With --confirm TIME (60s, 5m) it is on trial: after that time the one\n"
	      "before comes back by itself, also when picketd or the machine was started anew,\n"
	      "unless `confirm` came and all cameras that ran before run again. revert does it "
	      "now.\n",
		out);
}

static void print_json(const struct pk_problems *problems)
{
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 20);
	pk_buf_printf(&out, "{\"ok\":%s,\"problems\":[", problems->n ? "false" : "true");
	for (size_t i = 0; i < problems->n; i++) {
		const struct pk_problem *problem = &problems->items[i];
		pk_buf_printf(&out, "%s{\"file\":", i ? "," : "");
		pk_buf_json_string(&out, problem->file);
		pk_buf_printf(&out, ",\"line\":%d,\"column\":%d,\"text\":", problem->line,
			problem->column);
		pk_buf_json_string(&out, problem->text);
		pk_buf_str(&out, "}");
	}
	pk_buf_str(&out, "]}");
	puts(pk_buf_cstr(&out));
}

static int check_card(const char *path, struct pk_problems *problems)
{
	pk_auto(pk_card) card = NULL;
	return pk_card_load(path, &card, problems);
}

static int check_config(const char *path, struct pk_problems *problems)
{
	pk_auto(pk_config) config = NULL;
	if (path)
		return pk_config_load(path, NULL, &config, problems);
	pk_auto_free char *main_path = pk_fs_join(pk_cli_root(), "etc/picket/picket.yaml");
	pk_auto_free char *drop_in = pk_fs_join(pk_cli_root(), "etc/picket/picket.d");
	if (!main_path || !drop_in)
		return -ENOMEM;
	return pk_config_load(main_path, drop_in, &config, problems);
}

struct arguments {
	bool card, json;
	const char *path; // NULL: the node's own config
};

// -1, or the exit code.
static int parse_arguments(int argc, char **argv, struct arguments *out)
{
	static const struct option options[] = {{"card", no_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
	*out = (struct arguments){0};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (c == 'h' || c == '?') {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? PK_EXIT_OK : PK_EXIT_USAGE;
		}
		out->card |= c == 'c';
		out->json |= c == 'j';
	}
	out->path = optind < argc ? argv[optind] : NULL;
	if (optind + 1 < argc || (out->card && !out->path)) {
		usage(stderr);
		return PK_EXIT_USAGE;
	}
	return -1;
}

static void report(const struct arguments *arguments, struct pk_problems *problems, int error)
{
	if (arguments->json)
		print_json(problems);
	else if (problems->n)
		pk_problems_print(problems, stderr);
	else if (error < 0)
		fprintf(stderr, "picketctl: %s: %s\n", arguments->path ? arguments->path : "config",
			strerror(-error));
	else
		puts("ok");
}

static int check(int argc, char **argv)
{
	struct arguments arguments;
	int code = parse_arguments(argc, argv, &arguments);
	if (code >= 0)
		return code;
	struct pk_problems problems = {0};
	int r = arguments.card ? check_card(arguments.path, &problems)
			       : check_config(arguments.path, &problems);
	report(&arguments, &problems, r);
	pk_problems_finish(&problems);
	return r == 0 ? PK_EXIT_OK : r == -EINVAL ? PK_EXIT_USAGE : PK_EXIT_FAIL;
}

int pk_cmd_config(int argc, char **argv)
{
	for (size_t i = 0; argc >= 2 && i < PK_ARRAY_LEN(pk_config_verbs); i++) {
		if (strcmp(argv[1], pk_config_verbs[i]) == 0)
			return pk_cmd_config_node(argc - 1, argv + 1);
	}
	if (argc >= 2 && strcmp(argv[1], "check") == 0)
		return check(argc - 1, argv + 1);
	bool asked = argc >= 2 && strcmp(argv[1], "--help") == 0;
	usage(asked ? stdout : stderr);
	return asked ? PK_EXIT_OK : PK_EXIT_USAGE;
}
