// SPDX-License-Identifier: Apache-2.0
// picketctl doctor: what a support engineer would look at first, with verdict and remedy.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/doctor.h"
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
	static const struct option longs[] = {{"after-upgrade", no_argument, NULL, 'u'},
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
	bool upgrade = false, as_json = false;
	struct pk_doctor doctor;
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
		if (c == 'h' || c == '?') {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? PK_EXIT_OK : PK_EXIT_USAGE;
		}
		upgrade |= c == 'u';
		as_json |= c == 'j';
	}
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
