// SPDX-License-Identifier: Apache-2.0
// Option parsing and opening for the engine verbs.
#include "cli/engine_args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "config/quantity.h"
#include "engine/cpu/pool.h"

#define MAX_CARD_BYTES (1u << 20)

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

static const char *add_shape(void *to, const char *text)
{
	struct pk_engine_args *args = to;
	const char *equals = strrchr(text, '=');
	size_t n = args->build.n_shapes;
	if (!equals || n == PK_ENGINE_MAX_BINDINGS)
		return "NAME=1x3x320x320 is wanted";
	struct pk_input_shape *shape = &args->build.shapes[n];
	if (!pk_engine_args_dims(equals + 1, &shape->shape))
		return "dimensions are numbers joined by x";
	args->shape_names[n] = strndup(text, (size_t)(equals - text));
	shape->name = args->shape_names[n];
	args->build.n_shapes++;
	return shape->name ? NULL : "out of memory";
}

static const char *add_input(void *to, const char *text)
{
	struct pk_engine_args *args = to;
	const char *equals = strrchr(text, '=');
	if (args->n_inputs == PK_MAX_INPUT_FILES)
		return "too many inputs";
	size_t n = equals ? (size_t)(equals - text) : 0;
	args->inputs[args->n_inputs].name = strndup(text, n);
	args->inputs[args->n_inputs].file = equals ? equals + 1 : text;
	return args->inputs[args->n_inputs++].name ? NULL : "out of memory";
}

static const char *add_disabled(void *to, const char *name)
{
	struct pk_engine_args *args = to;
	if (args->build.n_disabled_passes == PK_ENGINE_MAX_DISABLED)
		return "too many disabled passes";
	args->build.disabled_passes[args->build.n_disabled_passes++] = name;
	return NULL;
}

static const char *read_card(void *to, const char *path)
{
	struct pk_engine_args *args = to;
	static struct pk_err err;
	pk_buf_clear(&args->card_text);
	if (pk_fs_read(path, MAX_CARD_BYTES, &args->card_text, &err) < 0)
		return err.text;
	args->card_path = path;
	args->build.card = args->card_text.data;
	args->build.card_size = args->card_text.len;
	return NULL;
}

static const char *set_opt_level(void *to, const char *text)
{
	struct pk_engine_args *args = to;
	if (strlen(text) != 1 || text[0] < '0' || text[0] > '2')
		return "0 or 1 is wanted";
	args->build.opt_level = text[0] - '0';
	return NULL;
}

static const char *set_threads(void *to, const char *text)
{
	struct pk_engine_args *args = to;
	int64_t n = 0;
	if (pk_quantity_int(text, &n, NULL) < 0 || n < 0 || n > PK_CPU_MAX_THREADS)
		return "1 to 64 is wanted, or 0 for all processors";
	args->n_threads = (int)n;
	return NULL;
}

static const char *set_precision(void *to, const char *text)
{
	struct pk_engine_args *args = to;
	for (int i = PK_PRECISION_FP32; i <= PK_PRECISION_INT8; i++) {
		if (strcmp(text, pk_precision_name((enum pk_precision)i)) != 0)
			continue;
		args->build.precision = (enum pk_precision)i;
		return NULL;
	}
	return "fp32 or int8 is wanted";
}

static const char *read_calibration(void *to, const char *path)
{
	struct pk_engine_args *args = to;
	static struct pk_err err;
	pk_buf_clear(&args->calibration_text);
	if (pk_fs_read(path, PK_CALIBRATION_MAX_BYTES, &args->calibration_text, &err) < 0)
		return err.text;
	args->build.calibration = args->calibration_text.data;
	args->build.calibration_size = args->calibration_text.len;
	return NULL;
}

static void set_defaults(struct pk_engine_args *args)
{
	*args = (struct pk_engine_args){.seconds = 3, .n_threads = 1};
	pk_buf_init(&args->card_text, MAX_CARD_BYTES);
	pk_buf_init(&args->calibration_text, PK_CALIBRATION_MAX_BYTES);
	const char *poison = getenv("PICKET_POISON");
	args->poison = poison && strcmp(poison, "1") == 0;
	args->build.runtime = "cpu";
	args->build.opt_level = 1;
	args->build.progress = pk_engine_args_progress;
	args->build.ctx = args;
	pk_progress_begin(&args->progress);
}

int pk_engine_args_parse_files(
	struct pk_engine_args *args, int argc, char **argv, int n_files, const char *usage)
{
	struct pk_build_options *build = &args->build;
	char verb[32];
	set_defaults(args);
	snprintf(verb, sizeof(verb), "engine %s", argv[0]);
	const struct pk_option rows[] = {
		PK_FLAG("json", &args->json),
		PK_FLAG("dot", &args->dot),
		PK_FLAG("poison", &args->poison),
		PK_FLAG("keep-first", &args->keep_first),
		PK_TEXT("runtime", &build->runtime),
		PK_TEXT("out", &build->engine_path),
		PK_TEXT("timing", &build->timing_path),
		PK_TEXT("onnx", &build->onnx_path),
		PK_TEXT("output-dir", &args->output_dir),
		PK_TEXT("golden", &args->golden_dir),
		PK_TEXT("samples", &args->samples_dir),
		PK_TEXT("method", &args->method),
		PK_TEXT("state", &args->state_path),
		PK_CALL("card", read_card, args),
		PK_CALL("calibration", read_calibration, args),
		PK_CALL("opt", set_opt_level, args),
		PK_CALL("precision", set_precision, args),
		PK_CALL("shape", add_shape, args),
		PK_CALL("disable-pass", add_disabled, args),
		PK_CALL("input", add_input, args),
		PK_CALL("threads", set_threads, args),
		PK_NUMBER("seconds", &args->seconds, 0.01, 3600),
		PK_NUMBER("tolerance", &args->tolerance, 1e-12, 1),
		PK_NUMBER("percentile", &args->percentile, 50, 100),
		PK_NUMBER("float-share", &args->float_share, 1e-6, 1),
		PK_NUMBER("budget-ms", &args->budget_ms, 1e-9, 1e6),
		PK_NUMBER("budget-mib", &args->budget_mib, 1e-9, 1e6),
	};
	const struct pk_verb_line line = {verb, usage, rows, PK_ARRAY_LEN(rows), n_files, n_files,
		n_files == 1 ? "one file" : "two files"};
	struct pk_words words;
	int code = pk_options_parse(&line, argc, argv, &words);
	if (code != PK_GO_ON)
		return code;
	args->path = words.at[0];
	args->other_path = n_files > 1 ? words.at[1] : NULL;
	if (!build->onnx_path)
		build->onnx_path = args->path;
	return PK_GO_ON;
}

int pk_engine_args_parse(struct pk_engine_args *args, int argc, char **argv, const char *usage)
{
	return pk_engine_args_parse_files(args, argc, argv, 1, usage);
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
