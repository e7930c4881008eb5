// SPDX-License-Identifier: Apache-2.0
// The CUDA libraries of this machine and its GPU, opened at run time: there is no link-time
// dependency. Every driver call of the runtime goes through pk_cuda_try.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/abi.h"
#include "engine/cuda/status.h"
#include "engine/runtime.h"

#define PK_CUDA_DRIVER_FLOOR 11040 // cuDriverGetVersion: CUDA 11.4
#define PK_CUDA_MAX_SOURCES  32    // texts that are remembered as cubins
#define PK_CUDNN_FLOOR       8900  // cudnnGetVersion: 8.9.0

struct pk_cuda_device {
	char name[128];
	int sm; // 87
	int n_multiprocessors;
	int shared_optin_bytes; // most shared memory of one block
	bool integrated;        // shares the host's memory
	size_t memory_bytes;
	int driver_version;           // 12060
	size_t cudnn_version;         // 90300
	int nvrtc_major, nvrtc_minor; // 12, 6
};

struct pk_cuda {
	struct pk_cuda_driver driver;
	struct pk_cuda_nvrtc nvrtc;
	struct pk_cudnn_functions cudnn;
	int ordinal; // of the device
	struct pk_cuda_device device;
	struct pk_cu_context *context;   // primary, retained; NULL before pk_cuda_retain
	struct pk_cudnn_context *handle; // NULL before pk_cuda_cudnn_handle
	// Cubins made so far, by position in pk_cuda_sources: tuning needs each many times.
	struct pk_buf cubins[PK_CUDA_MAX_SOURCES];
};

// Opens the libraries, holds their versions against the floors and describes the first device.
// -ENODEV with a verdict for a person: "no driver …", "driver too old: …", "cuDNN missing: …".
// Any thread; one owner.
int pk_cuda_open(struct pk_cuda **out, struct pk_err *err) pk_must_check;
void pk_cuda_close(struct pk_cuda *cuda); // takes NULL; releases handle and context
PK_DEFINE_AUTO(pk_cuda, pk_cuda_close);

// The device's primary context, which cuDNN shares, becomes current in the calling thread.
int pk_cuda_retain(struct pk_cuda *cuda, struct pk_err *err) pk_must_check;
// To be called first by whatever a thread does with a retained context.
int pk_cuda_enter(const struct pk_cuda *cuda, struct pk_err *err);

// A cuDNN handle on the context, made at the first call, for building and loading plans; owned by
// cuda. -ENODEV.
int pk_cuda_cudnn_handle(struct pk_cuda *cuda, struct pk_cudnn_context **out, struct pk_err *err)
	pk_must_check;

// cuDNN alone, for plans that are made without a device. -ENODEV.
int pk_cudnn_open(struct pk_cudnn_functions *out, struct pk_err *err) pk_must_check;

// The machine as engine keys and the timing cache name it. -ENODEV: too long a text.
int pk_cuda_target(const struct pk_cuda *cuda, struct pk_target *target, struct pk_err *err)
	pk_must_check;

// Evaluates a driver call; 0 or the errno of its class, with the call's name in err.
#define pk_cuda_try(cuda, err, field, ...)                                                         \
	pk_cuda_result(&(cuda)->driver, (cuda)->driver.field(__VA_ARGS__), #field, err)
