// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reading of ONNX files: wire, records, tensor elements.
#include <stdint.h>
#include <stdlib.h>

#include "engine/onnx/model.h"
#include "engine/onnx/tensor_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_onnx_model *model = NULL;
	struct pk_err err = {0};
	pk_auto(pk_arena) arena = pk_arena_create(16 * size + 65536);
	if (!arena || pk_onnx_parse(data, size, arena, &model, &err))
		return 0;
	for (size_t i = 0; i < model->graph->n_initializers; i++) {
		struct pk_tensor tensor;
		size_t n_denormals = 0;
		(void)pk_tensor_data_read(
			&model->graph->initializers[i], arena, &tensor, &n_denormals, &err);
	}
	return 0;
}
