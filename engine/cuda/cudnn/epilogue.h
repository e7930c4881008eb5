// SPDX-License-Identifier: Apache-2.0
// The chain of pointwise steps after a plan's core.
#pragma once

#include <stdbool.h>

#include "engine/cuda/cudnn/fusion.h"
#include "engine/ir/op.h"

// Room for them is our own business: no operator takes more than PK_CUDNN_MAX_STEPS.
void pk_cudnn_put_step(struct pk_cudnn_fusion *fusion, int mode, enum pk_cudnn_operand operand);
void pk_cudnn_put_scalar(
	struct pk_cudnn_fusion *fusion, int mode, enum pk_cudnn_scalar_source source, float value);

// The steps of an activation. -ENOTSUP: it has no form in cuDNN's pointwise modes.
int pk_cudnn_put_act(struct pk_cudnn_fusion *fusion, enum pk_fn fn, double alpha, double beta);

// Whether 0 stays 0, as channels of padding must.
bool pk_cudnn_act_keeps_zero(enum pk_fn fn, double alpha, double beta);
