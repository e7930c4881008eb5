// SPDX-License-Identifier: Apache-2.0
// NumPy .npy files (format 1.0 to 3.0, little-endian, C order): how tensors come in and out of
// tools.
#pragma once

#include "base/err.h"
#include "engine/tensor.h"

// tensor->data is malloc'ed and the caller's.
int pk_npy_read(const char *path, struct pk_tensor *tensor, struct pk_err *err) pk_must_check;
int pk_npy_write(const char *path, enum pk_dtype dtype, const struct pk_shape *shape,
	const void *data, struct pk_err *err) pk_must_check;
