// SPDX-License-Identifier: Apache-2.0
// Execution plans.
#include "engine/cuda/cudnn/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/cudnn_status.h"

struct pk_cudnn_plan {
	struct pk_cudnn_pool pool;
	void *descriptor;
	size_t workspace;
};

struct pk_cudnn_bound {
	struct pk_cudnn_pool pool;
	const struct pk_cudnn_plan *plan;
	void *pack;
};

static void set_device(struct pk_cudnn_maker *maker, const struct pk_cudnn_device *device)
{
	if (device->handle)
		pk_cudnn_set(maker, PK_CUDNN_PLAN_HANDLE, PK_CUDNN_TYPE_HANDLE, 1, &device->handle);
	else
		pk_cudnn_set(maker, PK_CUDNN_PLAN_DEVICEPROP, PK_CUDNN_TYPE_DESCRIPTOR, 1,
			&device->properties);
}

static struct pk_cudnn_plan *new_plan(const struct pk_cudnn_device *device, struct pk_err *err)
{
	struct pk_cudnn_plan *plan = calloc(1, sizeof(*plan));
	if (plan)
		plan->pool.fn = device->fn;
	else
		(void)pk_fail(err, -ENOMEM, "out of memory");
	return plan;
}

static int read_workspace(struct pk_cudnn_plan *plan, struct pk_err *err)
{
	int64_t bytes = 0, n = 0;
	int status = plan->pool.fn->get_attribute(
		plan->descriptor, PK_CUDNN_PLAN_WORKSPACE, PK_CUDNN_TYPE_INT64, 1, &n, &bytes);
	if (status != 0)
		return pk_cudnn_result(plan->pool.fn, status, "workspace of the plan", err);
	if (n != 1 || bytes < 0)
		return pk_fail(err, -EIO, "cuDNN names no workspace of the plan");
	plan->workspace = (size_t)bytes;
	return 0;
}

static int end_plan(struct pk_cudnn_plan *plan, struct pk_cudnn_maker *maker, struct pk_err *err)
{
	plan->descriptor = pk_cudnn_end(maker);
	return plan->descriptor ? read_workspace(plan, err) : maker->error;
}

int pk_cudnn_plan_create(const struct pk_cudnn_device *device,
	const struct pk_cudnn_candidate *candidate, struct pk_cudnn_plan **out, struct pk_err *err)
{
	pk_auto(pk_cudnn_plan) plan = new_plan(device, err);
	if (!plan)
		return -ENOMEM;
	struct pk_cudnn_maker maker =
		pk_cudnn_begin(&plan->pool, PK_CUDNN_NEW_PLAN, "execution plan", err);
	set_device(&maker, device);
	pk_cudnn_set(&maker, PK_CUDNN_PLAN_CONFIG, PK_CUDNN_TYPE_DESCRIPTOR, 1, &candidate->config);
	int r = end_plan(plan, &maker, err);
	if (r == 0)
		*out = pk_steal(plan);
	return r;
}

int pk_cudnn_plan_parse(const struct pk_cudnn_device *device, const char *json, size_t n,
	struct pk_cudnn_plan **out, struct pk_err *err)
{
	if (n == 0 || n > PK_CUDNN_MAX_PLAN_BYTES)
		return pk_fail(err, -ESTALE, "no plan of %zu bytes", n);
	pk_auto(pk_cudnn_plan) plan = new_plan(device, err);
	if (!plan)
		return -ENOMEM;
	struct pk_cudnn_maker maker =
		pk_cudnn_begin(&plan->pool, PK_CUDNN_NEW_PLAN, "stored plan", err);
	set_device(&maker, device);
	pk_cudnn_set(&maker, PK_CUDNN_PLAN_JSON, PK_CUDNN_TYPE_CHAR, (int64_t)n, json);
	int r = end_plan(plan, &maker, err);
	if (r == 0)
		*out = pk_steal(plan);
	// Whatever it dislikes in what it once wrote: making a new one is the cure.
	return r == 0 || r == -ENOMEM || r == -ENODEV ? r : -ESTALE;
}

