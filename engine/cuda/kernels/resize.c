// SPDX-License-Identifier: Apache-2.0
// Rows of resize.cu: along the spatial axes of tensors of rank 3 (dense) and 4 (NHWC).
#include "engine/cpu/kernels/resize.h"

#include <string.h>

#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

// ONNX axis of the kernel's two; -1: there is none.
static void axes_of(const struct pk_cuda_call *call, int axes[2])
{
	int rank = call->inputs[0].shape.rank;
	axes[0] = rank == 4 ? 2 : -1;
	axes[1] = rank - 1;
}

static int lanes_of(const struct pk_cuda_call *call)
{
	if (call->inputs[0].layout != PK_CUDA_NHWC)
		return 1;
	return call->inputs[0].dtype == PK_F16 ? 8 : 4;
}

// The first two axes stay as they are.
static bool plain_axis(const struct pk_node *node, int axis)
{
	const struct pk_attr_value *roi = pk_node_attr(node, PK_ATTR_ROI);
	int rank = node->inputs[0]->shape.rank;
	if (pk_node_attr(node, PK_ATTR_SCALES)->f[axis] != 1 ||
		node->inputs[0]->shape.dims[axis] != node->outputs[0]->shape.dims[axis])
		return false;
	return roi->n < 2 * rank || (roi->f[axis] == 0 && roi->f[rank + axis] == 1);
}

static int64_t table_entries(const struct pk_cuda_call *call, int axis)
{
	return axis < 0 ? 1
			: call->outputs[0].shape.dims[axis] * pk_resize_n_taps(call->node, axis);
}

static void make(const struct pk_cuda_call *call, struct pk_cu_resize *p)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	int lanes = lanes_of(call), axes[2];
	int64_t channels = lanes > 1 ? y->channels : y->shape.dims[1];
	axes_of(call, axes);
	*p = (struct pk_cu_resize){
		.vectors = (int)(channels / lanes),
		.channels = (int)y->shape.dims[1],
		.x_n = (int)x->strides[0],
		.x_c = (int)x->strides[1] * lanes,
		.y_n = (int)y->strides[0],
		.y_c = (int)y->strides[1] * lanes,
		.outside = (float)pk_node_float(call->node, PK_ATTR_VALUE),
	};
	int64_t n = y->shape.dims[0] * p->vectors;
	for (int i = 0; i < 2; i++) {
		p->out[i] = axes[i] < 0 ? 1 : (int)y->shape.dims[axes[i]];
		p->taps[i] = axes[i] < 0 ? 1 : (int)pk_resize_n_taps(call->node, axes[i]);
		p->y_s[i] = axes[i] < 0 ? 0 : (int)y->strides[axes[i]];
		p->table[i] = i ? (int)table_entries(call, axes[0]) : 0;
		n *= p->out[i];
	}
	p->n = (int)n;
}

static bool supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *x = &call->inputs[0], *y = &call->outputs[0];
	int64_t mode = pk_node_int(call->node, PK_ATTR_MODE);
	int axes[2];
	if (!pk_cu_node_ok(call) || (mode != PK_MODE_LINEAR && mode != PK_MODE_CUBIC) ||
		(x->shape.rank != 3 && x->shape.rank != 4) || y->dtype != x->dtype ||
		!(x->dtype == PK_F32 || (x->dtype == PK_F16 && x->layout == PK_CUDA_NHWC)) ||
		!plain_axis(call->node, 0) || !plain_axis(call->node, 1))
		return false;
	axes_of(call, axes);
	return table_entries(call, axes[0]) + table_entries(call, axes[1]) <= INT32_MAX / 8;
}

static size_t pack_bytes(const struct pk_cuda_call *call)
{
	int axes[2];
	axes_of(call, axes);
	return (size_t)(table_entries(call, axes[0]) + table_entries(call, axes[1])) *
	       sizeof(struct pk_cu_tap);
}

static void pack_axis(const struct pk_cuda_call *call, int axis, struct pk_cu_tap *out)
{
	int64_t idx[PK_RESIZE_TAPS_MAX];
	double weights[PK_RESIZE_TAPS_MAX];
	int64_t n = pk_resize_n_taps(call->node, axis);
	for (int64_t i = 0; i < call->outputs[0].shape.dims[axis]; i++) {
		bool outside = pk_resize_taps(call->node, axis, i, idx, weights);
		for (int64_t t = 0; t < n; t++, out++) {
			out->at = outside ? -1 : (int)(idx[t] * call->inputs[0].strides[axis]);
			out->weight = (float)weights[t];
		}
	}
}

static void pack(const struct pk_cuda_call *call, void *out)
{
	struct pk_cu_tap *taps = out;
	int axes[2];
	axes_of(call, axes);
	if (axes[0] < 0)
		taps[0] = (struct pk_cu_tap){0, 1};
	else
		pack_axis(call, axes[0], taps);
	pack_axis(call, axes[1], taps + table_entries(call, axes[0]));
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	struct pk_cu_resize p;
	if (idx > 0)
		return false;
	make(call, &p);
	pk_cu_launch(out,
		lanes_of(call) == 1   ? "resize_f32_1"
		: lanes_of(call) == 8 ? "resize_f16"
				      : "resize_f32",
		p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_PACKED, 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_resize_taps = {
	.op = PK_OP_RESIZE,
	.name = "resize_taps",
	.supports = supports,
	.pack_bytes = pack_bytes,
	.pack = pack,
	.source = "resize.cu",
	.launch = launch,
};
