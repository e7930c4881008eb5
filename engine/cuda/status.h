// SPDX-License-Identifier: Apache-2.0
// What a failed driver call means for Picket. Here CUresult and its like end: everyone else sees a
// negative errno.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/abi.h"

// 0 for success; else an errno and "WHAT: CUDA_ERROR_… (700)". driver names the status; it and err
// may be NULL.
//   -EAGAIN          the same call may work later
//   -ENOMEM          with less in use it would work
//   -ENODEV          no usable device or driver here
//   -ESTALE          device code for another device or driver: rebuild
//   -ETIME           a kernel ran too long; the context is lost
//   -ENOTRECOVERABLE the context is lost, only a new process helps
//   -EINVAL          a wrong call of ours, or a status that is not known
int pk_cuda_result(
	const struct pk_cuda_driver *driver, int status, const char *what, struct pk_err *err);
