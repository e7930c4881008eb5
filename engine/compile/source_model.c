// SPDX-License-Identifier: Apache-2.0
// Opens ONNX files for the compiler.
#include <errno.h>
#include <string.h>

#include "engine/compile/compile.h"
#include "engine/cpu/eval.h"
#include "engine/onnx/import.h"
#include "engine/onnx/model.h"

#define MAX_ONNX_BYTES (UINT64_C(2) << 30)
// Records of a parsed file: bounded by a multiple of the file, as section 4.2 of ONNX practice
// asks.
#define ARENA_FACTOR 16
#define ARENA_FLOOR  (16u << 20)

static int import_graph(struct pk_source_model *model, const struct pk_onnx_model *onnx,
	const struct pk_input_shape *shapes, size_t n_shapes, struct pk_buf *report,
	struct pk_err *err)
{
	struct pk_shape_binding bindings[PK_ENGINE_MAX_BINDINGS];
	if (n_shapes > PK_ENGINE_MAX_BINDINGS)
		return pk_fail(err, -EINVAL, "more than %d shape bindings", PK_ENGINE_MAX_BINDINGS);
	for (size_t i = 0; i < n_shapes; i++)
		bindings[i] = (struct pk_shape_binding){shapes[i].name, shapes[i].shape};
	struct pk_import_options options = {
		.bindings = bindings,
		.n_bindings = n_shapes,
		.evaluator = &pk_cpu_evaluator,
		.report = report,
	};
	return pk_onnx_import(onnx, &options, &model->graph, err);
}

int pk_source_model_open(struct pk_source_model *model, const char *path,
	const struct pk_input_shape *shapes, size_t n_shapes, struct pk_buf *report,
	struct pk_err *err)
{
	*model = (struct pk_source_model){0};
	int r = pk_fs_map(&model->map, path, MAX_ONNX_BYTES, err);
	if (r < 0)
		return r;
	r = pk_digest_bytes(model->map.data, model->map.size, &model->digest);
	model->arena = pk_arena_create(model->map.size * ARENA_FACTOR + ARENA_FLOOR);
	if (r == 0 && !model->arena)
		r = pk_fail(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = pk_onnx_parse(
			model->map.data, model->map.size, model->arena, &model->onnx, err);
	if (r == 0)
		r = import_graph(model, model->onnx, shapes, n_shapes, report, err);
	if (r < 0) {
		pk_source_model_close(model);
		pk_err_prefix(err, "%s", path);
	}
	return r;
}

void pk_source_model_close(struct pk_source_model *model)
{
	pk_graph_destroy(model->graph);
	pk_arena_destroy(model->arena);
	pk_fs_unmap(&model->map);
	*model = (struct pk_source_model){0};
}
