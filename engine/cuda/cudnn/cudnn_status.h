// SPDX-License-Identifier: Apache-2.0
// What a refusal of cuDNN means for Picket. Here cudnnStatus_t ends.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/abi.h"

// The classes, and the errno that each becomes.
enum pk_cudnn_class {
	PK_CUDNN_OK,           // 0
	PK_CUDNN_STALE,        // -ESTALE: made by another version or for another device: rebuild
	PK_CUDNN_UNSUPPORTED,  // -ENOTSUP: cuDNN has nothing for this graph: the next row is asked
	PK_CUDNN_PREREQUISITE, // -ENODEV: driver, NVRTC or a sub-library is missing or too old
	PK_CUDNN_MEMORY,       // -ENOMEM
	PK_CUDNN_BUG,          // -EINVAL: a call of ours that cuDNN calls wrong
	PK_CUDNN_FAILED,       // -EIO: it failed inside; the driver's status tells whether for good
};
// status: cudnnStatus_t of cuDNN 9 (0, 1001 and up) or of cuDNN 8 (0 to 14).
enum pk_cudnn_class pk_cudnn_class_of(int status);
int pk_cudnn_errno_of(enum pk_cudnn_class class);

// 0 for success; else the class's errno and "WHAT: CUDNN_STATUS_… (2000): what cuDNN said last".
// err may be NULL.
int pk_cudnn_result(
	const struct pk_cudnn_functions *fn, int status, const char *what, struct pk_err *err);
