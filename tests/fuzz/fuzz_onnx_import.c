// SPDX-License-Identifier: Apache-2.0
// Fuzzes the way from an ONNX file to a graph. What the importer accepts, the verifier must too.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/cpu/eval.h"
#include "engine/ir/verify.h"
#include "engine/onnx/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import(const struct pk_onnx_model *model, size_t size, struct pk_buf *report)
{
	pk_auto(pk_graph) graph = NULL;
	struct pk_err err = {0};
	const struct pk_import_options options = {
		.evaluator = &pk_cpu_evaluator,
		.max_folded_bytes = 1 << 16,
		.max_graph_bytes = 16 * size + (1 << 20),
		.report = report,
	};
	if (pk_onnx_import(model, &options, &graph, &err))
		return;
	if (pk_verify_graph(graph, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_onnx_model *model = NULL;
	struct pk_err err = {0};
	struct pk_buf report;
	pk_auto(pk_arena) arena = pk_arena_create(16 * size + 65536);
	if (!arena || pk_onnx_parse(data, size, arena, &model, &err))
		return 0;
	pk_buf_init(&report, 1 << 16);
	import(model, size, NULL);
	import(model, size, &report);
	pk_buf_finish(&report);
	return 0;
}
