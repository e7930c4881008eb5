// SPDX-License-Identifier: Apache-2.0
// Option parsing and opening for the engine verbs.
#include "cli/engine_args.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cli/cmd.h"

#define MAX_CARD_BYTES        (1u << 20)
#define MAX_CALIBRATION_BYTES (16u << 20)

// "1x3x320x320"; a single number is a symbolic dimension's value; nothing: a scalar.
static bool parse_dims(const char *text, struct pk_shape *shape)
{
	shape->rank = 0;
	if (*text == '\0')
		return true;
	for (;;) {
		char *end;
		long long dim = strtoll(text, &end, 10);
		if (end == text || dim < 0 || shape->rank == PK_MAX_RANK)
			return false;
		shape->dims[shape->rank++] = dim;
		if (*end == '\0')
			return true;
		if (*end != 'x' && *end != ',')
			return false;
		text = end + 1;
	}
}

static const char *add_shape(struct pk_engine_args *args, const char *text)
{
	const char *equals = strrchr(text, '=');
	size_t n = args->build.n_shapes;
	if (!equals || n == PK_ENGINE_MAX_BINDINGS)
		return "--shape wants NAME=1x3x320x320";
	struct pk_input_shape *shape = &args->build.shapes[n];
	if (!parse_dims(equals + 1, &shape->shape))
		return "--shape: dimensions are numbers joined by x";
	args->shape_names[n] = strndup(text, (size_t)(equals - text));
	shape->name = args->shape_names[n];
	args->build.n_shapes++;
	return shape->name ? NULL : "out of memory";
}

static const char *add_input(struct pk_engine_args *args, const char *text)
{
	const char *equals = strrchr(text, '=');
	if (args->n_inputs == PK_MAX_INPUT_FILES)
		return "too many inputs";
	size_t n = equals ? (size_t)(equals - text) : 0;
	args->inputs[args->n_inputs].name = strndup(text, n);
	args->inputs[args->n_inputs].file = equals ? equals + 1 : text;
	return args->inputs[args->n_inputs++].name ? NULL : "out of memory";
}

static const char *add_disabled(struct pk_engine_args *args, const char *name)
{
	if (args->build.n_disabled_passes == PK_ENGINE_MAX_DISABLED)
		return "too many disabled passes";
	args->build.disabled_passes[args->build.n_disabled_passes++] = name;
	return NULL;
}

static const char *read_card(struct pk_engine_args *args, const char *path)
{
	static struct pk_err err;
	pk_buf_clear(&args->card_text);
	if (pk_fs_read(path, MAX_CARD_BYTES, &args->card_text, &err) < 0)
		return err.text;
	args->card_path = path;
	args->build.card = args->card_text.data;
	args->build.card_size = args->card_text.len;
	return NULL;
}

static const char *set_opt_level(struct pk_engine_args *args, const char *text)
{
	if (strlen(text) != 1 || text[0] < '0' || text[0] > '1')
		return "--opt wants 0 or 1";
	args->build.opt_level = text[0] - '0';
	return NULL;
}

static const char *set_seconds(struct pk_engine_args *args, const char *text)
{
	char *end;
	args->seconds = strtod(text, &end);
	bool right = end != text && *end == '\0' && args->seconds > 0 && args->seconds <= 3600;
	return right ? NULL : "--seconds wants a number up to 3600";
}

static const char *set_precision(struct pk_engine_args *args, const char *text)
{
	for (int i = PK_PRECISION_FP32; i <= PK_PRECISION_INT8; i++) {
		if (strcmp(text, pk_precision_name((enum pk_precision)i)) != 0)
			continue;
		args->build.precision = (enum pk_precision)i;
		return NULL;
	}
	return "--precision wants fp32 or int8";
}

static const char *read_calibration(struct pk_engine_args *args, const char *path)
{
	static struct pk_err err;
	pk_buf_clear(&args->calibration_text);
	if (pk_fs_read(path, MAX_CALIBRATION_BYTES, &args->calibration_text, &err) < 0)
		return err.text;
	args->build.calibration = args->calibration_text.data;
	args->build.calibration_size = args->calibration_text.len;
	return NULL;
}

static const char *set_number(double *out, double low, double high)
{
	char *end;
	*out = strtod(optarg, &end);
	bool right = end != optarg && *end == '\0' && *out >= low && *out <= high;
	return right ? NULL : "a number is out of its range";
}

// Options of one kind each, that only keep a text.
static const char **text_option(struct pk_engine_args *args, int c)
{
	switch (c) {
	case 'm':
		return &args->method;
	case 'P':
		return &args->samples_dir;
	case 'T':
		return &args->state_path;
	case 'r':
		return &args->build.runtime;
	case 'o':
		return &args->build.engine_path;
	case 't':
		return &args->build.timing_path;
	case 'D':
		return &args->output_dir;
	default:
		return NULL;
	}
}

