// SPDX-License-Identifier: Apache-2.0
// Imports an ONNX file and runs it node by node with the reference kernels: no passes, no engine.
// Takes the arguments of `picketctl engine run`, so that tests can point at either.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/checked.h"
#include "engine/cpu/eval.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"
#include "engine/onnx/import.h"

#define GIB ((size_t)1 << 30)

struct feed {
	const char *name; // NAME of NAME=FILE, cut out of the argument
	const char *path;
};

struct tool {
	const char *model_path, *output_dir;
	bool print;
	PK_ARRAY(struct feed) feeds;
	PK_ARRAY(struct pk_shape_binding) bindings;
};

static const struct {
	enum pk_dtype dtype;
	const char *descr;
} npy_types[] = {
	{PK_F32, "<f4"},
	{PK_I64, "<i8"},
	{PK_I32, "<i4"},
	{PK_U8, "|u1"},
	{PK_I8, "|i1"},
	{PK_BOOL, "|b1"},
};

static void *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	char *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
	if (bytes && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
		free(bytes);
		bytes = NULL;
	}
	*n = bytes ? (size_t)size : 0;
	fclose(f);
	return bytes;
}

// The elements of a version 1 .npy file whose type and size fit the value; NULL when they do not.
static void *read_npy(const char *path, const struct pk_value *value)
{
	size_t n = 0, want = pk_tensor_bytes(value->dtype, &value->shape);
	uint8_t *bytes = read_file(path, &n);
	const char *descr = "?";
	for (size_t i = 0; i < PK_ARRAY_LEN(npy_types); i++)
		if (npy_types[i].dtype == value->dtype)
			descr = npy_types[i].descr;
	size_t header = n > 10 ? 10 + (size_t)(bytes[8] | bytes[9] << 8) : 0;
	char text[256] = "";
	if (header > 10 && header <= n)
		memcpy(text, bytes + 10, PK_MIN(header - 10, sizeof(text) - 1));
	void *data = NULL;
	if (!strstr(text, descr) || strstr(text, "'fortran_order': True") || n - header != want)
		fprintf(stderr, "%s: not %s of %zu bytes\n", path, descr, want);
	else if ((data = aligned_alloc(64, pk_align_up(want + 1, 64))))
		memcpy(data, bytes + header, want);
	free(bytes);
	return data;
}

static int write_npy(const char *dir, const struct pk_value *value, const void *data)
{
	char path[1024], dims[256] = "", header[512];
	size_t n = 0;
	snprintf(path, sizeof(path), "%s/%s.npy", dir, value->name);
	for (char *c = path + strlen(dir) + 1; *c; c++)
		*c = *c == '/' ? '_' : *c;
	for (int i = 0; i < value->shape.rank; i++)
		n += (size_t)snprintf(
			dims + n, sizeof(dims) - n, "%" PRId64 ",", value->shape.dims[i]);
	const char *descr = "?";
	for (size_t i = 0; i < PK_ARRAY_LEN(npy_types); i++)
		if (npy_types[i].dtype == value->dtype)
			descr = npy_types[i].descr;
	int len = snprintf(header, sizeof(header),
		"{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims);
	int padded = (10 + len + 1 + 63) / 64 * 64 - 10;
	FILE *f = fopen(path, "wb");
	if (!f)
		return -errno;
	fprintf(f, "\x93NUMPY%c%c%c%c%s%*s\n", 1, 0, padded & 255, padded >> 8, header,
		padded - len - 1, "");
	size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
	size_t wrote = fwrite(data, 1, bytes, f);
	return fclose(f) == 0 && wrote == bytes ? 0 : -EIO;
}

static bool parse_shape(char *text, struct pk_shape_binding *binding)
{
	char *at = strchr(text, '=');
	if (!at)
		return false;
	*at++ = '\0';
	binding->name = text;
	while (*at && binding->shape.rank < PK_MAX_RANK) {
		char *end;
		binding->shape.dims[binding->shape.rank++] = strtoll(at, &end, 10);
		if (end == at || (*end && *end != 'x'))
			return false;
		at = *end ? end + 1 : end;
	}
	return true;
}

static bool parse_option(struct tool *tool, const char *option, char *value)
{
	if (strcmp(option, "--runtime") == 0)
		return true;
	if (strcmp(option, "--output-dir") == 0) {
		tool->output_dir = value;
		return true;
	}
	if (strcmp(option, "--shape") == 0) {
		struct pk_shape_binding *binding = pk_array_push(&tool->bindings);
		return binding && parse_shape(value, binding);
	}
	char *eq = strchr(value, '=');
	struct feed *feed = pk_array_push(&tool->feeds);
	if (strcmp(option, "--input") != 0 || !eq || !feed)
		return false;
	*eq = '\0';
	*feed = (struct feed){value, eq + 1};
	return true;
}

static bool parse_args(struct tool *tool, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--print") == 0)
			tool->print = true;
		else if (strcmp(argv[i], "engine") == 0 || strcmp(argv[i], "run") == 0 ||
			 strcmp(argv[i], "--json") == 0)
			continue;
		else if (strncmp(argv[i], "--", 2) != 0)
			tool->model_path = argv[i];
		else if (i + 1 == argc || !parse_option(tool, argv[i], argv[i + 1]))
			return false;
		else
			i++;
	}
	return tool->model_path != NULL;
}

