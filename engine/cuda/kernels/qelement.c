// SPDX-License-Identifier: Apache-2.0
// Rows of qelement.cu.
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

// Scales, zero points and tables are dense: of rank 4 they would be laid otherwise.
static bool dense_from(const struct pk_cuda_call *call, int first)
{
	for (int i = first; i < call->node->n_inputs; i++) {
		const struct pk_cuda_tensor *t = pk_cu_input(call, i);
		if (t && t->layout != PK_CUDA_DENSE)
			return false;
	}
	return true;
}

static bool binary_supports(const struct pk_cuda_call *call)
{
	return pk_cu_node_ok(call) && dense_from(call, 2);
}

// Stride of operand t along axis `axis` of y; 0 where it broadcasts.
static int stride_of(const struct pk_cuda_tensor *t, const struct pk_cuda_tensor *y, int axis)
{
	int at = axis - (y->shape.rank - t->shape.rank);
	return at < 0 || t->shape.dims[at] == 1 ? 0 : (int)t->strides[at];
}

static bool binary_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const struct pk_cuda_tensor *a = &call->inputs[0], *b = &call->inputs[1];
	const struct pk_cuda_tensor *y = &call->outputs[0];
	int order[PK_MAX_RANK] = {0};
	bool pads = pk_cu_has_pads(y);
	if (idx == 0 && pads) {
		pk_cu_launch_pads(y, out);
		return true;
	}
	if (idx > pads)
		return false;
	struct pk_cu_qbinary p = {
		.rank = y->shape.rank,
		.n = 1,
		.fn = (int)pk_node_fn(call->node, PK_ATTR_FN),
		.act = (int)pk_node_fn(call->node, PK_ATTR_ACT),
		.alpha = (float)pk_node_float(call->node, PK_ATTR_ALPHA),
		.beta = (float)pk_node_float(call->node, PK_ATTR_BETA),
		.is_signed = {a->dtype == PK_I8, b->dtype == PK_I8, y->dtype == PK_I8},
	};
	pk_cu_axis_order(y, order);
	for (int i = 0; i < p.rank; i++) {
		p.dims[i] = (int)y->shape.dims[order[i]];
		p.a[i] = stride_of(a, y, order[i]);
		p.b[i] = stride_of(b, y, order[i]);
		p.y[i] = (int)y->strides[order[i]];
		p.n *= p.dims[i];
	}
	pk_cu_launch(out, "qbinary", p.n);
	for (int i = 0; i < 7; i++) // zero points that are left out are never read
		pk_cu_pointer(out, PK_CUDA_INPUT, pk_cu_input(call, i) ? i : 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	for (int i = 0; i < 3; i++)
		p.has_zero[i] = pk_cu_input(call, 4 + i) != NULL;
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_qbinary_element = {
	.op = PK_OP_QBINARY,
	.name = "qbinary_element",
	.in_place = true,
	.supports = binary_supports,
	.source = "qelement.cu",
	.launch = binary_launch,
};

static bool lookup_supports(const struct pk_cuda_call *call)
{
	return pk_cu_node_ok(call) && dense_from(call, 1) &&
	       call->inputs[0].layout == call->outputs[0].layout;
}

static bool lookup_launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	const struct pk_cuda_tensor *y = &call->outputs[0];
	bool nhwc = y->layout == PK_CUDA_NHWC;
	struct pk_cu_lookup p = {
		.n = (int)y->elements,
		.channels = nhwc ? (int)y->shape.dims[1] : 1,
		.padded = nhwc ? (int)y->channels : 1,
	};
	if (idx > 0)
		return false;
	pk_cu_launch(out, "lookup", p.n);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_INPUT, 1);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

const struct pk_cuda_row pk_cuda_row_lookup_table = {
	.op = PK_OP_LOOKUP,
	.name = "lookup_table",
	.in_place = true,
	.supports = lookup_supports,
	.source = "qelement.cu",
	.launch = lookup_launch,
};
