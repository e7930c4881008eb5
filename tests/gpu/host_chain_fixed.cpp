// SPDX-License-Identifier: Apache-2.0
// chain.cu built for the host with a constant program, under other entry names.
#include "engine/ir/op_list.h"

#include "engine/cuda/kernels/params.h"
#include "tests/gpu/cuda_host.h"

#include "engine/cuda/kernels/device.cuh"

#include "tests/gpu/cuda_host_half.h"
#include "tests/gpu/fixed_program.h"

#define PK_CHAIN_PROGRAM FIXED_PROGRAM
#define chain_float      fixed_chain_float
#define chain_int        fixed_chain_int
#include "engine/cuda/kernels/chain.cu"
