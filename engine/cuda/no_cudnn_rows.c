// SPDX-License-Identifier: Apache-2.0
// No rows of cuDNN yet.
#include "engine/cuda/row.h"
const struct pk_cuda_row *const pk_cudnn_rows[] = {NULL};
