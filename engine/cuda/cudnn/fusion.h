// SPDX-License-Identifier: Apache-2.0
// What one cuDNN plan computes, in plain numbers: a convolution, transposed convolution or matrix
// product, then a chain of pointwise steps on its result. Pure: made from a call of a row, no cuDNN
// needed. The plan of an engine is opened by the same description that it was built from.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/row.h"

#define PK_CUDNN_MAX_STEPS   10
#define PK_CUDNN_MAX_SCALARS 6
#define PK_CUDNN_MAX_DIMS    4

enum pk_cudnn_core {
	PK_CUDNN_CONV,
	PK_CUDNN_TRANSPOSED_CONV, // as cuDNN sees it: the gradient by the data of a convolution
	PK_CUDNN_MATMUL_CORE,
};

// One tensor as cuDNN wants it: strides in elements.
struct pk_cudnn_tensor {
	int type; // PK_CUDNN_DATA_*
	int n_dims;
	int64_t dims[PK_CUDNN_MAX_DIMS], strides[PK_CUDNN_MAX_DIMS];
};

// The second operand of a step; the first is the result so far.
enum pk_cudnn_operand {
	PK_CUDNN_NO_OPERAND,
	PK_CUDNN_SCALE,    // f32 per channel
	PK_CUDNN_BIAS,     // f32 per channel
	PK_CUDNN_RESIDUAL, // a tensor like the result
	PK_CUDNN_SCALAR,   // one f32
	PK_CUDNN_SAVED,    // what the activation started from
};

struct pk_cudnn_step {
	int mode; // pointwise mode: PK_CUDNN_ADD, …
	enum pk_cudnn_operand operand;
	int scalar;    // which of the fusion's scalars
	bool saves;    // its input is what PK_CUDNN_SAVED means later
	bool has_clip; // PK_CUDNN_RELU: lower and upper hold
	double lower, upper;
	double alpha; // slope of PK_CUDNN_RELU below, alpha of PK_CUDNN_ELU
};

// Where a scalar's value comes from.
enum pk_cudnn_scalar_source {
	PK_CUDNN_VALUE,           // known from attributes
	PK_CUDNN_INVERSE_Y_SCALE, // of a quantised node, by its constant operands
	PK_CUDNN_Y_ZERO,
};
struct pk_cudnn_scalar {
	enum pk_cudnn_scalar_source source;
	float value;
};

struct pk_cudnn_fusion {
	enum pk_cudnn_core core;
	struct pk_cudnn_tensor x, w, y, residual;
	int64_t strides[2], dilations[2], pre_pads[2], post_pads[2];
	int compute_type; // what the core sums in
	bool strict;      // f32 inputs keep all their bits: an engine of f32, not of f16
	int64_t channels; // of scale and bias
	int channel_dim;  // which dim of y they go along
	struct pk_cudnn_step steps[PK_CUDNN_MAX_STEPS];
	int n_steps;
	struct pk_cudnn_scalar scalars[PK_CUDNN_MAX_SCALARS];
	int n_scalars;
};

// Fills out from a conv, conv_transpose, qconv, matmul or gemm. -ENOTSUP with the reason when
// cuDNN's graph API is not the way to compute it; err may be NULL.
int pk_cudnn_fusion_from(
	const struct pk_cuda_call *call, struct pk_cudnn_fusion *out, struct pk_err *err);

bool pk_cudnn_fusion_uses(const struct pk_cudnn_fusion *fusion, enum pk_cudnn_operand operand);

// "conv f16 x=1,64,80,80 w=64,64,3,3 …": equal texts mean equal plans. Appends to out.
int pk_cudnn_fusion_text(const struct pk_cudnn_fusion *fusion, struct pk_buf *out);