static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'}, {"runtime", required_argument, NULL, 'r'},
	{"out", required_argument, NULL, 'o'}, {"timing", required_argument, NULL, 't'},
	{"card", required_argument, NULL, 'c'}, {"opt", required_argument, NULL, 'O'},
	{"shape", required_argument, NULL, 's'}, {"disable-pass", required_argument, NULL, 'd'},
	{"input", required_argument, NULL, 'i'}, {"output-dir", required_argument, NULL, 'D'},
	{"seconds", required_argument, NULL, 'S'}, {"precision", required_argument, NULL, 'p'},
	{"calibration", required_argument, NULL, 'C'}, {"samples", required_argument, NULL, 'P'},
	{"method", required_argument, NULL, 'm'}, {"state", required_argument, NULL, 'T'},
	{"percentile", required_argument, NULL, 'e'}, {"keep-first", no_argument, NULL, 'k'},
	{"float-share", required_argument, NULL, 'f'}, {0}};

// NULL, or what is wrong with the option.
static const char *take_option(struct pk_engine_args *args, int c)
{
	const char **text = text_option(args, c);
	if (text) {
		*text = optarg;
		return NULL;
	}
	switch (c) {
	case 'p':
		return set_precision(args, optarg);
	case 'C':
		return read_calibration(args, optarg);
	case 'e':
		return set_number(&args->percentile, 50, 100);
	case 'f':
		args->float_share = strtod(optarg, NULL) > 0 ? 0 : -1;
		return args->float_share < 0 ? NULL : set_number(&args->float_share, 0, 1);
	case 'k':
		args->keep_first = true;
		return NULL;
	case 'j':
		args->json = true;
		return NULL;
	case 'c':
		return read_card(args, optarg);
	case 'O':
		return set_opt_level(args, optarg);
	case 's':
		return add_shape(args, optarg);
	case 'd':
		return add_disabled(args, optarg);
	case 'i':
		return add_input(args, optarg);
	case 'S':
		return set_seconds(args, optarg);
	default:
		return "unknown option";
	}
}

static int complain(const char *what, void (*usage)(FILE *out))
{
	fprintf(stderr, "picketctl engine: %s\n", what);
	usage(stderr);
	return PK_EXIT_USAGE;
}

int pk_engine_args_parse(
	struct pk_engine_args *args, int argc, char **argv, void (*usage)(FILE *out))
{
	*args = (struct pk_engine_args){.seconds = 3};
	pk_buf_init(&args->card_text, MAX_CARD_BYTES);
	pk_buf_init(&args->calibration_text, MAX_CALIBRATION_BYTES);
	args->build.runtime = "cpu";
	args->build.opt_level = 1;
	args->build.progress = pk_engine_args_progress;
	args->build.ctx = args;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
		if (c == 'h') {
			usage(stdout);
			return PK_EXIT_OK;
		}
		const char *wrong = take_option(args, c);
		if (wrong)
			return complain(wrong, usage);
	}
	if (optind + 1 != argc)
		return complain("one file is wanted", usage);
	args->path = argv[optind];
	args->build.onnx_path = args->path;
	return -1;
}

void pk_engine_args_finish(struct pk_engine_args *args)
{
	for (size_t i = 0; i < args->n_inputs; i++)
		free(args->inputs[i].name);
	for (size_t i = 0; i < args->build.n_shapes; i++)
		free(args->shape_names[i]);
	pk_buf_finish(&args->card_text);
	pk_buf_finish(&args->calibration_text);
}

bool pk_engine_args_is_onnx(const struct pk_engine_args *args)
{
	size_t n = strlen(args->path);
	return n >= 5 && strcmp(args->path + n - 5, ".onnx") == 0;
}

static int build_and_open(
	struct pk_engine_args *args, struct pk_engine **engine, struct pk_err *err)
{
	char path[] = "/tmp/picketctl-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		return pk_fail_errno(err, "temporary engine");
	close(fd);
	struct pk_build_report report;
	enum pk_mismatch mismatch;
	args->build.engine_path = path;
	int r = pk_engine_build(&args->build, &report, err);
	if (r == 0)
		r = pk_engine_load(path, NULL, engine, &mismatch, err);
	(void)unlink(path);
	return r;
}

int pk_engine_args_open(struct pk_engine_args *args, struct pk_engine **engine, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	if (pk_engine_args_is_onnx(args))
		return build_and_open(args, engine, err);
	int r = pk_engine_load(args->path, NULL, engine, &mismatch, err);
	if (r < 0 && mismatch != PK_MATCH)
		pk_err_prefix(err, "%s", pk_mismatch_name(mismatch));
	return r;
}

int pk_engine_args_progress(void *ctx, const char *phase, int done, int total, const char *what)
{
	struct pk_engine_args *args = ctx;
	if (!isatty(STDERR_FILENO))
		return 0;
	int permille = total > 0 ? (int)((int64_t)done * 1000 / total) : 0;
	if (permille / 10 == args->done_permille / 10 && done > 0)
		return 0;
	args->done_permille = permille;
	fprintf(stderr, "\r\033[K%-9s %3d %%  %.60s", phase, permille / 10, what);
	if (strcmp(phase, "write") == 0)
		fputs("\r\033[K", stderr);
	return 0;
}
