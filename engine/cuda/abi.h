// SPDX-License-Identifier: Apache-2.0
// What Picket uses of the CUDA driver, NVRTC and cuDNN, declared by ourselves: types, constants and
// function tables by exact symbol, so that one binary builds without CUDA headers and runs with
// every version from the floors on. tests/gpu/check_abi.c holds them against the real headers.
// Sources: CUDA Driver API reference 11.4 to 13.0; NVRTC reference; cuDNN backend API reference.
#pragma once

#include <stddef.h>
#include <stdint.h>

// cuda.h renames its functions by macros: here stands what the library exports.
// X(field, symbol, arguments): all return CUresult.
#define PK_CUDA_DRIVER_LIST(X)                                                                     \
	X(init, cuInit, (unsigned flags))                                                          \
	X(driver_get_version, cuDriverGetVersion, (int *version))                                  \
	X(get_error_name, cuGetErrorName, (int status, const char **name))                         \
	X(device_get_count, cuDeviceGetCount, (int *count))                                        \
	X(device_get, cuDeviceGet, (int *device, int ordinal))                                     \
	X(device_get_name, cuDeviceGetName, (char *name, int len, int device))                     \
	X(device_get_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))     \
	X(device_total_mem, cuDeviceTotalMem_v2, (size_t * bytes, int device))                     \
	X(primary_ctx_retain, cuDevicePrimaryCtxRetain,                                            \
		(struct pk_cu_context * *context, int device))                                     \
	X(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, (int device))                         \
	X(ctx_set_current, cuCtxSetCurrent, (struct pk_cu_context * context))                      \
	X(stream_create, cuStreamCreate, (struct pk_cu_stream * *stream, unsigned flags))          \
	X(stream_destroy, cuStreamDestroy_v2, (struct pk_cu_stream * stream))                      \
	X(stream_synchronize, cuStreamSynchronize, (struct pk_cu_stream * stream))                 \
	X(stream_begin_capture, cuStreamBeginCapture_v2, (struct pk_cu_stream * stream, int mode)) \
	X(stream_end_capture, cuStreamEndCapture,                                                  \
		(struct pk_cu_stream * stream, struct pk_cu_graph * *graph))                       \
	X(graph_instantiate, cuGraphInstantiateWithFlags,                                          \
		(struct pk_cu_graph_exec * *exec, struct pk_cu_graph * graph,                      \
			unsigned long long flags))                                                 \
	X(graph_launch, cuGraphLaunch,                                                             \
		(struct pk_cu_graph_exec * exec, struct pk_cu_stream * stream))                    \
	X(graph_exec_destroy, cuGraphExecDestroy, (struct pk_cu_graph_exec * exec))                \
	X(graph_destroy, cuGraphDestroy, (struct pk_cu_graph * graph))                             \
	X(event_create, cuEventCreate, (struct pk_cu_event * *event, unsigned flags))              \
	X(event_destroy, cuEventDestroy_v2, (struct pk_cu_event * event))                          \
	X(event_record, cuEventRecord, (struct pk_cu_event * event, struct pk_cu_stream * stream)) \
	X(event_synchronize, cuEventSynchronize, (struct pk_cu_event * event))                     \
	X(event_elapsed_time, cuEventElapsedTime,                                                  \
		(float *ms, struct pk_cu_event *start, struct pk_cu_event *end))                   \
	X(mem_alloc, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                            \
	X(mem_free, cuMemFree_v2, (uint64_t address))                                              \
	X(mem_host_alloc, cuMemHostAlloc, (void **block, size_t bytes, unsigned flags))            \
	X(mem_free_host, cuMemFreeHost, (void *block))                                             \
	X(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2,                               \
		(uint64_t * address, void *block, unsigned flags))                                 \
	X(memcpy_htod, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))             \
	X(memcpy_htod_async, cuMemcpyHtoDAsync_v2,                                                 \
		(uint64_t to, const void *from, size_t bytes, struct pk_cu_stream *stream))        \
	X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2,                                                 \
		(void *to, uint64_t from, size_t bytes, struct pk_cu_stream *stream))              \
	X(memset_async, cuMemsetD8Async,                                                           \
		(uint64_t to, unsigned char value, size_t bytes, struct pk_cu_stream *stream))     \
	X(module_load_data, cuModuleLoadData, (struct pk_cu_module * *module, const void *image))  \
	X(module_unload, cuModuleUnload, (struct pk_cu_module * module))                           \
	X(module_get_function, cuModuleGetFunction,                                                \
		(struct pk_cu_function * *function, struct pk_cu_module * module,                  \
			const char *name))                                                         \
	X(launch_kernel, cuLaunchKernel,                                                           \
		(struct pk_cu_function * function, unsigned grid_x, unsigned grid_y,               \
			unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,     \
			unsigned shared_bytes, struct pk_cu_stream *stream, void **params,         \
			void **extra))                                                             \
	X(launch_host_func, cuLaunchHostFunc,                                                      \
		(struct pk_cu_stream * stream, void (*call)(void *ctx), void *ctx))

