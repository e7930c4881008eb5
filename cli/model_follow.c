// SPDX-License-Identifier: Apache-2.0
// Polls the model's state and draws what goes on.
#include "cli/model_follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "daemon/control_api.h"

#define LOOK_US 200000

enum outcome { GOES_ON, SERVES, GIVEN_UP };

static enum outcome judge(const json_t *model, bool begun, int64_t waited_ns)
{
	const json_t *update = json_object_get(model, "update");
	const char *phase = pk_json_text(update, "phase");
	bool idle = strcmp(phase, "idle") == 0;
	if (strcmp(phase, "observe") == 0 || strcmp(phase, "commit") == 0)
		return SERVES;
	if (!idle || (!begun && waited_ns < 2 * PK_NS_PER_S))
		return GOES_ON;
	return pk_json_text(update, "reason")[0] ? GIVEN_UP : SERVES;
}

static void draw(struct pk_progress *progress, const json_t *model)
{
	const json_t *update = json_object_get(model, "update");
	const json_t *bytes = json_object_get(update, "progress");
	const json_t *build = json_object_get(model, "build");
	const char *phase = pk_json_text(update, "phase");
	char what[80] = "";
	int done = 0, total = 1;
	if (json_is_object(bytes)) {
		char of[PK_SIZE_TEXT];
		pk_format_size(pk_json_number(bytes, "total_bytes"), of);
		snprintf(what, sizeof(what), "of %s", of);
		done = (int)(pk_json_number(bytes, "done_bytes") / 1024);
		total = (int)(pk_json_number(bytes, "total_bytes") / 1024) + 1;
	} else if (json_is_object(build)) {
		snprintf(what, sizeof(what), "%s", pk_json_text(build, "phase"));
		done = (int)pk_json_number(build, "done");
		total = (int)pk_json_number(build, "total") + 1;
	}
	pk_progress_tell(progress, phase, done, total, what);
}

static int finish(const char *name, const json_t *model, enum outcome outcome, bool json)
{
	const json_t *update = json_object_get(model, "update");
	const json_t *slot = json_object_get(update, "candidate");
	if (!json_is_object(slot))
		slot = json_object_get(update, "active");
	if (json) {
		pk_auto_free char *text = json_dumps(model, JSON_COMPACT);
		puts(text ? text : "{}");
	} else if (outcome == SERVES) {
		printf("%s: %s serves\n", name, pk_json_text(slot, "digest"));
	} else {
		fprintf(stderr, "picketctl: %s: %s\n", name, pk_json_text(update, "reason"));
	}
	return outcome == SERVES ? PK_EXIT_OK : PK_EXIT_FAIL;
}

int pk_model_follow(const char *name, bool json)
{
	struct pk_progress progress;
	struct pk_err err = {0};
	bool begun = false;
	int64_t start_ns = pk_now_ns();
	pk_auto_free char *path = pk_client_path(PK_API_MODELS, name, NULL);
	pk_progress_begin(&progress);
	for (;;) {
		struct pk_answer answer;
		int r = pk_client_get(path ? path : PK_API_MODELS, &answer, &err);
		if (r < 0) {
			pk_progress_end(&progress);
			return pk_print_failure(&err, r);
		}
		enum outcome outcome = judge(answer.json, begun, pk_now_ns() - start_ns);
		begun = begun ||
			strcmp(pk_json_text(json_object_get(answer.json, "update"), "phase"),
				"idle") != 0;
		if (outcome == GOES_ON) {
			draw(&progress, answer.json);
		} else {
			pk_progress_end(&progress);
			int code = finish(name, answer.json, outcome, json);
			pk_answer_finish(&answer);
			return code;
		}
		pk_answer_finish(&answer);
		usleep(LOOK_US);
	}
}
