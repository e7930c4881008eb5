// SPDX-License-Identifier: Apache-2.0
// What a refusal of cuDNN means for Picket. Here cudnnStatus_t ends.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/cuda/abi.h"

// 0 for success; else an errno and "WHAT: CUDNN_STATUS_… (2000): what cuDNN said last". status:
// cudnnStatus_t of cuDNN 9 (0, 1001 and up) or of cuDNN 8 (0 to 14). err may be NULL.
//   -ESTALE  made by another version or for another device: rebuild
//   -ENOTSUP cuDNN has nothing for this graph: the next row is asked
//   -ENODEV  driver, NVRTC or a sub-library is missing or too old
//   -ENOMEM
//   -EINVAL  a call of ours that cuDNN calls wrong
//   -EIO     it failed inside; the driver's status tells whether for good
int pk_cudnn_result(
	const struct pk_cudnn_functions *fn, int status, const char *what, struct pk_err *err);
