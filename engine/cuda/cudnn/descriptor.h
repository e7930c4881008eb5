// SPDX-License-Identifier: Apache-2.0
// cuDNN backend descriptors and what they are made for: a handle on a device, or a device that is
// only described.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/abi.h"

// Plans are made for a device by its handle (any version), or by its properties where there is no
// device (from PK_CUDNN_DEVICEPROP_VERSION on; such plans cannot run here).
struct pk_cudnn_device {
	const struct pk_cudnn_functions *fn;
	size_t version;                  // of the library
	struct pk_cudnn_context *handle; // NULL: properties
	void *properties;                // a DEVICEPROP descriptor
	int sm;                          // 87; 0: not known
};

// A device by the JSON that cuDNN writes of one (all 23 keys). -ENOTSUP: this cuDNN is older.
int pk_cudnn_device_describe(const struct pk_cudnn_functions *fn, const char *json, size_t n,
	struct pk_cudnn_device *out, struct pk_err *err) pk_must_check;
void pk_cudnn_device_finish(struct pk_cudnn_device *device); // not the handle; safe when zeroed

// Descriptors that die together.
#define PK_CUDNN_MAX_DESCRIPTORS 64
struct pk_cudnn_pool {
	const struct pk_cudnn_functions *fn;
	void *items[PK_CUDNN_MAX_DESCRIPTORS];
	int n;
};
void pk_cudnn_pool_finish(struct pk_cudnn_pool *pool); // safe when zeroed

// One descriptor of the pool being made: the first failure sticks, later calls do nothing.
struct pk_cudnn_maker {
	const struct pk_cudnn_functions *fn;
	const char *what; // names it in errors: "tensor", …
	void *descriptor;
	int error; // 0 or negative errno
	struct pk_err *err;
};
struct pk_cudnn_maker pk_cudnn_begin(
	struct pk_cudnn_pool *pool, int type, const char *what, struct pk_err *err);
void pk_cudnn_set(
	struct pk_cudnn_maker *maker, int attribute, int type, int64_t n, const void *elements);
void pk_cudnn_set_int64(struct pk_cudnn_maker *maker, int attribute, int64_t value);
void pk_cudnn_set_type(struct pk_cudnn_maker *maker, int attribute, int data_type);
void pk_cudnn_set_float(struct pk_cudnn_maker *maker, int attribute, float value);
void pk_cudnn_set_double(struct pk_cudnn_maker *maker, int attribute, double value);
// Finalizes. NULL when something failed; then maker->error says what.
void *pk_cudnn_end(struct pk_cudnn_maker *maker);
