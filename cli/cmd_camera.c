// SPDX-License-Identifier: Apache-2.0
// picketctl camera test: looks at one camera for a few seconds, whether picketd runs or not.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/camera_probe.h"
#include "cli/camera_target.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "config/config.h"

static void usage(FILE *out)
{
	fputs("usage: picketctl camera test [OPTIONS] NAME|ADDRESS\n\n"
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
	      "Exit code 0: pictures came, 1: none, and why, 2: mistakes.\n",
		out);
}

struct arguments {
	struct pk_camera_target target;
	double seconds;
	const char *snapshot;
	bool json;
};

enum { OPT_SECONDS = 1, OPT_SNAPSHOT, OPT_USER, OPT_PASSWORD, OPT_UDP, OPT_INSECURE, OPT_JSON };

static bool take_seconds(const char *text, double *out)
{
	char *end;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= 0.1 && *out <= 600;
}

// False: not understood.
static bool take_option(int c, struct arguments *out)
{
	switch (c) {
	case OPT_SECONDS:
		return take_seconds(optarg, &out->seconds);
	case OPT_SNAPSHOT:
		out->snapshot = optarg;
		return true;
	case OPT_USER:
		out->target.user = optarg;
		return true;
	case OPT_PASSWORD:
		out->target.password_file = optarg;
		return true;
	case OPT_UDP:
	case OPT_INSECURE:
	case OPT_JSON:
		out->target.udp |= c == OPT_UDP;
		out->target.insecure |= c == OPT_INSECURE;
		out->json |= c == OPT_JSON;
		return true;
	default:
		return false;
	}
}

// -1, or the exit code.
static int parse_arguments(int argc, char **argv, struct arguments *out)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, OPT_SECONDS},
		{"snapshot", required_argument, NULL, OPT_SNAPSHOT},
		{"user", required_argument, NULL, OPT_USER},
		{"password-file", required_argument, NULL, OPT_PASSWORD},
		{"udp", no_argument, NULL, OPT_UDP}, {"insecure", no_argument, NULL, OPT_INSECURE},
		{"json", no_argument, NULL, OPT_JSON}, {"help", no_argument, NULL, 'h'}, {0}};
	*out = (struct arguments){.seconds = 5};
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (c == 'h') {
			usage(stdout);
			return PK_EXIT_OK;
		}
		if (!take_option(c, out)) {
			usage(stderr);
			return PK_EXIT_USAGE;
		}
	}
	if (optind + 1 != argc) {
		usage(stderr);
		return PK_EXIT_USAGE;
	}
	out->target.text = argv[optind];
	return -1;
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
	if (code >= 0)
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
	if (argc >= 2 && strcmp(argv[1], "test") == 0)
		return test(argc - 1, argv + 1);
	bool asked = argc >= 2 && strcmp(argv[1], "--help") == 0;
	usage(asked ? stdout : stderr);
	return asked ? PK_EXIT_OK : PK_EXIT_USAGE;
}
