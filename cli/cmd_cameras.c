// SPDX-License-Identifier: Apache-2.0
// picketctl cameras: a row for each.
#include <stdio.h>
#include <stdlib.h>

#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "daemon/control_api.h"

static const char usage[] =
	"usage: picketctl cameras [NAME] [--json]\n"
	"\n"
	"Each camera: state, results per second, age of a result (from the frame's\n"
	"capture), frames dropped, and the rung of its model.\n";

static const char *const headings[] = {"CAMERA", "STATE", "MODEL", "RUNG", "FPS", "AGE P50",
	"AGE P99", "INFER", "DROPPED", "FOUND", "CAUSE"};

static void add_row(struct pk_table *table, const json_t *camera)
{
	pk_table_add(table, "%s", pk_json_text(camera, "name"));
	pk_table_add(table, "%s", pk_json_text(camera, "state"));
	pk_table_add(table, "%s", pk_json_text(camera, "model"));
	pk_table_add(table, "%s", pk_json_text(camera, "rung"));
	pk_table_add(table, "%.1f", pk_json_number(camera, "fps"));
	pk_table_add(table, "%.0f ms", pk_json_number(camera, "age_p50_ms"));
	pk_table_add(table, "%.0f ms", pk_json_number(camera, "age_p99_ms"));
	pk_table_add(table, "%.1f ms", pk_json_number(camera, "inference_p50_ms"));
	pk_table_add(table, "%.0f", pk_json_number(camera, "dropped"));
	pk_table_add(table, "%.0f", pk_json_number(camera, "detections"));
	pk_table_add(table, "%s", pk_json_text(camera, "cause"));
}

static void print_table(const json_t *answer)
{
	struct pk_table table = {
		.headings = headings, .n_columns = PK_ARRAY_LEN(headings), .right = 0x3f0};
	const json_t *cameras = json_object_get(answer, "cameras");
	size_t i;
	json_t *camera;
	if (!cameras)
		add_row(&table, answer); // one camera was asked for
	json_array_foreach (cameras, i, camera)
		add_row(&table, camera);
	pk_table_print(&table);
	pk_table_finish(&table);
}

int pk_cmd_cameras(int argc, char **argv)
{
	struct pk_answer answer;
	struct pk_err err = {0};
	struct pk_words words;
	bool as_json = false;
	const struct pk_option rows[] = {PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {
		"cameras", usage, rows, PK_ARRAY_LEN(rows), 0, 1, "one camera or none"};
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	pk_auto_free char *path =
		words.n ? pk_client_path(PK_API_CAMERAS, words.at[0], NULL) : NULL;
	int r = pk_client_get(path ? path : PK_API_CAMERAS, &answer, &err);
	if (r < 0)
		return pk_print_failure(&err, r);
	if (as_json)
		puts(answer.text);
	else
		print_table(answer.json);
	pk_answer_finish(&answer);
	return PK_EXIT_OK;
}
