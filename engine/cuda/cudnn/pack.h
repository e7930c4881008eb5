// SPDX-License-Identifier: Apache-2.0
// Weights, bias, scales and scalars of a convolution in one block, as a plan reads them.
#pragma once

#include <stddef.h>

#include "engine/cuda/cudnn/fusion.h"

// Offsets in bytes; each operand is aligned for cuDNN.
struct pk_cudnn_packing {
	size_t weights, scale, bias, scalars, total;
};
#define PK_CUDNN_SCALAR_STRIDE 16

// SIZE_MAX in total: too large.
void pk_cudnn_packing_of(const struct pk_cudnn_fusion *fusion, struct pk_cudnn_packing *out);
// Of conv, conv_transpose and qconv: constants in ONNX order become K, R, S, C of the plan's type,
// with zeros in padded channels. out: packing's total bytes.
void pk_cudnn_pack(const struct pk_cuda_call *call, const struct pk_cudnn_fusion *fusion,
	const struct pk_cudnn_packing *packing, void *out);
