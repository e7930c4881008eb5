// SPDX-License-Identifier: Apache-2.0
// The rows that cuDNN carries out.
#include <errno.h>
#include <stdlib.h>

#include "engine/cuda/cudnn/pack.h"
#include "engine/cuda/cudnn/search.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/row.h"

#define MAX_WORKSPACE ((size_t)128 << 20) // of one plan: nodes have little memory to spare

struct opened {
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	struct pk_cudnn_plan *plan;
};

static int device_of(struct pk_cuda *cuda, struct pk_cudnn_device *out, struct pk_err *err)
{
	*out = (struct pk_cudnn_device){
		.fn = &cuda->cudnn,
		.version = cuda->device.cudnn_version,
		.sm = cuda->device.sm,
	};
	return pk_cuda_cudnn_handle(cuda, &out->handle, err);
}

static bool supports(const struct pk_cuda_call *call)
{
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	if (pk_cudnn_fusion_from(call, &fusion, NULL) < 0)
		return false;
	pk_cudnn_packing_of(&fusion, &packing);
	return packing.total != SIZE_MAX;
}

static size_t pack_bytes(const struct pk_cuda_call *call)
{
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	if (pk_cudnn_fusion_from(call, &fusion, NULL) < 0)
		return 0;
	pk_cudnn_packing_of(&fusion, &packing);
	return packing.total;
}

static void pack(const struct pk_cuda_call *call, void *out)
{
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	if (pk_cudnn_fusion_from(call, &fusion, NULL) < 0)
		return;
	pk_cudnn_packing_of(&fusion, &packing);
	pk_cudnn_pack(call, &fusion, &packing, out);
}

// Only want of memory ends a build: whatever else cuDNN says of a graph, another row may do.
static int as_refusal(int r)
{
	return r == 0 || r == -ENOMEM || r == -ENOTRECOVERABLE ? r : -ENOTSUP;
}

static int build_plan(const struct pk_cuda_call *call, struct pk_cuda *cuda, struct pk_buf *json,
	struct pk_err *err)
{
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_device device;
	pk_auto(pk_cudnn_plan) plan = NULL;
	int r = device_of(cuda, &device, err);
	if (r == 0)
		r = pk_cudnn_fusion_from(call, &fusion, err);
	if (r == 0)
		r = pk_cudnn_find(&device, &fusion, MAX_WORKSPACE, &plan, NULL, err);
	if (r == 0)
		r = pk_cudnn_plan_print(plan, json, err);
	return as_refusal(r);
}

struct each {
	int (*visit)(void *ctx, const char *tag, const struct pk_cuda_bytes *json);
	void *ctx;
	struct pk_buf json;
};

static int visit_one(void *ctx, struct pk_cudnn_plan **plan, const char *tag)
{
	struct each *each = ctx;
	pk_buf_clear(&each->json);
	if (pk_cudnn_plan_print(*plan, &each->json, NULL) < 0)
		return 0;
	struct pk_cuda_bytes bytes = {each->json.data, each->json.len};
	return each->visit(each->ctx, tag, &bytes);
}

static int each_plan(const struct pk_cuda_call *call, struct pk_cuda *cuda,
	const struct pk_cuda_plan_visit *visit, struct pk_err *err)
{
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_device device;
	struct each each = {.visit = visit->visit, .ctx = visit->ctx};
	struct pk_cudnn_search search = {
		.max_workspace = MAX_WORKSPACE,
		.max_per_mode = visit->max_per_mode,
		.visit = visit_one,
		.ctx = &each,
	};
	int n = 0, r = device_of(cuda, &device, err);
	if (r == 0)
		r = pk_cudnn_fusion_from(call, &fusion, err);
	if (r < 0)
		return as_refusal(r);
	pk_buf_init(&each.json, PK_CUDNN_MAX_PLAN_BYTES);
	r = pk_cudnn_search_run(&search, &device, &fusion, &n, err);
	pk_buf_finish(&each.json);
	return n > 0 ? r : as_refusal(r);
}

static void close_plan(void *plan)
{
	struct opened *opened = plan;
	if (!opened)
		return;
	pk_cudnn_plan_destroy(opened->plan);
	free(opened);
}

static int open_plan(const struct pk_cuda_call *call, struct pk_cuda *cuda,
	const struct pk_cuda_bytes *json, void **plan, struct pk_err *err)
{
	struct pk_cudnn_device device;
	struct opened *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = device_of(cuda, &device, err);
	if (r == 0)
		r = pk_cudnn_fusion_from(call, &opened->fusion, err);
	if (r == 0)
		r = pk_cudnn_plan_parse(&device, json->data, json->n, &opened->plan, err);
	if (r < 0) {
		close_plan(opened);
		return r;
	}
	pk_cudnn_packing_of(&opened->fusion, &opened->packing);
	*plan = opened;
	return 0;
}