// All return nvrtcResult.
#define PK_CUDA_NVRTC_LIST(X)                                                                      \
	X(version, nvrtcVersion, (int *major, int *minor))                                         \
	X(create_program, nvrtcCreateProgram,                                                      \
		(struct pk_nvrtc_program * *program, const char *text, const char *name,           \
			int n_headers, const char *const *headers, const char *const *names))      \
	X(destroy_program, nvrtcDestroyProgram, (struct pk_nvrtc_program * *program))              \
	X(compile_program, nvrtcCompileProgram,                                                    \
		(struct pk_nvrtc_program * program, int n_options, const char *const *options))    \
	X(get_cubin_size, nvrtcGetCUBINSize, (struct pk_nvrtc_program * program, size_t * bytes))  \
	X(get_cubin, nvrtcGetCUBIN, (struct pk_nvrtc_program * program, char *cubin))              \
	X(get_log_size, nvrtcGetProgramLogSize,                                                    \
		(struct pk_nvrtc_program * program, size_t * bytes))                               \
	X(get_log, nvrtcGetProgramLog, (struct pk_nvrtc_program * program, char *log))

// All return cudnnStatus_t.
#define PK_CUDNN_LIST(X)                                                                           \
	X(create, cudnnCreate, (struct pk_cudnn_context * *handle))                                \
	X(destroy, cudnnDestroy, (struct pk_cudnn_context * handle))                               \
	X(set_stream, cudnnSetStream,                                                              \
		(struct pk_cudnn_context * handle, struct pk_cu_stream * stream))                  \
	X(create_descriptor, cudnnBackendCreateDescriptor, (int type, void **descriptor))          \
	X(destroy_descriptor, cudnnBackendDestroyDescriptor, (void *descriptor))                   \
	X(set_attribute, cudnnBackendSetAttribute,                                                 \
		(void *descriptor, int name, int type, int64_t n, const void *elements))           \
	X(get_attribute, cudnnBackendGetAttribute,                                                 \
		(const void *descriptor, int name, int type, int64_t n_max, int64_t *n,            \
			void *elements))                                                           \
	X(finalize, cudnnBackendFinalize, (void *descriptor))                                      \
	X(execute, cudnnBackendExecute, (struct pk_cudnn_context * handle, void *plan, void *pack))

struct pk_cu_context;
struct pk_cu_stream;
struct pk_cu_event;
struct pk_cu_module;
struct pk_cu_function;
struct pk_cu_graph;
struct pk_cu_graph_exec;
struct pk_nvrtc_program;
struct pk_cudnn_context;

struct pk_cuda_driver {
#define X(field, symbol, arguments) int(*field) arguments;
	PK_CUDA_DRIVER_LIST(X)
#undef X
};

struct pk_cuda_nvrtc {
#define X(field, symbol, arguments) int(*field) arguments;
	PK_CUDA_NVRTC_LIST(X)
#undef X
};

struct pk_cudnn_functions {
#define X(field, symbol, arguments) int(*field) arguments;
	PK_CUDNN_LIST(X)
#undef X
	size_t (*get_version)(void);                 // cudnnGetVersion
	const char *(*get_error_string)(int status); // cudnnGetErrorString
	// cudnnGetLastErrorString; NULL before cuDNN 9.
	void (*get_last_error)(char *text, size_t max_size);
};

// Constants of the same names, by our own prefix: X(name, name in the header, value).
#define PK_CUDA_CONSTANT_LIST(X)                                                                   \
	X(PK_CU_SUCCESS, CUDA_SUCCESS, 0)                                                          \
	X(PK_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                        \
	X(PK_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                        \
	X(PK_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED, 3)                                    \
	X(PK_CU_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED, 4)                                        \
	X(PK_CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY, 34)                                         \
	X(PK_CU_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                             \
	X(PK_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                              \
	X(PK_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, 101)                                    \
	X(PK_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE, 200)                                      \
	X(PK_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                              \
	X(PK_CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                              \
	X(PK_CU_UNSUPPORTED_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                          \
	X(PK_CU_OPERATING_SYSTEM, CUDA_ERROR_OPERATING_SYSTEM, 304)                                \
	X(PK_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND, 500)                                              \
	X(PK_CU_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                              \
	X(PK_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                  \
	X(PK_CU_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                         \
	X(PK_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                    \
	X(PK_CU_ASSERT, CUDA_ERROR_ASSERT, 710)                                                    \
	X(PK_CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                        \
	X(PK_CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                          \
	X(PK_CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                            \
	X(PK_CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                      \
	X(PK_CU_INVALID_PC, CUDA_ERROR_INVALID_PC, 718)                                            \
	X(PK_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                      \
	X(PK_CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED, 800)                                      \
	X(PK_CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, 801)                                      \
	X(PK_CU_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY, 802)                                \
	X(PK_CU_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                           \
	X(PK_CU_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900)                   \
	X(PK_CU_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)                   \
	X(PK_CU_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)                 \
	X(PK_CU_TIMEOUT, CUDA_ERROR_TIMEOUT, 909)                                                  \
	X(PK_CU_EXTERNAL_DEVICE, CUDA_ERROR_EXTERNAL_DEVICE, 911)                                  \
	X(PK_CU_UNKNOWN, CUDA_ERROR_UNKNOWN, 999)                                                  \
	X(PK_CU_ATTR_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                \
	X(PK_CU_ATTR_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                               \
	X(PK_CU_ATTR_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)           \
	X(PK_CU_ATTR_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)           \
	X(PK_CU_ATTR_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)      \
	X(PK_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                    \
	X(PK_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC, 1)                                    \
	X(PK_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING, 2)                                  \
	X(PK_CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, 1)                                        \
	X(PK_CU_HOST_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                      \
	X(PK_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)

enum pk_cuda_constant {
#define X(name, header_name, value) name = value,
	PK_CUDA_CONSTANT_LIST(X)
#undef X
};
