// SPDX-License-Identifier: Apache-2.0
// The elements of an ONNX tensor in the form that the IR keeps: f16, bf16 and f64 become f32.
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/onnx/model.h"
#include "engine/tensor.h"

// The IR's element type for an ONNX one: f16, bf16 and f64 are computed in f32. NONE: unsupported.
enum pk_dtype pk_tensor_data_dtype(int64_t onnx_data_type);
// "float16"; "type 23" for what has no name.
const char *pk_tensor_data_type_name(int64_t onnx_data_type);

// out->data points into the model where its bytes can be used in place, else into the arena.
// Denormal f32 are flushed to zero (the tensor is copied then) and added to *n_denormals.
// -EINVAL: malformed; -ENOTSUP: type or external data; -EFBIG, -ENOMEM.
int pk_tensor_data_read(const struct pk_onnx_tensor *tensor, struct pk_arena *arena,
	struct pk_tensor *out, size_t *n_denormals, struct pk_err *err) pk_must_check;
