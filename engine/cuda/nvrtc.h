// SPDX-License-Identifier: Apache-2.0
// Compiles a .cu text to device code for this GPU, by the node's own NVRTC.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/row.h"

// Appends the cubin. -EINVAL with NVRTC's first words when it does not compile; -ENOMEM.
int pk_nvrtc_compile(const struct pk_cuda *cuda, const struct pk_cuda_source *source,
	struct pk_buf *cubin, struct pk_err *err) pk_must_check;
