// SPDX-License-Identifier: Apache-2.0
// picketctl status: everything at one look.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] = "usage: picketctl status [--json]\n"
			    "\n"
			    "One look at everything: worker, cameras, models, alarms.\n"
			    "Exit code: 0, or 1 when picketd does not answer.\n";

static void print_alarms(const json_t *alarms)
{
	size_t i;
	json_t *alarm;
	json_array_foreach (alarms, i, alarm) {
		fputs("  ", stdout);
		pk_print_word("alert", 0);
		printf("  model %s: %s since %s\n", pk_json_text(alarm, "model"),
			pk_json_text(alarm, "cause"), pk_json_text(alarm, "since"));
	}
}

static void print_models(const json_t *models)
{
	size_t i;
	json_t *model;
	json_array_foreach (models, i, model) {
		const char *cause = pk_json_text(model, "cause");
		printf("  model %s: ", pk_json_text(model, "name"));
		pk_print_word(pk_json_text(model, "rung"), 0);
		printf("%s%s%s\n", cause[0] ? " (" : "", cause, cause[0] ? ")" : "");
	}
}

static void print_cameras(const json_t *cameras)
{
	size_t i;
	json_t *camera;
	json_array_foreach (cameras, i, camera) {
		printf("  camera %s: ", pk_json_text(camera, "name"));
		pk_print_word(pk_json_text(camera, "state"), 0);
		printf(", %.1f fps, age p99 %.0f ms, %.0f dropped\n", pk_json_number(camera, "fps"),
			pk_json_number(camera, "age_p99_ms"), pk_json_number(camera, "dropped"));
	}
}

static void print_sinks(const json_t *sinks)
{
	size_t i;
	json_t *sink;
	json_array_foreach (sinks, i, sink) {
		const char *cause = pk_json_text(sink, "cause");
		printf("  sink %s: ", pk_json_text(sink, "name"));
		pk_print_word(pk_json_text(sink, "state"), 0);
		printf("%s%s%s, %.0f results, %.0f dropped\n", cause[0] ? " (" : "", cause,
			cause[0] ? ")" : "", pk_json_number(sink, "taken"),
			pk_json_number(sink, "dropped"));
	}
}

static void print_status(const json_t *status)
{
	const json_t *worker = json_object_get(status, "worker");
	const json_t *config = json_object_get(status, "config");
	char uptime[PK_DURATION_MAX], rss[PK_SIZE_TEXT];
	double seconds = pk_json_number(status, "uptime_s");
	pk_format_duration((int64_t)(seconds * (double)PK_NS_PER_S), uptime);
	pk_format_size(pk_json_number(worker, "rss_bytes"), rss);
	printf("%s: %s\n", pk_json_text(status, "node"), pk_json_text(status, "status"));
	printf("  picketd %s, up %s; worker pid %.0f, %s, %.0f restarts\n",
		pk_json_text(status, "version"), uptime, pk_json_number(worker, "pid"), rss,
		pk_json_number(worker, "restarts"));
	if (pk_json_number(config, "refused_problems") > 0)
		printf("  the last reload found %.0f mistakes; the config of %s is in force\n",
			pk_json_number(config, "refused_problems"), pk_json_text(config, "loaded"));
	print_alarms(json_object_get(status, "alarms"));
	print_models(json_object_get(status, "models"));
	print_cameras(json_object_get(status, "cameras"));
	print_sinks(json_object_get(status, "sinks"));
}

int pk_cmd_status(int argc, char **argv)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	bool as_json = false;
	const struct pk_option rows[] = {PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {"status", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	if (code != PK_GO_ON)
		return code;
	int r = pk_client_get(PK_API_STATUS, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	if (as_json)
		puts(answer.text);
	else
		print_status(answer.json);
	pk_answer_finish(&answer);
	return PK_EXIT_OK;
}
