// SPDX-License-Identifier: Apache-2.0
// How kernels that reduce along axes share the work: fills struct pk_cu_rows and the launch.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cuda/kernels/params.h"
#include "engine/cuda/row.h"

// Axes of x as a bit set: `gone` are reduced, the others kept. Strides of y and of a scale by axis
// of x, 0 where they do not move. At most four axes are reduced.
struct pk_cu_rows_layout {
	const struct pk_cuda_tensor *x;
	unsigned gone;
	int64_t y[PK_MAX_RANK], scale[PK_MAX_RANK];
};
// False: too many axes.
bool pk_cu_rows_make(const struct pk_cu_rows_layout *layout, struct pk_cu_rows *out);
void pk_cu_rows_launch(
	const struct pk_cu_rows *p, const char *function, struct pk_cuda_launch *out);
