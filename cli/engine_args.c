// SPDX-License-Identifier: Apache-2.0
// Option parsing and opening for the engine verbs.
#include "cli/engine_args.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "engine/cpu/pool.h"

#define MAX_CARD_BYTES        (1u << 20)
#define MAX_CALIBRATION_BYTES (16u << 20)

// "1x3x320x320"; a single number is a symbolic dimension's value; nothing, or "scalar", is rank 0.
bool pk_engine_args_dims(const char *text, struct pk_shape *shape)
{
	shape->rank = 0;
	if (text[0] == '\0' || strcmp(text, "scalar") == 0)
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
	if (!pk_engine_args_dims(equals + 1, &shape->shape))
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

static const char *set_threads(struct pk_engine_args *args, const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);
	bool right = end != text && *end == '\0' && n >= 0 && n <= PK_CPU_MAX_THREADS;
	args->n_threads = right ? (int)n : 1;
	return right ? NULL : "--threads wants 1 to 64, or 0 for all processors";
}

// A number in low..high, both included.
static const char *set_number(double *out, const char *text, double low, double high)
{
	char *end;
	*out = strtod(text, &end);
	bool right = end != text && *end == '\0' && *out >= low && *out <= high;
	return right ? NULL : "a number is out of its range";
}

static const char *set_tolerance(struct pk_engine_args *args, const char *text)
{
	return set_number(&args->tolerance, text, 1e-12, 1);
}

static const char *set_percentile(struct pk_engine_args *args, const char *text)
{
	return set_number(&args->percentile, text, 50, 100);
}

static const char *set_float_share(struct pk_engine_args *args, const char *text)
{
	return set_number(&args->float_share, text, 1e-6, 1);
}

static const char *set_budget_ms(struct pk_engine_args *args, const char *text)
{
	return set_number(&args->budget_ms, text, 1e-9, 1e6);
}

static const char *set_budget_mib(struct pk_engine_args *args, const char *text)
{
	return set_number(&args->budget_mib, text, 1e-9, 1e6);
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

// An option sets a flag, keeps its text, or has a function that says what is wrong with it.
struct option_row {
	const char *name;
	size_t flag_at; // offset of a bool, or 0
	size_t text_at; // offset of a const char *, or 0
	const char *(*set)(struct pk_engine_args *args, const char *text);
};

#define FLAG(name, member)                                                                         \
	{                                                                                          \
		name, offsetof(struct pk_engine_args, member), 0, NULL                             \
	}
#define TEXT(name, member)                                                                         \
	{                                                                                          \
		name, 0, offsetof(struct pk_engine_args, member), NULL                             \
	}
#define CALL(name, set)                                                                            \
	{                                                                                          \
		name, 0, 0, set                                                                    \
	}

static const struct option_row rows[] = {
	FLAG("json", json),
	FLAG("dot", dot),
	FLAG("poison", poison),
	FLAG("keep-first", keep_first),
	TEXT("runtime", build.runtime),
	TEXT("out", build.engine_path),
	TEXT("timing", build.timing_path),
	TEXT("onnx", build.onnx_path),
	TEXT("output-dir", output_dir),
	TEXT("golden", golden_dir),
	TEXT("samples", samples_dir),
	TEXT("method", method),
	TEXT("state", state_path),
	CALL("card", read_card),
	CALL("calibration", read_calibration),
	CALL("opt", set_opt_level),
	CALL("precision", set_precision),
	CALL("shape", add_shape),
	CALL("disable-pass", add_disabled),
	CALL("input", add_input),
	CALL("seconds", set_seconds),
	CALL("threads", set_threads),
	CALL("tolerance", set_tolerance),
	CALL("percentile", set_percentile),
	CALL("float-share", set_float_share),
	CALL("budget-ms", set_budget_ms),
	CALL("budget-mib", set_budget_mib),
};

#define FIRST_OPTION 256 // beyond the single letters

static void make_long_options(struct option out[PK_ARRAY_LEN(rows) + 2])
{
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++)
		out[i] = (struct option){rows[i].name,
			rows[i].flag_at ? no_argument : required_argument, NULL,
			FIRST_OPTION + (int)i};
	out[PK_ARRAY_LEN(rows)] = (struct option){"help", no_argument, NULL, 'h'};
	out[PK_ARRAY_LEN(rows) + 1] = (struct option){0};
}

// NULL, or what is wrong with the option.
static const char *take_option(struct pk_engine_args *args, int c)
{
	if (c < FIRST_OPTION)
		return "unknown option";
	const struct option_row *row = &rows[c - FIRST_OPTION];
	if (row->flag_at)
		*(bool *)((char *)args + row->flag_at) = true;
	else if (row->text_at)
		*(const char **)(void *)((char *)args + row->text_at) = optarg;
	return row->set ? row->set(args, optarg) : NULL;
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
	return pk_engine_args_parse_files(args, argc, argv, 1, usage);
}

int pk_engine_args_parse_files(
	struct pk_engine_args *args, int argc, char **argv, int n_files, void (*usage)(FILE *out))
{
	*args = (struct pk_engine_args){.seconds = 3, .n_threads = 1};
	pk_buf_init(&args->card_text, MAX_CARD_BYTES);
	pk_buf_init(&args->calibration_text, MAX_CALIBRATION_BYTES);
	const char *poison = getenv("PICKET_POISON");
	args->poison = poison && strcmp(poison, "1") == 0;
	args->build.runtime = "cpu";
	args->build.opt_level = 1;
	args->build.progress = pk_engine_args_progress;
	args->build.ctx = args;
	pk_progress_begin(&args->progress);
	optind = 1;
	struct option long_options[PK_ARRAY_LEN(rows) + 2];
	make_long_options(long_options);
	for (int c; (c = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
		if (c == 'h') {
			usage(stdout);
			return PK_EXIT_OK;
		}
		const char *wrong = take_option(args, c);
		if (wrong)
			return complain(wrong, usage);
	}
	if (optind + n_files != argc)
		return complain(
			n_files == 1 ? "one file is wanted" : "two files are wanted", usage);
	args->path = argv[optind];
	args->other_path = n_files > 1 ? argv[optind + 1] : NULL;
	if (!args->build.onnx_path)
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
	pk_cpu_pool_destroy(args->pool);
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
	pk_progress_end(&args->progress);
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

int pk_engine_args_context(struct pk_engine_args *args, struct pk_engine *engine,
	struct pk_context **context, struct pk_err *err)
{
	int r = pk_context_create(engine, 1, context, err);
	if (r == 0 && args->n_threads != 1 && !args->pool)
		r = pk_cpu_pool_create(args->n_threads, &args->pool, err);
	if (r == 0 && args->pool)
		r = pk_context_set_pool(*context, args->pool, err);
	return r;
}

int pk_engine_args_progress(void *ctx, const char *phase, int done, int total, const char *what)
{
	struct pk_engine_args *args = ctx;
	pk_progress_tell(&args->progress, phase, done, total, what);
	return 0;
}

json_t *pk_engine_json(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	return json ? json : json_null();
}

void pk_engine_print_json(json_t *json)
{
	pk_auto_json owned = json;
	pk_auto_free char *text = owned ? json_dumps(owned, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	puts(text ? text : "{}");
}

int pk_engine_verb_end(struct pk_engine_args *args, const struct pk_err *err, int r)
{
	pk_progress_end(&args->progress);
	if (r < 0)
		fprintf(stderr, "picketctl: %s\n", pk_err_text(err, r));
	return r == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}
