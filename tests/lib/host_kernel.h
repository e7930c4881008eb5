// SPDX-License-Identifier: Apache-2.0
// The kernels of engine/cuda/kernels/*.cu built for the host, as the fake driver finds them: a
// shared object named by PICKET_FAKE_KERNELS that exports the table pk_host_kernels.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct pk_host_kernel {
	const char *name; // the extern "C" entry
	// args[i] points at the i-th argument, as in cuLaunchKernel: device pointers (here: host
	// addresses), then the parameter struct. Runs the whole grid before it returns.
	void (*run)(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
		void *const *args);
};

extern struct pk_host_kernel pk_host_kernels[]; // ends with name NULL; only to be read

#ifdef __cplusplus
}
#endif
