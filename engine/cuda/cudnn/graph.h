// SPDX-License-Identifier: Apache-2.0
// A fusion as cuDNN's operation graph.
#pragma once

#include "engine/cuda/cudnn/descriptor.h"
#include "engine/cuda/cudnn/fusion.h"

// Unique ids of the tensors that a run binds to addresses.
enum pk_cudnn_uid {
	PK_CUDNN_UID_X = 1,
	PK_CUDNN_UID_W,
	PK_CUDNN_UID_Y,
	PK_CUDNN_UID_RESIDUAL,
	PK_CUDNN_UID_SCALE,
	PK_CUDNN_UID_BIAS,
	PK_CUDNN_UID_SCALAR = 16,
	PK_CUDNN_UID_VIRTUAL = 64,
};

struct pk_cudnn_graph {
	struct pk_cudnn_pool pool;
	void *descriptor; // the OPERATIONGRAPH
};

// -EINVAL: cuDNN calls the shapes wrong; -ENOTSUP, -ENOMEM.
int pk_cudnn_graph_init(struct pk_cudnn_graph *graph, const struct pk_cudnn_device *device,
	const struct pk_cudnn_fusion *fusion, struct pk_err *err) pk_must_check;
void pk_cudnn_graph_finish(struct pk_cudnn_graph *graph); // safe when zeroed
