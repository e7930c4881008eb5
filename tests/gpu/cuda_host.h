// SPDX-License-Identifier: Apache-2.0
// What turns a .cu text into C++ for the host: qualifiers to nothing, thread numbers, barriers.
// Included before the text, after engine/ir/op_list.h and the parameter structs.
#pragma once

#ifdef __cplusplus
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <type_traits>
#include <utility>

#define PK_CUDA_HOST
#define PK_INLINE   static inline
#define PK_NOINLINE __attribute__((noinline))
#define __global__
#define __device__
#define __shared__      static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct pk_host_dim3 {
	unsigned x, y, z;
};
struct pk_host_place {
	pk_host_dim3 thread, block, block_dim, grid_dim;
};
extern pk_host_place pk_host_here;
#define threadIdx pk_host_here.thread
#define blockIdx  pk_host_here.block
#define blockDim  pk_host_here.block_dim
#define gridDim   pk_host_here.grid_dim

void pk_host_barrier(int line);
#define __syncthreads() pk_host_barrier(__LINE__)

struct alignas(8) uint2 {
	unsigned x, y;
};
struct alignas(16) uint4 {
	unsigned x, y, z, w;
};

static inline float __int_as_float(int bits)
{
	float v;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline float __fmul_rn(float a, float b)
{
	return a * b;
}
static inline float __fdividef(float a, float b)
{
	return a / b;
}

#ifndef PK_HOST_LAUNCHER // the launcher itself knows no half floats
struct pk_half;
static inline float pk_half_to_float(pk_half h);
static inline pk_half pk_half_of(float v);
#endif

// Launches of a whole grid; sync: the kernel has barriers, threads are fibers.
typedef void pk_host_body(void *const *args);
void pk_host_launch(const unsigned grid[3], const unsigned block[3], bool sync, pk_host_body *body,
	void *const *args);
void pk_host_register(const char *name,
	void (*run)(const unsigned grid[3], const unsigned block[3], unsigned, void *const *));

template <typename... A, size_t... I>
static void pk_host_spread(void (*kernel)(A...), void *const *args, std::index_sequence<I...>)
{
	kernel(*(std::remove_const_t<A> *)args[I]...);
}
template <typename... A> static void pk_host_invoke(void (*kernel)(A...), void *const *args)
{
	pk_host_spread(kernel, args, std::index_sequence_for<A...>());
}

#define PK_EXPORT_AS(name, sync) PK_EXPORT_NAMED(name, sync) // a name may be a macro
#define PK_EXPORT_NAMED(name, sync)                                                                \
	static void host_body_##name(void *const *args)                                            \
	{                                                                                          \
		pk_host_invoke(name, args);                                                        \
	}                                                                                          \
	static void host_run_##name(                                                               \
		const unsigned grid[3], const unsigned block[3], unsigned, void *const *args)      \
	{                                                                                          \
		pk_host_launch(grid, block, sync, host_body_##name, args);                         \
	}                                                                                          \
	static const bool host_listed_##name = (pk_host_register(#name, host_run_##name), true);
#define PK_EXPORT(name)      PK_EXPORT_AS(name, false)
#define PK_EXPORT_SYNC(name) PK_EXPORT_AS(name, true)
#endif
