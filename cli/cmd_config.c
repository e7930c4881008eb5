// SPDX-License-Identifier: Apache-2.0
// picketctl config: check one offline; plan, apply, confirm and take back the node's.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cli/cmd.h"
#include "cli/config_node.h"
#include "cli/options.h"
#include "config/card.h"
#include "config/config.h"

const char pk_config_usage[] =
	"usage: picketctl config check [--card] [--json] [FILE]\n"
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
	"now.\n";

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

static int parse_arguments(int argc, char **argv, struct arguments *out)
{
	*out = (struct arguments){0};
	const struct pk_option rows[] = {PK_FLAG("card", &out->card), PK_FLAG("json", &out->json)};
	const struct pk_verb_line line = {
		"config check", pk_config_usage, rows, PK_ARRAY_LEN(rows), 0, 1, "one file"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	out->path = words.at[0];
	return out->card && !out->path ? pk_usage_mistake(line.verb, "which card?") : PK_GO_ON;
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
	if (code != PK_GO_ON)
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
	static const struct pk_verb verbs[] = {
		{"check", check},
		{"plan", pk_config_plan_verb},
		{"apply", pk_config_apply_verb},
		{"confirm", pk_config_confirm_verb},
		{"revert", pk_config_revert_verb},
	};
	return PK_RUN_VERB("config", pk_config_usage, verbs, argc, argv);
}