static size_t plan_workspace(const void *plan)
{
	return pk_cudnn_plan_workspace(((const struct opened *)plan)->plan);
}

struct addresses {
	struct pk_cudnn_address items[PK_CUDNN_MAX_BOUND];
	int n;
};

static void put(struct addresses *out, int64_t uid, uint64_t address)
{
	out->items[out->n++] = (struct pk_cudnn_address){.uid = uid, .device_address = address};
}

// A product reads its operands where they lie; a convolution reads what was packed.
static void gather(
	const struct opened *opened, const struct pk_cuda_addresses *at, struct addresses *out)
{
	const struct pk_cudnn_fusion *f = &opened->fusion;
	const struct pk_cudnn_packing *p = &opened->packing;
	bool product = f->core == PK_CUDNN_MATMUL_CORE;
	put(out, PK_CUDNN_UID_X, at->inputs[0]);
	put(out, PK_CUDNN_UID_W, product ? at->inputs[1] : at->packed + p->weights);
	put(out, PK_CUDNN_UID_Y, at->outputs[0]);
	if (pk_cudnn_fusion_uses(f, PK_CUDNN_RESIDUAL))
		put(out, PK_CUDNN_UID_RESIDUAL, at->inputs[3]);
	if (pk_cudnn_fusion_uses(f, PK_CUDNN_SCALE))
		put(out, PK_CUDNN_UID_SCALE, at->packed + p->scale);
	if (pk_cudnn_fusion_uses(f, PK_CUDNN_BIAS))
		put(out, PK_CUDNN_UID_BIAS, product ? at->inputs[2] : at->packed + p->bias);
	for (int i = 0; i < f->n_scalars; i++)
		put(out, PK_CUDNN_UID_SCALAR + i,
			at->packed + p->scalars + (uint64_t)i * PK_CUDNN_SCALAR_STRIDE);
}

static int bind_plan(
	void *plan, const struct pk_cuda_addresses *at, void **bound, struct pk_err *err)
{
	const struct opened *opened = plan;
	struct addresses addresses = {.n = 0};
	struct pk_cudnn_bound *made = NULL;
	gather(opened, at, &addresses);
	int r = pk_cudnn_bound_create(
		opened->plan, addresses.items, addresses.n, at->workspace, &made, err);
	*bound = made;
	return r;
}

static int execute_plan(
	struct pk_cuda *cuda, struct pk_cudnn_context *handle, void *bound, struct pk_err *err)
{
	return pk_cudnn_bound_execute(bound, handle, err);
}

static void unbind_plan(void *bound)
{
	pk_cudnn_bound_destroy(bound);
}

static const struct pk_cuda_plan_ops plan_ops = {
	.build = build_plan,
	.each = each_plan,
	.open = open_plan,
	.workspace = plan_workspace,
	.bind = bind_plan,
	.execute = execute_plan,
	.unbind = unbind_plan,
	.close = close_plan,
};

#define RANK 50 // rows of our own that are made for one shape stand above

static const struct pk_cuda_row conv = {
	.op = PK_OP_CONV,
	.name = "conv_cudnn",
	.rank = RANK,
	.host_inputs = 1u << 1 | 1u << 2,
	.supports = supports,
	.pack_bytes = pack_bytes,
	.pack = pack,
	.plan = &plan_ops,
};
static const struct pk_cuda_row conv_transpose = {
	.op = PK_OP_CONV_TRANSPOSE,
	.name = "conv_transpose_cudnn",
	.rank = RANK,
	.host_inputs = 1u << 1 | 1u << 2,
	.supports = supports,
	.pack_bytes = pack_bytes,
	.pack = pack,
	.plan = &plan_ops,
};
static const struct pk_cuda_row qconv = {
	.op = PK_OP_QCONV,
	.name = "qconv_cudnn",
	.rank = RANK,
	.host_inputs = 0xfe, // all but x
	.supports = supports,
	.pack_bytes = pack_bytes,
	.pack = pack,
	.plan = &plan_ops,
};
static const struct pk_cuda_row matmul = {
	.op = PK_OP_MATMUL,
	.name = "matmul_cudnn",
	.rank = RANK,
	.supports = supports,
	.plan = &plan_ops,
};
static const struct pk_cuda_row gemm = {
	.op = PK_OP_GEMM,
	.name = "gemm_cudnn",
	.rank = RANK,
	.supports = supports,
	.plan = &plan_ops,
};

const struct pk_cuda_row *const pk_cudnn_rows[] = {
	&conv, &conv_transpose, &qconv, &matmul, &gemm, NULL};
