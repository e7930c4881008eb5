// SPDX-License-Identifier: Apache-2.0
// picketctl engine run: tensors from .npy files through an engine, outputs to .npy files.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/npy.h"

static const char usage[] =
	"usage: picketctl engine run [OPTIONS] MODEL.onnx|FILE.engine\n\n"
	"  --input [NAME=]FILE.npy   once per input (the name may be left out if there is "
	"one)\n"
	"  --output-dir DIR          one <output>.npy each, '/' in names becomes '_'\n"
	"  --poison                  dead memory is NaN before each layer: results must stay "
	"the\n"
	"                            same (a check on memory planning; PICKET_POISON=1 too)\n"
	"  --threads N               of the cpu runtime; 0: all processors (default: 1)\n"
	"  --json                    {outputs: [{name, dtype, shape, file}]}\n"
	"The build options of `picketctl engine build` apply to a model.\n";

static int find_input(const struct pk_engine_info *info, const char *name, struct pk_err *err)
{
	if (name[0] == '\0' && info->n_inputs == 1)
		return 0;
	for (size_t i = 0; i < info->n_inputs; i++) {
		if (strcmp(info->inputs[i].name, name) == 0)
			return (int)i;
	}
	return pk_fail(err, -EINVAL, "no input `%s`; the first one is `%s`", name,
		info->n_inputs ? info->inputs[0].name : "");
}

static int feed_file(struct pk_context *context, const struct pk_engine_info *info,
	const char *name, const char *file, struct pk_err *err)
{
	int idx = find_input(info, name, err);
	if (idx < 0)
		return idx;
	const struct pk_binding *input = &info->inputs[idx];
	struct pk_tensor tensor = {0};
	int r = pk_npy_read(file, &tensor, err);
	if (r == 0 &&
		(tensor.dtype != input->dtype || !pk_shape_equal(&tensor.shape, &input->shape))) {
		char want[PK_SHAPE_TEXT_MAX], have[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&input->shape, want);
		pk_shape_format(&tensor.shape, have);
		r = pk_fail(err, -EINVAL, "%s is %s%s, input `%s` is %s%s", file,
			pk_dtype_name(tensor.dtype), have, input->name, pk_dtype_name(input->dtype),
			want);
	}
	if (r == 0)
		memcpy(pk_context_input(context, 0, (size_t)idx), tensor.data, input->bytes);
	free(tensor.data);
	return r;
}

static char *output_path(const char *dir, const char *name)
{
	pk_auto_free char *file = NULL;
	if (asprintf(&file, "%s.npy", name) < 0)
		return NULL;
	for (char *c = file; *c; c++) {
		if (*c == '/')
			*c = '_';
	}
	return pk_fs_join(dir, file);
}

static int save_outputs(const struct pk_engine_args *args, struct pk_context *context,
	const struct pk_engine_info *info, struct pk_err *err)
{
	for (size_t i = 0; args->output_dir && i < info->n_outputs; i++) {
		const struct pk_binding *output = &info->outputs[i];
		pk_auto_free char *path = output_path(args->output_dir, output->name);
		if (!path)
			return pk_fail(err, -ENOMEM, "out of memory");
		int r = pk_npy_write(
			path, output->dtype, &output->shape, pk_context_output(context, 0, i), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void print_outputs(const struct pk_engine_args *args, const struct pk_engine_info *info)
{
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 20);
	pk_buf_str(&out, args->json ? "{\"outputs\":[" : "");
	for (size_t i = 0; i < info->n_outputs; i++) {
		const struct pk_binding *output = &info->outputs[i];
		char shape[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&output->shape, shape);
		if (!args->json) {
			pk_buf_printf(&out, "%s%s: %s%s", i ? "\n" : "", output->name,
				pk_dtype_name(output->dtype), shape);
			continue;
		}
		pk_buf_printf(&out, "%s{\"name\":", i ? "," : "");
		pk_buf_json_string(&out, output->name);
		pk_buf_printf(&out, ",\"dtype\":\"%s\",\"shape\":%s}", pk_dtype_name(output->dtype),
			shape);
	}
	pk_buf_str(&out, args->json ? "]}" : "");
	puts(pk_buf_cstr(&out));
}

static int run(struct pk_engine_args *args, struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	int r = pk_engine_args_open(args, &engine, err);
	if (r < 0)
		return r;
	pk_auto(pk_context) context = NULL; // goes before the engine
	const struct pk_engine_info *info = pk_engine_info(engine);
	r = pk_engine_args_context(args, engine, &context, err);
	if (r == 0 && args->poison)
		r = pk_context_set_poison(context, true, err);
	for (size_t i = 0; r == 0 && i < args->n_inputs; i++)
		r = feed_file(context, info, args->inputs[i].name, args->inputs[i].file, err);
	if (r == 0)
		r = pk_context_submit(context, 0, err);
	if (r == 0)
		r = pk_context_wait(context, 0, err);
	if (r == 0 && args->output_dir)
		r = pk_fs_mkdirs(args->output_dir, 0755, err);
	if (r == 0)
		r = save_outputs(args, context, info, err);
	if (r == 0)
		print_outputs(args, info);
	return r;
}

int pk_engine_run_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	int r = run(&args, &err);
	if (r < 0)
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
	return r == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}
