// SPDX-License-Identifier: Apache-2.0
// picketctl camera test: looks at one camera for a few seconds, whether picketd runs or not.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/camera_probe.h"
#include "cli/camera_target.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/print.h"
#include "config/config.h"

static const char usage[] =
	"usage: picketctl camera test [OPTIONS] NAME|ADDRESS\n\n"
	"Opens a camera for a few seconds and shows its formats, decoder, rate and jitter.\n"
	"NAME: a camera of the node's config. ADDRESS: rtsp://…, http://… (MJPEG),\n"
	"/dev/video0, csi:0, a video file, a folder or pattern of pictures, or test.\n"
	"A device that picketd has open cannot be opened a second time.\n\n"
	"  --seconds N           how long (default 5, at most 600)\n"
	"  --snapshot FILE.jpg   keep the last picture\n"
	"  --user NAME           for rtsp and http addresses\n"
	"  --password-file FILE  likewise\n"
	"  --udp                 rtsp over UDP\n"
	"  --insecure            any certificate will do\n"
	"  --json                the report as JSON\n\n"
	"Exit code 0: pictures came, 1: none, and why, 2: mistakes.\n";

struct arguments {
	struct pk_camera_target target;
	double seconds;
	const char *snapshot;
	bool json;
};

// PK_GO_ON, or the exit code.
static int parse_arguments(int argc, char **argv, struct arguments *out)
{
	*out = (struct arguments){.seconds = 5};
	const struct pk_option rows[] = {
		PK_NUMBER("seconds", &out->seconds, 0.1, 600),
		PK_TEXT("snapshot", &out->snapshot),
		PK_TEXT("user", &out->target.user),
		PK_TEXT("password-file", &out->target.password_file),
		PK_FLAG("udp", &out->target.udp),
		PK_FLAG("insecure", &out->target.insecure),
		PK_FLAG("json", &out->json),
	};
	const struct pk_verb_line line = {
		"camera test", usage, rows, PK_ARRAY_LEN(rows), 1, 1, "one camera or address"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code == PK_GO_ON)
		out->target.text = words.at[0];
	return code;
}

static void print_streams(const json_t *r)
{
	if (*pk_json_text(r, "codec"))
		printf("  stream    %s\n  decoder   %s\n", pk_json_text(r, "encoded"),
			pk_json_text(r, "decoder"));
	printf("  pictures  %.0fx%.0f %s", pk_json_number(r, "width"), pk_json_number(r, "height"),
		pk_json_text(r, "format"));
	if (pk_json_number(r, "declared_fps") > 0)
		printf(", %.4g/s declared", pk_json_number(r, "declared_fps"));
	putchar('\n');
}

static void print_report(const json_t *r)
{
	printf("%s\n", pk_json_text(r, "source"));
	print_streams(r);
	printf("  rate      %.2f/s over %.1f s: %.0f pictures, %.0f lost, %.0f damaged and left "
	       "out\n",
		pk_json_number(r, "fps"), pk_json_number(r, "seconds"), pk_json_number(r, "frames"),
		pk_json_number(r, "lost"), pk_json_number(r, "skipped"));
	printf("  interval  p50 %.1f ms, p99 %.1f ms, jitter %.1f ms\n",
		pk_json_number(r, "interval_p50_ms"), pk_json_number(r, "interval_p99_ms"),
		pk_json_number(r, "jitter_ms"));
	printf("  age       p50 %.1f ms, p99 %.1f ms\n", pk_json_number(r, "age_p50_ms"),
		pk_json_number(r, "age_p99_ms"));
	printf("  start     first picture after %.0f ms\n", pk_json_number(r, "first_frame_ms"));
	printf("  light     brightness %.0f of 255, contrast %.0f\n",
		pk_json_number(r, "brightness"), pk_json_number(r, "spread"));
	if (*pk_json_text(r, "snapshot"))
		printf("  snapshot  %s\n", pk_json_text(r, "snapshot"));
}

static int tell(
	const struct arguments *arguments, const json_t *line, int r, const struct pk_err *err)
{
	if (arguments->json && line) {
		json_dumpf(line, stdout, JSON_COMPACT);
		putchar('\n');
	} else if (r == 0) {
		print_report(line);
	} else {
		return pk_print_failure(err, r);
	}
	return r == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}

static int test(int argc, char **argv)
{
	struct arguments arguments;
	int code = parse_arguments(argc, argv, &arguments);
	if (code != PK_GO_ON)
		return code;
	pk_auto_free char *config = NULL, *name = NULL;
	struct pk_problems problems = {0};
	struct pk_err err = {0};
	int r = pk_camera_target_config(&arguments.target, &config, &name, &problems, &err);
	if (problems.n)
		pk_problems_print(&problems, stderr);
	else if (r < 0)
		(void)pk_print_failure(&err, r);
	pk_problems_finish(&problems);
	if (r < 0)
		return PK_EXIT_USAGE;
	const struct pk_camera_probe probe = {.config = config,
		.camera = name,
		.seconds = arguments.seconds,
		.snapshot = arguments.snapshot};
	json_t *line = NULL;
	r = pk_camera_probe_run(&probe, &line, &err);
	code = tell(&arguments, line, r, &err);
	json_decref(line);
	return code;
}

int pk_cmd_camera(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {{"test", test}};
	return PK_RUN_VERB("camera", usage, verbs, argc, argv);
}
