// SPDX-License-Identifier: Apache-2.0
// picketctl models: rung and why, build progress, rebuild.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl models [NAME] [--json]\n"
	"       picketctl models --rebuild NAME\n"
	"\n"
	"Each model: where it stands on the fallback chain and why, what serves it, and the build\n"
	"that is under way. --rebuild forgets remembered failures and builds its engine anew; "
	"what\n"
	"serves goes on meanwhile.\n";

static const char *const headings[] = {
	"MODEL", "RUNG", "RUNTIME", "SINCE", "BUILD", "ARTIFACT", "CAUSE"};

static void add_build(struct pk_table *table, const json_t *model)
{
	const json_t *build = json_object_get(model, "build");
	char left[PK_DURATION_MAX];
	if (!json_is_object(build)) {
		bool waits = json_is_number(json_object_get(model, "next_retry_s"));
		double wait_s = pk_json_number(model, "next_retry_s");
		pk_format_duration((int64_t)(wait_s * (double)PK_NS_PER_S), left);
		pk_table_add(table, "%s%s", waits ? "again in " : "", waits ? left : "");
		return;
	}
	const json_t *eta = json_object_get(build, "eta_s");
	pk_format_duration((int64_t)(json_number_value(eta) * (double)PK_NS_PER_S), left);
	pk_table_add(table, "%s %s %.0f/%.0f%s%s", pk_json_text(build, "kind"),
		pk_json_text(build, "phase"), pk_json_number(build, "done"),
		pk_json_number(build, "total"), json_is_number(eta) ? ", left " : "",
		json_is_number(eta) ? left : "");
}

static void add_row(struct pk_table *table, const json_t *model)
{
	pk_table_add(table, "%s", pk_json_text(model, "name"));
	pk_table_add(table, "%s", pk_json_text(model, "rung"));
	pk_table_add(table, "%s", pk_json_text(model, "runtime"));
	pk_table_add(table, "%.19sZ", pk_json_text(model, "since"));
	add_build(table, model);
	pk_table_add(table, "%s", pk_json_text(model, "artifact"));
	pk_table_add(table, "%s", pk_json_text(model, "cause"));
}

static void print_table(const json_t *answer)
{
	struct pk_table table = {.headings = headings, .n_columns = PK_ARRAY_LEN(headings)};
	const json_t *models = json_object_get(answer, "models");
	size_t i;
	json_t *model;
	if (!models)
		add_row(&table, answer); // one model was asked for
	json_array_foreach (models, i, model)
		add_row(&table, model);
	pk_table_print(&table);
	pk_table_finish(&table);
}

static int rebuild(const char *name)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	pk_auto_free char *path = pk_client_path(PK_API_MODELS, name, PK_API_REBUILD);
	int r = pk_client_call("POST", path ? path : PK_API_MODELS, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	bool ok = answer.status == 200;
	if (ok)
		printf("%s: its engine is built anew\n", name);
	else
		fprintf(stderr, "picketctl: %s\n", pk_json_text(answer.json, "error"));
	pk_answer_finish(&answer);
	return ok ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_cmd_models(int argc, char **argv)
{
	struct pk_query_options options;
	struct pk_answer answer;
	struct pk_err err = {0};
	if (pk_query_parse(argc, argv, "nr", &options) < 0)
		return PK_EXIT_USAGE;
	if (options.help) {
		fputs(usage, stdout);
		return PK_EXIT_OK;
	}
	if (options.rebuild)
		return rebuild(options.rebuild);
	pk_auto_free char *path =
		options.name ? pk_client_path(PK_API_MODELS, options.name, NULL) : NULL;
	int r = pk_client_get(path ? path : PK_API_MODELS, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	if (options.json)
		puts(answer.text);
	else
		print_table(answer.json);
	pk_answer_finish(&answer);
	return PK_EXIT_OK;
}
