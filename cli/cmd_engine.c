// SPDX-License-Identifier: Apache-2.0
// picketctl engine: the verbs on engine files, and `build` and `check`.
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/options.h"

static const char usage[] = "usage: picketctl engine VERB [OPTIONS] FILE\n\n"
			    "  build     MODEL.onnx → FILE.engine for this machine\n"
			    "  calibrate sample frames → ranges for --precision int8\n"
			    "  run       feed .npy files to an engine or model, get .npy files\n"
			    "  inspect   what is in an engine file\n"
			    "  check     would this model be accepted? per refused node: why\n"
			    "  gate      judge an engine against its model, as a table\n"
			    "  diff      what two engines differ in\n"
			    "  bench     latency over many runs\n"
			    "  profile   per layer: time, share, GFLOP/s, bytes\n"
			    "  bisect    which pass or kernel row makes the result wrong\n"
			    "\n`picketctl engine VERB --help` lists the options.\n";

int pk_cmd_engine(int argc, char **argv)
{
	static const struct pk_verb verbs[] = {
		{"build", pk_engine_build_verb},
		{"calibrate", pk_engine_calibrate_verb},
		{"run", pk_engine_run_verb},
		{"inspect", pk_engine_inspect_verb},
		{"check", pk_engine_check_verb},
		{"gate", pk_engine_gate_verb},
		{"diff", pk_engine_diff_verb},
		{"bench", pk_engine_bench_verb},
		{"profile", pk_engine_profile_verb},
		{"bisect", pk_engine_bisect_verb},
	};
	return PK_RUN_VERB("engine", usage, verbs, argc, argv);
}

static const char build_usage[] =
	"usage: picketctl engine build [OPTIONS] MODEL.onnx\n\n"
	"  --out FILE           the engine (default: MODEL.engine beside the model)\n"
	"  --runtime NAME       cpu (default) or cuda\n"
	"  --opt 0|1|2          0: no measuring; 1: measured (default); 2: in the graph too\n"
	"  --timing FILE        timing cache to use and extend\n"
	"  --card FILE          model card to keep in the engine\n"
	"  --shape NAME=DIMS    binds an open input (x=1x3x320x320) or dimension (N=1);\n"
	"                       x= or x=scalar: a single number\n"
	"  --precision NAME     fp32 (default), fp16 (cuda) or int8\n"
	"  --calibration FILE   the ranges for int8: `picketctl engine calibrate`\n"
	"  --disable-pass NAME  leaves a graph pass out\n"
	"  --json               the report as JSON\n";

static void print_build(const struct pk_build_report *report, const char *path, bool json)
{
	char key[PK_DIGEST_TEXT], took[PK_DURATION_MAX];
	pk_digest_format(&report->key, key);
	pk_format_duration(report->wall_ns, took);
	if (json) {
		printf("{\"engine\":\"%s\",\"key\":\"%s\",\"engine_bytes\":%lld,\"layers\":%d,"
		       "\"n_measured\":%d,\"n_cache_hits\":%d,\"n_islands\":%d,\"weight_bytes\":%"
		       "lld,"
		       "\"peak_bytes\":%lld,\"lower_bound_bytes\":%lld,\"max_rel_err\":%.6g,"
		       "\"min_cosine\":%.9g,\"wall_ms\":%lld}\n",
			path, key, (long long)report->engine_bytes, report->n_layers,
			report->n_measured, report->n_cache_hits, report->n_islands,
			(long long)report->weight_bytes, (long long)report->peak_bytes,
			(long long)report->lower_bound_bytes, report->max_rel_err,
			report->min_cosine, (long long)(report->wall_ns / PK_NS_PER_MS));
		return;
	}
	printf("%s  %.2f MiB in %s\n", path, (double)report->engine_bytes / 1048576, took);
	printf("  key         %s\n", key);
	printf("  layers      %d, %d tactics measured, %d operations from the timing cache\n",
		report->n_layers, report->n_measured, report->n_cache_hits);
	if (report->n_islands)
		printf("  islands     %d layers run on the cpu, between copies\n",
			report->n_islands);
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

static const char check_usage[] =
	"usage: picketctl engine check [--shape NAME=DIMS]... [--json] MODEL.onnx\n\n"
	"Exit code 0: would be accepted, 1: refused; every refused node is listed with "
	"why.\n";

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