static void *feed_input(const struct tool *tool, const struct pk_value *value)
{
	for (size_t i = 0; i < tool->feeds.n; i++)
		if (strcmp(tool->feeds.items[i].name, value->name) == 0)
			return read_npy(tool->feeds.items[i].path, value);
	fprintf(stderr, "input `%s` is not given\n", value->name);
	return NULL;
}

static int run(const struct tool *tool, const struct pk_graph *graph, struct pk_err *err)
{
	int rc = 0;
	void **inputs = calloc((size_t)graph->n_inputs + 1, sizeof(void *));
	void **outputs = calloc((size_t)graph->n_outputs + 1, sizeof(void *));
	for (int i = 0; i < graph->n_inputs && !rc; i++) {
		inputs[i] = feed_input(tool, graph->inputs[i]);
		rc = inputs[i] ? 0 : pk_fail(err, -EINVAL, "cannot feed the inputs");
	}
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
		outputs[i] = aligned_alloc(64, pk_align_up(bytes + 1, 64));
	}
	if (!rc)
		rc = pk_cpu_eval_graph(graph, (const void *const *)inputs, outputs, err);
	for (int i = 0; i < graph->n_outputs && !rc; i++)
		rc = write_npy(tool->output_dir, graph->outputs[i], outputs[i]);
	for (int i = 0; i < graph->n_inputs; i++)
		free(inputs[i]);
	for (int i = 0; i < graph->n_outputs; i++)
		free(outputs[i]);
	free(inputs);
	free(outputs);
	return rc;
}

static int import_file(const struct tool *tool, const void *bytes, size_t n, struct pk_graph **out,
	struct pk_err *err)
{
	pk_auto(pk_arena) arena = pk_arena_create(16 * n + GIB);
	struct pk_onnx_model *model;
	struct pk_import_options options = {
		.bindings = tool->bindings.items,
		.n_bindings = tool->bindings.n,
		.evaluator = &pk_cpu_evaluator,
	};
	int rc = pk_onnx_parse(bytes, n, arena, &model, err);
	if (!rc)
		rc = pk_onnx_import(model, &options, out, err);
	return rc ? rc : pk_verify_graph(*out, err);
}

static int process(const struct tool *tool, struct pk_err *err)
{
	size_t n;
	void *bytes = read_file(tool->model_path, &n);
	pk_auto(pk_graph) graph = NULL;
	struct pk_buf text;
	pk_buf_init(&text, GIB);
	int rc = bytes ? import_file(tool, bytes, n, &graph, err)
		       : pk_fail(err, -ENOENT, "cannot read `%s`", tool->model_path);
	if (!rc && tool->print) {
		rc = pk_text_print(graph, NULL, &text);
		printf("%s", pk_buf_cstr(&text));
	}
	if (!rc && tool->output_dir)
		rc = run(tool, graph, err);
	pk_buf_finish(&text);
	pk_graph_destroy(pk_steal(graph));
	free(bytes);
	return rc;
}

int main(int argc, char **argv)
{
	struct tool tool = {0};
	struct pk_err err = {0};
	if (!parse_args(&tool, argc, argv)) {
		fprintf(stderr, "usage: onnx-eval MODEL [--print] [--shape NAME=1x3x8x8]… "
				"[--input NAME=FILE.npy]… [--output-dir DIR]\n");
		return 2;
	}
	int rc = process(&tool, &err);
	if (rc)
		fprintf(stderr, "%s\n", pk_err_text(&err, rc));
	pk_array_finish(&tool.feeds);
	pk_array_finish(&tool.bindings);
	return rc ? 1 : 0;
}
