// SPDX-License-Identifier: Apache-2.0
// A test double of the NVIDIA libraries: the CUDA driver over host memory, kernels by their host
// builds, NVRTC that compiles nothing, cuDNN that reads op graphs by the cpu's rules. It counts
// calls, finds leaks and misuse, and fails on demand. Streams are real queues: what was put into
// one happens at the next wait, not before, so that a missing wait shows.
//
// By environment:
//   PICKET_FAKE_KERNELS           shared object with the table of tests/lib/host_kernel.h
//   PICKET_FAKE_CUDA_DEVICES      number of devices (1)
//   PICKET_FAKE_CUDA_SM           87
//   PICKET_FAKE_CUDA_INTEGRATED   1: pinned memory is mapped (0)
//   PICKET_FAKE_CUDA_DRIVER       13000
//   PICKET_FAKE_CUDA_FAIL_FILE    once there is such a file, the next cuGraphLaunch gives the
//                                 status in it, and the file is gone
#pragma once

#include <stdbool.h>

// The same by call, for tests in one process; found by dlsym in libcuda.so.1.
struct pk_fake_cuda {
	void (*reset)(void); // counts, injected faults and a lost context are forgotten
	// The n-th call from now on (1: the next) gives status. 700, 702, 719 and their like then
	// stand for all later calls, as on a real device.
	void (*fail_at)(long n, int status);
	void (*refuse_capture)(bool refuse); // cuStreamBeginCapture gives 900
	long (*calls)(void);                 // since reset
	long (*calls_of)(const char *function);
	long (*live)(void);   // objects and allocations that have not been given back
	long (*misuse)(void); // wrong handles, addresses outside of allocations, no current
			      // context, memory given back while it is in use, …
	const char *(*last_misuse)(void);
};
extern const struct pk_fake_cuda pk_fake_cuda;
