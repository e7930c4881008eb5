// SPDX-License-Identifier: Apache-2.0
// Rows of gemm.cu.
#include <string.h>

#include "engine/cpu/kernels/gemm.h"
#include "engine/cuda/kernels/row_list.h"
#include "engine/cuda/kernels/row_util.h"

#define GRID_YZ_MAX 65535

static const char *entry_of(const struct pk_cuda_call *call)
{
	static const struct {
		enum pk_dtype a, b, y;
		const char *name;
	} entries[] = {
		{PK_F32, PK_F32, PK_F32, "gemm_f32_f32_f32"},
		{PK_F16, PK_F16, PK_F16, "gemm_f16_f16_f16"},
		{PK_F16, PK_F32, PK_F16, "gemm_f16_f32_f16"},
		{PK_F32, PK_F16, PK_F16, "gemm_f32_f16_f16"},
	};
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (call->inputs[0].dtype == entries[i].a &&
			call->inputs[1].dtype == entries[i].b &&
			call->outputs[0].dtype == entries[i].y)
			return entries[i].name;
	}
	return NULL;
}

// Stride of t along axis `axis` of y's leading axes; 0 where it broadcasts.
static int batch_stride(const struct pk_cuda_tensor *t, const struct pk_cuda_tensor *y, int axis)
{
	int at = axis - (y->shape.rank - t->shape.rank);
	return at < 0 || t->shape.dims[at] == 1 ? 0 : (int)t->strides[at];
}

// Batches that share b and follow each other in a and y are more rows of one product.
static void fold_batches(struct pk_cu_gemm *p)
{
	while (p->rank > 0) {
		int last = p->rank - 1;
		if (p->dims[last] == 1) {
			p->rank--;
			continue;
		}
		if (p->b[last] || p->has_c || p->a[last] != p->m * p->a_m ||
			p->y[last] != p->m * p->y_m)
			return;
		p->m *= p->dims[last];
		p->rank--;
	}
}

static void make(const struct pk_cuda_call *call, struct pk_cu_gemm *p)
{
	const struct pk_cuda_tensor *a = &call->inputs[0], *b = &call->inputs[1];
	const struct pk_cuda_tensor *y = &call->outputs[0], *c = pk_cu_input(call, 2);
	bool gemm = call->node->op == PK_OP_GEMM;
	bool ta = gemm && pk_node_int(call->node, PK_ATTR_TRANS_A);
	bool tb = gemm && pk_node_int(call->node, PK_ATTR_TRANS_B);
	int ra = a->shape.rank - 2, rb = b->shape.rank - 2, ry = y->shape.rank - 2;
	struct pk_gemm g;
	pk_gemm_init(&g, call->node);
	*p = (struct pk_cu_gemm){
		.m = (int)g.m,
		.n = (int)g.n,
		.k = (int)g.k,
		.a_m = (int)a->strides[ra + ta],
		.a_k = (int)a->strides[ra + !ta],
		.b_k = (int)b->strides[rb + tb],
		.b_n = (int)b->strides[rb + !tb],
		.c_m = (int)g.c_m,
		.c_n = (int)g.c_n,
		.y_m = (int)y->strides[ry],
		.y_n = (int)y->strides[ry + 1],
		.rank = ry,
		.has_c = c != NULL,
		.alpha = gemm ? (float)g.alpha : 1,
		.beta = gemm ? (float)g.beta : 0,
	};
	for (int i = 0; i < ry; i++) {
		p->dims[i] = (int)y->shape.dims[i];
		p->a[i] = batch_stride(a, y, i);
		p->b[i] = batch_stride(b, y, i);
		p->y[i] = (int)y->strides[i];
	}
	fold_batches(p);
}

static int64_t batches(const struct pk_cu_gemm *p)
{
	int64_t n = 1;
	for (int i = 0; i < p->rank; i++)
		n *= p->dims[i];
	return n;
}

static uint32_t tiles(int n)
{
	return (uint32_t)(n + PK_CU_GEMM_SIDE - 1) / PK_CU_GEMM_SIDE;
}

static bool supports(const struct pk_cuda_call *call)
{
	const struct pk_cuda_tensor *c = pk_cu_input(call, 2);
	struct pk_gemm g;
	struct pk_cu_gemm p;
	if (!pk_cu_node_ok(call) || !pk_gemm_init(&g, call->node) || !entry_of(call) ||
		call->inputs[0].shape.rank < 2 || call->inputs[1].shape.rank < 2 ||
		(c && (c->dtype != PK_F32 || c->layout != PK_CUDA_DENSE)))
		return false;
	make(call, &p);
	return batches(&p) <= GRID_YZ_MAX && tiles(p.m) <= GRID_YZ_MAX;
}

static bool launch(const struct pk_cuda_call *call, int idx, struct pk_cuda_launch *out)
{
	bool pads = pk_cu_has_pads(&call->outputs[0]);
	struct pk_cu_gemm p;
	if (idx == 0 && pads) {
		pk_cu_launch_pads(&call->outputs[0], out);
		return true;
	}
	if (idx > pads)
		return false;
	make(call, &p);
	pk_cu_launch(out, entry_of(call), 1);
	out->grid[0] = tiles(p.n);
	out->grid[1] = tiles(p.m);
	out->grid[2] = (uint32_t)batches(&p);
	pk_cu_pointer(out, PK_CUDA_INPUT, 0);
	pk_cu_pointer(out, PK_CUDA_INPUT, 1);
	pk_cu_pointer(out, PK_CUDA_INPUT, p.has_c ? 2 : 0);
	pk_cu_pointer(out, PK_CUDA_OUTPUT, 0);
	pk_cu_params(out, &p, sizeof(p));
	return true;
}

#define ROW(id, text)                                                                              \
	const struct pk_cuda_row pk_cuda_row_##text = {                                            \
		.op = PK_OP_##id,                                                                  \
		.name = #text,                                                                     \
		.supports = supports,                                                              \
		.source = "gemm.cu",                                                               \
		.launch = launch,                                                                  \
	};
ROW(GEMM, gemm_tile)
ROW(MATMUL, matmul_tile)
