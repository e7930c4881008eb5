// SPDX-License-Identifier: Apache-2.0
// picketctl engine: the verbs on engine files, and `build` and `check`.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"build", pk_engine_build_verb, "MODEL.onnx → FILE.engine for this machine"},
	{"calibrate", pk_engine_calibrate_verb, "sample frames → ranges for --precision int8"},
	{"run", pk_engine_run_verb, "feed .npy files to an engine or model, get .npy files"},
	{"inspect", pk_engine_inspect_verb, "what is in an engine file"},
	{"check", pk_engine_check_verb, "would this model be accepted? per refused node: why"},
	{"gate", pk_engine_gate_verb, "judge an engine against its model, as a table"},
	{"diff", pk_engine_diff_verb, "what two engines differ in"},
	{"bench", pk_engine_bench_verb, "latency over many runs"},
	{"profile", pk_engine_profile_verb, "per layer: time, share, GFLOP/s, bytes"},
	{"bisect", pk_engine_bisect_verb, "which pass or kernel row makes the result wrong"},
};

static void usage(FILE *out)
{
	fprintf(out, "usage: picketctl engine VERB [OPTIONS] FILE\n\n");
	for (size_t i = 0; i < PK_ARRAY_LEN(verbs); i++)
		fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].help);
	fprintf(out, "\n`picketctl engine VERB --help` lists the options.\n");
}

int pk_cmd_engine(int argc, char **argv)
{
	for (size_t i = 0; argc >= 2 && i < PK_ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	bool asked = argc >= 2 && strcmp(argv[1], "--help") == 0;
	usage(asked ? stdout : stderr);
	return asked ? PK_EXIT_OK : PK_EXIT_USAGE;
}

static void build_usage(FILE *out)
{
	fputs("usage: picketctl engine build [OPTIONS] MODEL.onnx\n\n"
	      "  --out FILE           the engine (default: MODEL.engine beside the model)\n"
	      "  --runtime NAME       cpu (default)\n"
	      "  --opt 0|1            0: no measuring; 1: measured (default)\n"
	      "  --timing FILE        timing cache to use and extend\n"
	      "  --card FILE          model card to keep in the engine\n"
	      "  --shape NAME=DIMS    binds an open input (x=1x3x320x320) or dimension (N=1);\n"
	      "                       x= or x=scalar: a single number\n"
	      "  --precision NAME     fp32 (default) or int8\n"
	      "  --calibration FILE   the ranges for int8: `picketctl engine calibrate`\n"
	      "  --disable-pass NAME  leaves a graph pass out\n"
	      "  --json               the report as JSON\n",
		out);
}

static void print_build(const struct pk_build_report *report, const char *path, bool json)
{
	char key[PK_DIGEST_TEXT], took[PK_DURATION_MAX];
	pk_digest_format(&report->key, key);
	pk_format_duration(report->wall_ns, took);
	if (json) {
		printf("{\"engine\":\"%s\",\"key\":\"%s\",\"engine_bytes\":%lld,\"layers\":%d,"
		       "\"n_measured\":%d,\"n_cache_hits\":%d,\"weight_bytes\":%lld,"
		       "\"peak_bytes\":%lld,\"lower_bound_bytes\":%lld,\"max_rel_err\":%.6g,"
		       "\"min_cosine\":%.9g,\"wall_ms\":%lld}\n",
			path, key, (long long)report->engine_bytes, report->n_layers,
			report->n_measured, report->n_cache_hits, (long long)report->weight_bytes,
			(long long)report->peak_bytes, (long long)report->lower_bound_bytes,
			report->max_rel_err, report->min_cosine,
			(long long)(report->wall_ns / PK_NS_PER_MS));
		return;
	}
	printf("%s  %.2f MiB in %s\n", path, (double)report->engine_bytes / 1048576, took);
	printf("  key         %s\n", key);
	printf("  layers      %d, %d tactics measured, %d operations from the timing cache\n",
		report->n_layers, report->n_measured, report->n_cache_hits);
	printf("  memory      weights %.2f MiB, activations %.2f MiB (lower bound %.2f)\n",
		(double)report->weight_bytes / 1048576, (double)report->peak_bytes / 1048576,
		(double)report->lower_bound_bytes / 1048576);
	printf("  gate        max error %.3g of the range, cosine %.7f\n", report->max_rel_err,
		report->min_cosine);
}

static char *default_engine_path(const char *onnx_path)
{
	char *path = NULL;
	size_t n = strlen(onnx_path);
	if (n > 5 && strcmp(onnx_path + n - 5, ".onnx") == 0)
		n -= 5;
	return asprintf(&path, "%.*s.engine", (int)n, onnx_path) < 0 ? NULL : path;
}

int pk_engine_build_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, build_usage);
	if (code >= 0)
		return code;
	pk_auto_free char *path = default_engine_path(args.path);
	if (!args.build.engine_path)
		args.build.engine_path = path;
	struct pk_err err = {0};
	struct pk_build_report report;
	int r = pk_engine_build(&args.build, &report, &err);
	if (r < 0)
		return pk_engine_verb_end(&args, &err, r);
	pk_progress_end(&args.progress);
	print_build(&report, args.build.engine_path, args.json);
	return PK_EXIT_OK;
}

static void check_usage(FILE *out)
{
	fputs("usage: picketctl engine check [--shape NAME=DIMS]... [--json] MODEL.onnx\n\n"
	      "Exit code 0: would be accepted, 1: refused; every refused node is listed with "
	      "why.\n",
		out);
}

int pk_engine_check_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, check_usage);
	if (code >= 0)
		return code;
	pk_auto_buf struct pk_buf report;
	pk_buf_init(&report, 4u << 20);
	struct pk_err err = {0};
	int r = pk_engine_check(args.path, args.build.shapes, args.build.n_shapes, &report, &err);
	if (args.json) {
		pk_auto_buf struct pk_buf out;
		pk_buf_init(&out, 8u << 20);
		pk_buf_printf(&out, "{\"accepted\":%s,\"error\":", r == 0 ? "true" : "false");
		pk_buf_json_string(&out, r < 0 ? pk_err_text(&err, r) : "");
		pk_buf_str(&out, ",\"report\":");
		pk_buf_json_string(&out, pk_buf_cstr(&report));
		pk_buf_str(&out, "}");
		puts(pk_buf_cstr(&out));
	} else {
		fputs(pk_buf_cstr(&report), stdout);
		if (r < 0)
			fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
		else
			printf("%s: accepted\n", args.path);
	}
	return r == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}
