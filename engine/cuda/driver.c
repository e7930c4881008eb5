// SPDX-License-Identifier: Apache-2.0
// Opens driver, NVRTC and cuDNN; floors and verdicts; the device and its identity.
#include "engine/cuda/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/cuda/board.h"
#include "engine/cuda/library.h"

#define INSTALL_CUDNN                                                                              \
	"cuDNN missing: install libcudnn8 8.9 or libcudnn9 (on Jetson: package nvidia-cudnn)"
#define INSTALL_NVRTC                                                                              \
	"NVRTC missing: install cuda-nvrtc of the driver's CUDA version (on Jetson: package "      \
	"nvidia-cuda)"

static const struct pk_library_symbol driver_symbols[] = {
#define X(field, symbol, arguments) {#symbol, offsetof(struct pk_cuda_driver, field), true},
	PK_CUDA_DRIVER_LIST(X)
#undef X
};

static const struct pk_library_symbol nvrtc_symbols[] = {
#define X(field, symbol, arguments) {#symbol, offsetof(struct pk_cuda_nvrtc, field), true},
	PK_CUDA_NVRTC_LIST(X)
#undef X
};

static const struct pk_library_symbol cudnn_symbols[] = {
#define X(field, symbol, arguments) {#symbol, offsetof(struct pk_cudnn_functions, field), true},
	PK_CUDNN_LIST(X)
#undef X
		{"cudnnGetVersion", offsetof(struct pk_cudnn_functions, get_version), true},
	{"cudnnGetErrorString", offsetof(struct pk_cudnn_functions, get_error_string), true},
	{"cudnnGetLastErrorString", offsetof(struct pk_cudnn_functions, get_last_error), false},
};

static const struct pk_library driver_library = {
	.names = (const char *const[]){"libcuda.so.1", NULL},
	.missing = "no driver",
	.too_old = "driver too old: CUDA 11.4 or later is needed",
	.symbols = driver_symbols,
	.n_symbols = PK_ARRAY_LEN(driver_symbols),
};
static const struct pk_library nvrtc_library = {
	.names =
		(const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL},
	.missing = INSTALL_NVRTC,
	.too_old = "NVRTC too old: CUDA 11.4 or later is needed",
	.symbols = nvrtc_symbols,
	.n_symbols = PK_ARRAY_LEN(nvrtc_symbols),
};
static const struct pk_library cudnn_library = {
	.names = (const char *const[]){"libcudnn.so.9", "libcudnn.so.8", NULL},
	.missing = INSTALL_CUDNN,
	.too_old = "cuDNN too old: 8.9 or later is needed",
	.symbols = cudnn_symbols,
	.n_symbols = PK_ARRAY_LEN(cudnn_symbols),
};

static int open_driver(struct pk_cuda *cuda, struct pk_err *err)
{
	int n = 0, version = 0;
	int r = pk_library_open(&driver_library, &cuda->driver, err);
	if (r == 0)
		r = pk_cuda_try(cuda, err, init, 0);
	if (r == 0)
		r = pk_cuda_try(cuda, err, driver_get_version, &version);
	if (r == 0 && version < PK_CUDA_DRIVER_FLOOR)
		return pk_fail(err, -ENODEV, "driver too old: it is for CUDA %d.%d, 11.4 is needed",
			version / 1000, version % 1000 / 10);
	if (r == 0)
		r = pk_cuda_try(cuda, err, device_get_count, &n);
	if (r == 0 && n < 1)
		return pk_fail(err, -ENODEV, "no GPU: the driver lists no device");
	cuda->device.driver_version = version;
	return r;
}

static int open_libraries(struct pk_cuda *cuda, struct pk_err *err)
{
	struct pk_cuda_device *device = &cuda->device;
	int r = pk_library_open(&nvrtc_library, &cuda->nvrtc, err);
	if (r == 0)
		r = pk_library_open(&cudnn_library, &cuda->cudnn, err);
	if (r < 0)
		return r;
	if (cuda->nvrtc.version(&device->nvrtc_major, &device->nvrtc_minor) != 0)
		return pk_fail(err, -ENODEV, "NVRTC does not tell its version");
	device->cudnn_version = cuda->cudnn.get_version();
	if (device->cudnn_version < PK_CUDNN_FLOOR)
		return pk_fail(err, -ENODEV, "cuDNN too old: %zu.%zu, 8.9 is needed",
			device->cudnn_version / 1000, device->cudnn_version % 1000 / 100);
	return 0;
}

