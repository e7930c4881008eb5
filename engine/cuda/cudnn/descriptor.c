// SPDX-License-Identifier: Apache-2.0
// Making and ending cuDNN backend descriptors.
#include "engine/cuda/cudnn/descriptor.h"

#include <errno.h>

#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/cudnn_status.h"

void pk_cudnn_pool_finish(struct pk_cudnn_pool *pool)
{
	while (pool->n > 0)
		pool->fn->destroy_descriptor(pool->items[--pool->n]);
}

struct pk_cudnn_maker pk_cudnn_begin(
	struct pk_cudnn_pool *pool, int type, const char *what, struct pk_err *err)
{
	struct pk_cudnn_maker maker = {.fn = pool->fn, .what = what, .err = err};
	if (pool->n == PK_CUDNN_MAX_DESCRIPTORS) {
		maker.error = pk_fail(err, -ENOSPC, "%s: too many descriptors", what);
		return maker;
	}
	int status = pool->fn->create_descriptor(type, &maker.descriptor);
	maker.error = pk_cudnn_result(pool->fn, status, what, err);
	if (maker.error == 0)
		pool->items[pool->n++] = maker.descriptor;
	return maker;
}

void pk_cudnn_set(
	struct pk_cudnn_maker *maker, int attribute, int type, int64_t n, const void *elements)
{
	if (maker->error < 0)
		return;
	int status = maker->fn->set_attribute(maker->descriptor, attribute, type, n, elements);
	if (status == 0)
		return;
	maker->error = pk_cudnn_result(maker->fn, status, maker->what, maker->err);
	pk_err_prefix(maker->err, "attribute %d", attribute);
}

void pk_cudnn_set_int64(struct pk_cudnn_maker *maker, int attribute, int64_t value)
{
	pk_cudnn_set(maker, attribute, PK_CUDNN_TYPE_INT64, 1, &value);
}

void pk_cudnn_set_type(struct pk_cudnn_maker *maker, int attribute, int data_type)
{
	pk_cudnn_set(maker, attribute, PK_CUDNN_TYPE_DATA_TYPE, 1, &data_type);
}

void pk_cudnn_set_float(struct pk_cudnn_maker *maker, int attribute, float value)
{
	pk_cudnn_set(maker, attribute, PK_CUDNN_TYPE_FLOAT, 1, &value);
}

void pk_cudnn_set_double(struct pk_cudnn_maker *maker, int attribute, double value)
{
	pk_cudnn_set(maker, attribute, PK_CUDNN_TYPE_DOUBLE, 1, &value);
}

void *pk_cudnn_end(struct pk_cudnn_maker *maker)
{
	if (maker->error == 0)
		maker->error = pk_cudnn_result(
			maker->fn, maker->fn->finalize(maker->descriptor), maker->what, maker->err);
	return maker->error == 0 ? maker->descriptor : NULL;
}

int pk_cudnn_device_describe(const struct pk_cudnn_functions *fn, const char *json, size_t n,
	struct pk_cudnn_device *out, struct pk_err *err)
{
	*out = (struct pk_cudnn_device){.fn = fn, .version = fn->get_version()};
	if (out->version < PK_CUDNN_DEVICEPROP_VERSION)
		return pk_fail(err, -ENOTSUP, "cuDNN %zu cannot plan without a device: needs %d",
			out->version, PK_CUDNN_DEVICEPROP_VERSION);
	struct pk_cudnn_pool pool = {.fn = fn};
	struct pk_cudnn_maker maker =
		pk_cudnn_begin(&pool, PK_CUDNN_NEW_DEVICEPROP, "device properties", err);
	pk_cudnn_set(&maker, PK_CUDNN_DEVICEPROP_JSON, PK_CUDNN_TYPE_CHAR, (int64_t)n, json);
	if (pk_cudnn_end(&maker)) {
		out->properties = maker.descriptor;
		return 0;
	}
	pk_cudnn_pool_finish(&pool);
	return maker.error;
}

void pk_cudnn_device_finish(struct pk_cudnn_device *device)
{
	if (device->properties)
		device->fn->destroy_descriptor(device->properties);
	device->properties = NULL;
}
