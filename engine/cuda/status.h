// SPDX-License-Identifier: Apache-2.0
// What a failed driver call means for Picket. Here CUresult and its like end: everyone else sees a
// negative errno.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/abi.h"

// The classes, and the errno that each becomes.
enum pk_cuda_class {
	PK_CUDA_CLASS_OK,      // 0
	PK_CUDA_CLASS_RETRY,   // -EAGAIN: the same call may work later
	PK_CUDA_CLASS_MEMORY,  // -ENOMEM: with less in use it would work
	PK_CUDA_CLASS_ABSENT,  // -ENODEV: no usable device or driver here
	PK_CUDA_CLASS_IMAGE,   // -ESTALE: device code for another device or driver: rebuild
	PK_CUDA_CLASS_TIMEOUT, // -ETIME: a kernel ran too long; the context is lost
	PK_CUDA_CLASS_STICKY,  // -ENOTRECOVERABLE: the context is lost, only a new process helps
	PK_CUDA_CLASS_BUG,     // -EINVAL: a wrong call of ours, or one the driver does not know
};
enum pk_cuda_class pk_cuda_class_of(int status); // of a CUresult
int pk_cuda_errno_of(enum pk_cuda_class class);

// 0 for success; else the class's errno and "WHAT: CUDA_ERROR_… (700)". driver names the status; it
// and err may be NULL.
int pk_cuda_result(
	const struct pk_cuda_driver *driver, int status, const char *what, struct pk_err *err);