void pk_cudnn_plan_destroy(struct pk_cudnn_plan *plan)
{
	if (!plan)
		return;
	pk_cudnn_pool_finish(&plan->pool);
	free(plan);
}

int pk_cudnn_plan_print(const struct pk_cudnn_plan *plan, struct pk_buf *out, struct pk_err *err)
{
	const struct pk_cudnn_functions *fn = plan->pool.fn;
	int64_t n = 0, got = 0;
	int status = fn->get_attribute(
		plan->descriptor, PK_CUDNN_PLAN_JSON, PK_CUDNN_TYPE_CHAR, 0, &n, NULL);
	if (status != 0)
		return pk_cudnn_result(fn, status, "JSON of the plan", err);
	if (n <= 0 || n > PK_CUDNN_MAX_PLAN_BYTES)
		return pk_fail(err, -EFBIG, "a plan of %lld bytes", (long long)n);
	size_t before = out->len;
	char *json = pk_buf_reserve(out, (size_t)n);
	if (!json)
		return pk_fail(
			err, pk_buf_error(out), "no room for a plan of %lld bytes", (long long)n);
	status = fn->get_attribute(
		plan->descriptor, PK_CUDNN_PLAN_JSON, PK_CUDNN_TYPE_CHAR, n, &got, json);
	if (status != 0)
		return pk_cudnn_result(fn, status, "JSON of the plan", err);
	// Some versions count the terminator.
	while (out->len > before && out->data[out->len - 1] == '\0')
		out->len--;
	return 0;
}

size_t pk_cudnn_plan_workspace(const struct pk_cudnn_plan *plan)
{
	return plan->workspace;
}

static int make_pack(struct pk_cudnn_bound *bound, const struct pk_cudnn_address *addresses, int n,
	uint64_t workspace, struct pk_err *err)
{
	int64_t uids[PK_CUDNN_MAX_BOUND];
	void *pointers[PK_CUDNN_MAX_BOUND];
	void *scratch = (void *)(uintptr_t)workspace;
	for (int i = 0; i < n; i++) {
		uids[i] = addresses[i].uid;
		pointers[i] = (void *)(uintptr_t)addresses[i].device_address;
	}
	struct pk_cudnn_maker maker =
		pk_cudnn_begin(&bound->pool, PK_CUDNN_NEW_PACK, "variant pack", err);
	pk_cudnn_set(&maker, PK_CUDNN_PACK_UIDS, PK_CUDNN_TYPE_INT64, n, uids);
	pk_cudnn_set(&maker, PK_CUDNN_PACK_POINTERS, PK_CUDNN_TYPE_VOID_PTR, n, pointers);
	pk_cudnn_set(&maker, PK_CUDNN_PACK_WORKSPACE, PK_CUDNN_TYPE_VOID_PTR, 1, &scratch);
	bound->pack = pk_cudnn_end(&maker);
	return maker.error;
}

int pk_cudnn_bound_create(const struct pk_cudnn_plan *plan,
	const struct pk_cudnn_address *addresses, int n, uint64_t workspace,
	struct pk_cudnn_bound **out, struct pk_err *err)
{
	if (n > PK_CUDNN_MAX_BOUND)
		return pk_fail(err, -EINVAL, "%d addresses for one plan", n);
	pk_auto(pk_cudnn_bound) bound = calloc(1, sizeof(*bound));
	if (!bound)
		return pk_fail(err, -ENOMEM, "out of memory");
	bound->pool.fn = plan->pool.fn;
	bound->plan = plan;
	int r = make_pack(bound, addresses, n, workspace, err);
	if (r == 0)
		*out = pk_steal(bound);
	return r;
}

void pk_cudnn_bound_destroy(struct pk_cudnn_bound *bound)
{
	if (!bound)
		return;
	pk_cudnn_pool_finish(&bound->pool);
	free(bound);
}

int pk_cudnn_bound_execute(
	const struct pk_cudnn_bound *bound, struct pk_cudnn_context *handle, struct pk_err *err)
{
	int status = bound->pool.fn->execute(handle, bound->plan->descriptor, bound->pack);
	return pk_cudnn_result(bound->pool.fn, status, "plan", err);
}
