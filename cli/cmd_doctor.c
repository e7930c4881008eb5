// SPDX-License-Identifier: Apache-2.0
// picketctl doctor: what a support engineer would look at first, with verdict and remedy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/print.h"

static const char usage[] =
	"usage: picketctl doctor [--after-upgrade] [--json]\n"
	"\n"
	"Looks at programs, config, runtimes, sandbox, disk, clock, heat, registries, models and\n"
	"cameras; says what is wrong and what to do about it.\n"
	"\n"
	"  --after-upgrade   also: which engines another JetPack, driver or Picket makes useless\n"
	"  --json            {ok, checks: [{check, verdict, text, remedy}]}\n"
	"\n"
	"Exit code: 0 nothing is bad (warnings may be), 1 something is.\n";

static void print_rows(const json_t *rows)
{
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row) {
		const char *verdict = pk_json_text(row, "verdict");
		const char *remedy = pk_json_text(row, "remedy");
		pk_print_word(strcmp(verdict, "bad") == 0 ? "error" : verdict, 8);
		printf("%-24s %s\n", pk_json_text(row, "check"), pk_json_text(row, "text"));
		if (remedy[0])
			printf("%-8s%-24s → %s\n", "", "", remedy);
	}
}

int pk_cmd_doctor(int argc, char **argv)
{
	bool upgrade = false, as_json = false;
	struct pk_doctor doctor;
	const struct pk_option rows[] = {
		PK_FLAG("after-upgrade", &upgrade), PK_FLAG("json", &as_json)};
	const struct pk_verb_line line = {"doctor", usage, rows, PK_ARRAY_LEN(rows), 0, 0, NULL};
	int code = pk_options_parse(&line, argc, argv, NULL);
	if (code != PK_GO_ON)
		return code;
	pk_doctor_look(&doctor, upgrade);
	bool ok = doctor.worst < PK_VERDICT_BAD;
	if (as_json) {
		json_t *json = json_pack("{s:b, s:O}", "ok", ok, "checks", doctor.rows);
		json_dumpf(json, stdout, JSON_INDENT(2));
		puts("");
		json_decref(json);
	} else {
		print_rows(doctor.rows);
	}
	pk_doctor_finish(&doctor);
	return ok ? PK_EXIT_OK : PK_EXIT_FAIL;
}
