// SPDX-License-Identifier: Apache-2.0
// picketctl top: the status as a live table.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl top [--once] [--interval S] [--json]\n"
	"\n"
	"Cameras, models and the machine, drawn anew each second until ^C.\n"
	"\n"
	"  --once         draw it once and end; also when the output is no terminal\n"
	"  --interval S   seconds between two (default: 1)\n"
	"  --json         GET /v1/status, one object a line\n";

static const char *const camera_headings[] = {"CAMERA", "STATE", "FPS", "AGE P50", "AGE P99",
	"INFER", "DROPPED", "FOUND", "MODEL", "RUNG"};
static const char *const model_headings[] = {"MODEL", "RUNG", "RUNTIME", "BUILD", "CAUSE"};

static void add_camera(struct pk_table *table, const json_t *camera)
{
	static const struct {
		const char *member, *format;
	} numbers[] = {{"fps", "%.1f"}, {"age_p50_ms", "%.0f ms"}, {"age_p99_ms", "%.0f ms"},
		{"inference_p50_ms", "%.1f ms"}, {"dropped", "%.0f"}, {"detections", "%.0f"}};
	pk_table_add(table, "%s", pk_json_text(camera, "name"));
	pk_table_add(table, "%s", pk_json_text(camera, "state"));
	for (size_t i = 0; i < PK_ARRAY_LEN(numbers); i++) {
		char text[32];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), numbers[i].format,
			pk_json_number(camera, numbers[i].member));
#pragma GCC diagnostic pop
		pk_table_add(table, "%s", text);
	}
	pk_table_add(table, "%s", pk_json_text(camera, "model"));
	pk_table_add(table, "%s", pk_json_text(camera, "rung"));
}

static void draw_cameras(const json_t *cameras)
{
	struct pk_table table = {.headings = camera_headings,
		.n_columns = PK_ARRAY_LEN(camera_headings),
		.right = 0xfc};
	size_t i;
	json_t *camera;
	json_array_foreach (cameras, i, camera)
		add_camera(&table, camera);
	pk_table_print(&table);
	pk_table_finish(&table);
}

static void draw_models(const json_t *models)
{
	struct pk_table table = {
		.headings = model_headings, .n_columns = PK_ARRAY_LEN(model_headings)};
	size_t i;
	json_t *model;
	json_array_foreach (models, i, model) {
		const json_t *build = json_object_get(model, "build");
		pk_table_add(&table, "%s", pk_json_text(model, "name"));
		pk_table_add(&table, "%s", pk_json_text(model, "rung"));
		pk_table_add(&table, "%s", pk_json_text(model, "runtime"));
		if (json_is_object(build))
			pk_table_add(&table, "%s %.0f/%.0f", pk_json_text(build, "phase"),
				pk_json_number(build, "done"), pk_json_number(build, "total"));
		else
			pk_table_add(&table, "%s", "");
		pk_table_add(&table, "%s", pk_json_text(model, "cause"));
	}
	pk_table_print(&table);
	pk_table_finish(&table);
}

// The zone with the least room left.
static const json_t *hottest(const json_t *zones)
{
	size_t i;
	json_t *zone;
	const json_t *found = NULL;
	json_array_foreach (zones, i, zone) {
		if (!found || pk_json_number(zone, "celsius") > pk_json_number(found, "celsius"))
			found = zone;
	}
	return found;
}

static void draw_machine(const json_t *health, const json_t *builder)
{
	char memory[PK_SIZE_TEXT], disk[PK_SIZE_TEXT];
	const json_t *zone = hottest(json_object_get(health, "zones"));
	pk_format_size(pk_json_number(health, "memory_available_bytes"), memory);
	pk_format_size(pk_json_number(health, "disk_free_bytes"), disk);
	printf("memory %s free, disk %s free", memory, disk);
	if (zone)
		printf(", %s %.0f °C", pk_json_text(zone, "name"), pk_json_number(zone, "celsius"));
	if (pk_json_text(health, "power_mode")[0])
		printf(", power mode %s", pk_json_text(health, "power_mode"));
	printf(", builder %s\n", pk_json_text(builder, "state"));
}

static void draw(const json_t *status, bool clear)
{
	if (clear)
		fputs("\033[H\033[J", stdout);
	printf("%s: %s\n", pk_json_text(status, "node"), pk_json_text(status, "status"));
	draw_machine(json_object_get(status, "health"), json_object_get(status, "builder"));
	putchar('\n');
	draw_cameras(json_object_get(status, "cameras"));
	putchar('\n');
	draw_models(json_object_get(status, "models"));
	fflush(stdout);
}

struct options {
	bool once, json, help;
	double interval_s;
};

static int parse(int argc, char **argv, struct options *out)
{
	*out = (struct options){.interval_s = 1};
	const struct pk_option rows[] = {
		PK_FLAG("once", &out->once),
		PK_NUMBER("interval", &out->interval_s, 0.1, 3600),
		PK_FLAG("json", &out->json),
	};
	const struct pk_verb_line line = {"top", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	return pk_options_parse(&line, argc, argv, NULL);
}

int pk_cmd_top(int argc, char **argv)
{
	struct options options;
	struct pk_answer answer;
	struct pk_err err = {0};
	int code = parse(argc, argv, &options);
	if (code != PK_GO_ON)
		return code;
	bool live = !options.once && isatty(STDOUT_FILENO);
	bool go_on = live || (options.json && !options.once);
	do {
		int r = pk_client_get(PK_API_STATUS, &answer, &err);
		if (r < 0)
			return pk_print_failure(&err, r);
		if (options.json)
			puts(answer.text);
		else
			draw(answer.json, live);
		pk_answer_finish(&answer);
		if (fflush(stdout) != 0)
			return PK_EXIT_OK; // nobody reads any more
		if (go_on)
			(void)poll(NULL, 0, (int)(options.interval_s * 1000));
	} while (go_on);
	return PK_EXIT_OK;
}
