// SPDX-License-Identifier: Apache-2.0
// Sends a config to picketd, shows what it changes, confirms it or takes it back.
#include "cli/config_node.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "config/quantity.h"
#include "config/yaml.h"
#include "daemon/control_api.h"

struct arguments {
	const char *verb, *file, *confirm;
	bool json, help;
};

static int parse(int argc, char **argv, struct arguments *out)
{
	static const struct option longs[] = {{"confirm", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
	*out = (struct arguments){.verb = argv[0]};
	bool takes_file = strcmp(argv[0], "plan") == 0 || strcmp(argv[0], "apply") == 0;
	optind = 0;
	opterr = 0;
	for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
		if (c == '?' || (c == 'c' && strcmp(argv[0], "apply") != 0))
			return -1;
		out->json |= c == 'j';
		out->help |= c == 'h';
		if (c == 'c')
			out->confirm = optarg;
	}
	if (takes_file && optind < argc)
		out->file = argv[optind++];
	return optind == argc && (out->help || !takes_file == !out->file) ? 0 : -1;
}

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
	else if (strcmp(arguments->verb, "plan") != 0)
		puts(arguments->file ? "config taken" : "done");
	return PK_EXIT_OK;
}

static int make_path(const struct arguments *arguments, char path[128])
{
	struct pk_err err = {0};
	int64_t ns = 0;
	bool plan = strcmp(arguments->verb, "plan") == 0;
	if (!arguments->file) {
		snprintf(path, 128, PK_API_CONFIG "/%s", arguments->verb);
		return 0;
	}
	if (arguments->confirm && pk_quantity_duration(arguments->confirm, &ns, &err) < 0) {
		fprintf(stderr, "picketctl: --confirm: %s\n", err.text);
		return -1;
	}
	if (arguments->confirm && ns < PK_NS_PER_S) {
		fputs("picketctl: --confirm: at least 1s\n", stderr);
		return -1;
	}
	if (ns > 0)
		snprintf(path, 128, PK_API_CONFIG "?confirm=%lld", (long long)(ns / PK_NS_PER_S));
	else
		snprintf(path, 128, PK_API_CONFIG "%s", plan ? "?plan=1" : "");
	return 0;
}

int pk_cmd_config_node(int argc, char **argv)
{
	struct arguments arguments;
	struct pk_answer answer;
	struct pk_err err = {0};
	char path[128];
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, PK_YAML_MAX_BYTES + 1);
	if (parse(argc, argv, &arguments) < 0 || arguments.help) {
		fputs("see picketctl config --help\n", arguments.help ? stdout : stderr);
		return arguments.help ? PK_EXIT_OK : PK_EXIT_USAGE;
	}
	if (make_path(&arguments, path) < 0)
		return PK_EXIT_USAGE;
	int r = arguments.file ? pk_fs_read(arguments.file, PK_YAML_MAX_BYTES, &bytes, &err) : 0;
	if (r == 0)
		r = pk_client_send(path, bytes.data, bytes.len, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	int code = report(&arguments, &answer);
	pk_answer_finish(&answer);
	return code;
}
