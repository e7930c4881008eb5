// SPDX-License-Identifier: Apache-2.0
// picketctl engine bisect: which pass or kernel row makes a model's result wrong.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/npy.h"
#include "engine/compile/bisect.h"
#include "engine/compile/compile.h"

static const char usage[] =
	"usage: picketctl engine bisect [OPTIONS] MODEL.onnx\n\n"
	"  --input [NAME=]FILE.npy   once per input; others get noise in 0..1\n"
	"  --shape NAME=DIMS         fixes a dynamic input, as 1x3x320x320\n"
	"  --disable-pass NAME       leaves this pass out\n"
	"  --tolerance X             of each tensor's range (default 1e-4)\n"
	"  --json                    {culprit, pass, step, node, op, kernel, tensor, …}\n\n"
	"Compares the model as imported, run by the plain kernels, with what the passes "
	"make\n"
	"of it, then every kernel row with the plain one. Exits 1 when something is found.\n";

#define MAX_ALIVE 3

struct session {
	const struct pk_engine_args *args;
	struct pk_source_model models[MAX_ALIVE];
};

static int open_graph(void *ctx, struct pk_graph **graph, struct pk_err *err)
{
	struct session *session = ctx;
	const struct pk_build_options *build = &session->args->build;
	for (int i = 0; i < MAX_ALIVE; i++) {
		struct pk_source_model *model = &session->models[i];
		if (model->graph)
			continue;
		int r = pk_source_model_open(
			model, build->onnx_path, build->shapes, build->n_shapes, NULL, err);
		*graph = model->graph;
		return r;
	}
	return pk_fail(err, -EBUSY, "too many graphs at once");
}

static void close_graph(void *ctx, struct pk_graph *graph)
{
	struct session *session = ctx;
	for (int i = 0; i < MAX_ALIVE; i++) {
		if (session->models[i].graph == graph)
			pk_source_model_close(&session->models[i]);
	}
}

static void fill_noise(const struct pk_value *input, float *data)
{
	uint32_t seed = (uint32_t)input->id + 1;
	for (int64_t i = 0; i < pk_shape_elements(&input->shape); i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (float)(seed >> 8) / 16777216.0f;
	}
}

static int fill_input(void *ctx, const struct pk_value *input, void *data, struct pk_err *err)
{
	const struct pk_engine_args *args = ((struct session *)ctx)->args;
	size_t bytes = pk_tensor_bytes(input->dtype, &input->shape);
	memset(data, 0, bytes);
	if (input->dtype == PK_F32)
		fill_noise(input, data);
	for (size_t i = 0; i < args->n_inputs; i++) {
		struct pk_tensor tensor = {0};
		if (args->inputs[i].name[0] && strcmp(args->inputs[i].name, input->name) != 0)
			continue;
		int r = pk_npy_read(args->inputs[i].file, &tensor, err);
		if (r == 0 && (tensor.dtype != input->dtype ||
				      !pk_shape_equal(&tensor.shape, &input->shape)))
			r = pk_fail(err, -EINVAL, "%s has another type than input `%s`",
				args->inputs[i].file, input->name);
		if (r == 0)
			memcpy(data, tensor.data, bytes);
		free(tensor.data);
		return r;
	}
	return 0;
}

static int show_progress(void *ctx, const char *what, int done)
{
	(void)ctx;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s: evaluation %d", what, done + 1);
	return 0;
}

static const char *const culprits[] = {
	[PK_BISECT_NONE] = "none", [PK_BISECT_PASS] = "pass", [PK_BISECT_KERNEL] = "kernel"};

static void print_json(const struct pk_bisect_result *result)
{
	const struct {
		const char *name, *text;
	} texts[] = {{"pass", result->pass}, {"kernel", result->kernel}, {"node", result->node},
		{"op", result->op}, {"tensor", result->value}};
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 16);
	pk_buf_printf(&out, "{\"culprit\":\"%s\"", culprits[result->culprit]);
	for (size_t i = 0; result->culprit != PK_BISECT_NONE && i < PK_ARRAY_LEN(texts); i++) {
		pk_buf_printf(&out, ",\"%s\":", texts[i].name);
		pk_buf_json_string(&out, texts[i].text);
	}
	if (isfinite(result->max_rel_err))
		pk_buf_printf(&out, ",\"max_rel_err\":%.6g", result->max_rel_err);
	pk_buf_printf(&out, ",\"step\":%d,\"steps\":%d,\"evaluations\":%d,\"rows\":%d}",
		result->step, result->n_steps, result->n_evaluations, result->n_rows);
	puts(pk_buf_cstr(&out));
}

static void print_text(const struct pk_bisect_result *result)
{
	if (result->culprit == PK_BISECT_NONE) {
		printf("nothing leaves the tolerance: %d steps of passes, %d kernel rows tried\n",
			result->n_steps, result->n_rows);
		return;
	}
	if (result->culprit == PK_BISECT_PASS)
		printf("pass %s (step %d of %d)\n", result->pass, result->step, result->n_steps);
	else
		printf("kernel %s (the passes are right)\n", result->kernel);
	printf("  node    %s (%s)\n  tensor  %s\n  error   %.3g of its range\n", result->node,
		result->op, result->value, result->max_rel_err);
}

int pk_engine_bisect_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, usage);
	if (code >= 0)
		return code;
	struct session session = {.args = &args};
	struct pk_bisect_options options = {
		.open = open_graph,
		.close = close_graph,
		.fill = fill_input,
		.progress = show_progress,
		.ctx = &session,
		.max_rel_err = args.tolerance,
		.disabled = args.build.disabled_passes,
		.n_disabled = args.build.n_disabled_passes,
	};
	struct pk_bisect_result result;
	struct pk_err err = {0};
	int r = pk_bisect_run(&options, &result, &err);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (r < 0) {
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
		return PK_EXIT_FAIL;
	}
	if (args.json)
		print_json(&result);
	else
		print_text(&result);
	return result.culprit == PK_BISECT_NONE ? PK_EXIT_OK : PK_EXIT_FAIL;
}
