// SPDX-License-Identifier: Apache-2.0
// The launch of preprocess.cu: a camera picture straight into the input tensor on the device.
#pragma once

#include <stdbool.h>

#include "engine/cuda/row.h"
#include "engine/image/image.h"

struct pk_preprocess;

// The idx-th launch, in order; false when there are no more. pre fits image
// (pk_preprocess_fits), y is an input tensor of pre's spec (rank 4, f16 or f32) of which picture
// `batch` is written. Pointers: inputs 0 to 2 are the planes on the device (0 where the format has
// none), output 0 is y. The source is "preprocess.cu". Pure; any thread.
bool pk_cuda_preprocess_launch(const struct pk_preprocess *pre, const struct pk_image *image,
	const struct pk_cuda_tensor *y, int batch, int idx, struct pk_cuda_launch *out);