static int describe_device(struct pk_cuda *cuda, struct pk_err *err)
{
	struct pk_cuda_device *device = &cuda->device;
	int major = 0, minor = 0, integrated = 0;
	const struct {
		int attribute, *value;
	} wanted[] = {
		{PK_CU_ATTR_CAPABILITY_MAJOR, &major},
		{PK_CU_ATTR_CAPABILITY_MINOR, &minor},
		{PK_CU_ATTR_INTEGRATED, &integrated},
		{PK_CU_ATTR_MULTIPROCESSORS, &device->n_multiprocessors},
		{PK_CU_ATTR_SHARED_OPTIN, &device->shared_optin_bytes},
	};
	int r = pk_cuda_try(cuda, err, device_get, &cuda->ordinal, 0);
	if (r == 0)
		r = pk_cuda_try(cuda, err, device_get_name, device->name,
			(int)sizeof(device->name) - 1, cuda->ordinal);
	if (r == 0)
		r = pk_cuda_try(cuda, err, device_total_mem, &device->memory_bytes, cuda->ordinal);
	for (size_t i = 0; r == 0 && i < PK_ARRAY_LEN(wanted); i++)
		r = pk_cuda_try(cuda, err, device_get_attribute, wanted[i].value,
			wanted[i].attribute, cuda->ordinal);
	device->sm = major * 10 + minor;
	device->integrated = integrated != 0;
	return r;
}

int pk_cuda_open(struct pk_cuda **out, struct pk_err *err)
{
	pk_auto(pk_cuda) cuda = calloc(1, sizeof(*cuda));
	if (!cuda)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = open_driver(cuda, err);
	if (r == 0)
		r = describe_device(cuda, err);
	if (r == 0)
		r = open_libraries(cuda, err);
	if (r == 0)
		*out = pk_steal(cuda);
	return r;
}

void pk_cuda_close(struct pk_cuda *cuda)
{
	if (!cuda)
		return;
	if (cuda->handle)
		(void)cuda->cudnn.destroy(cuda->handle);
	if (cuda->context)
		(void)cuda->driver.primary_ctx_release(cuda->ordinal);
	for (int i = 0; i < PK_CUDA_MAX_SOURCES; i++)
		pk_buf_finish(&cuda->cubins[i]);
	free(cuda);
}

int pk_cuda_retain(struct pk_cuda *cuda, struct pk_err *err)
{
	struct pk_cu_context *context = NULL;
	int r = pk_cuda_try(cuda, err, primary_ctx_retain, &context, cuda->ordinal);
	if (r < 0)
		return r;
	cuda->context = context;
	return pk_cuda_enter(cuda, err);
}

int pk_cuda_enter(const struct pk_cuda *cuda, struct pk_err *err)
{
	return pk_cuda_try(cuda, err, ctx_set_current, cuda->context);
}

int pk_cuda_cudnn_handle(struct pk_cuda *cuda, struct pk_cudnn_context **out, struct pk_err *err)
{
	int status = cuda->handle ? 0 : cuda->cudnn.create(&cuda->handle);
	if (status != 0) {
		cuda->handle = NULL;
		return pk_fail(
			err, -ENODEV, "cudnnCreate: %s", cuda->cudnn.get_error_string(status));
	}
	*out = cuda->handle;
	return 0;
}

int pk_cudnn_open(struct pk_cudnn_functions *out, struct pk_err *err)
{
	return pk_library_open(&cudnn_library, out, err);
}

static int put_json(json_t *json, char *out, size_t size)
{
	pk_auto_json owned = json;
	pk_auto_free char *text = owned ? pk_json_canonical(owned) : NULL;
	if (!text || strlen(text) >= size)
		return -ENODEV;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

int pk_cuda_target(const struct pk_cuda *cuda, struct pk_target *target, struct pk_err *err)
{
	const struct pk_cuda_device *device = &cuda->device;
	struct pk_cuda_board board;
	char nvrtc[32];
	pk_cuda_board_read("", &board);
	snprintf(nvrtc, sizeof(nvrtc), "%d.%d", device->nvrtc_major, device->nvrtc_minor);
	json_t *identity = json_pack("{s:i, s:{s:I, s:s}, s:s, s:i, s:i, s:i}", "driver",
		device->driver_version, "libraries", "cudnn", (json_int_t)device->cudnn_version,
		"nvrtc", nvrtc, "l4t", board.release, "shared_optin", device->shared_optin_bytes,
		"sm", device->sm, "sms", device->n_multiprocessors);
	json_t *class = json_pack("{s:s, s:I, s:s, s:s, s:s}", "clocks", board.clocks, "memory",
		(json_int_t)device->memory_bytes, "module", board.module, "name", device->name,
		"power_mode", board.power_mode);
	int r = put_json(identity, target->identity, sizeof(target->identity));
	int r_class = put_json(class, target->device, sizeof(target->device));
	return r < 0 || r_class < 0 ? pk_fail(err, -ENODEV, "cuda: the device's name is too long")
				    : 0;
}
