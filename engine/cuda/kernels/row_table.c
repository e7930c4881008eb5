// SPDX-License-Identifier: Apache-2.0
// The table of rows of our own GPU kernels.
#include <stddef.h>

#include "engine/cuda/kernels/row_list.h"

const struct pk_cuda_row *const pk_cuda_kernel_rows[] = {
#define X(name) &pk_cuda_row_##name,
	PK_CUDA_ROW_LIST(X)
#undef X
		NULL,
};
