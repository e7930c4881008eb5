// SPDX-License-Identifier: Apache-2.0
// Finds rows among those of kernels/ and cudnn/.
#include <string.h>

#include "engine/cuda/row.h"

static const struct pk_cuda_row *const *const tables[] = {pk_cuda_kernel_rows, pk_cudnn_rows};

const struct pk_cuda_row *pk_cuda_row_by_name(const char *name)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(tables); i++) {
		for (const struct pk_cuda_row *const *row = tables[i]; *row; row++) {
			if (strcmp((*row)->name, name) == 0)
				return *row;
		}
	}
	return NULL;
}

const struct pk_cuda_row *pk_cuda_row_next(const struct pk_cuda_call *call, int below)
{
	const struct pk_cuda_row *best = NULL;
	for (size_t i = 0; i < PK_ARRAY_LEN(tables); i++) {
		for (const struct pk_cuda_row *const *row = tables[i]; *row; row++) {
			if ((*row)->op == call->node->op && (*row)->rank < below &&
				(!best || (*row)->rank > best->rank) && (*row)->supports(call))
				best = *row;
		}
	}
	return best;
}
