// SPDX-License-Identifier: Apache-2.0
// How a value lies on the device, and the way between that and dense host bytes.
#pragma once

#include "engine/cuda/row.h"

// Follows from the value and the engine's float type alone. Graph inputs and outputs are dense and
// of their own type: identity nodes stand between them and the rest (engine/cuda/lower.h).
void pk_cuda_tensor_of(
	const struct pk_value *value, enum pk_dtype float_type, struct pk_cuda_tensor *out);
size_t pk_cuda_tensor_bytes(const struct pk_cuda_tensor *tensor);
bool pk_cuda_tensor_equal(const struct pk_cuda_tensor *a, const struct pk_cuda_tensor *b);

// dense: of the value's own type, row-major. Padding becomes 0. Never fails: the types are those of
// pk_cuda_tensor_of for that value.
void pk_cuda_to_device_form(const struct pk_value *value, const struct pk_cuda_tensor *tensor,
	const void *dense, void *out);
void pk_cuda_to_host_form(const struct pk_value *value, const struct pk_cuda_tensor *tensor,
	const void *device_form, void *dense);
