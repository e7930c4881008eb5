// SPDX-License-Identifier: Apache-2.0
// The classes of CUresult.
#include "engine/cuda/status.h"

#include <errno.h>

// Source: CUDA Driver API reference, CUresult: those that leave the process "in an inconsistent
// state" are sticky.
static const struct {
	int status;
	enum pk_cuda_class class;
} classes[] = {
	{PK_CU_SUCCESS, PK_CUDA_CLASS_OK},
	{PK_CU_OUT_OF_MEMORY, PK_CUDA_CLASS_MEMORY},
	{PK_CU_OUT_OF_RESOURCES, PK_CUDA_CLASS_MEMORY},
	{PK_CU_NOT_INITIALIZED, PK_CUDA_CLASS_ABSENT},
	{PK_CU_DEINITIALIZED, PK_CUDA_CLASS_STICKY},
	{PK_CU_STUB_LIBRARY, PK_CUDA_CLASS_ABSENT},
	{PK_CU_DEVICE_UNAVAILABLE, PK_CUDA_CLASS_RETRY},
	{PK_CU_NO_DEVICE, PK_CUDA_CLASS_ABSENT},
	{PK_CU_INVALID_DEVICE, PK_CUDA_CLASS_ABSENT},
	{PK_CU_INVALID_IMAGE, PK_CUDA_CLASS_IMAGE},
	{PK_CU_NO_BINARY_FOR_GPU, PK_CUDA_CLASS_IMAGE},
	{PK_CU_UNSUPPORTED_PTX, PK_CUDA_CLASS_IMAGE},
	{PK_CU_NOT_FOUND, PK_CUDA_CLASS_IMAGE},
	{PK_CU_NOT_READY, PK_CUDA_CLASS_RETRY},
	{PK_CU_SYSTEM_NOT_READY, PK_CUDA_CLASS_RETRY},
	{PK_CU_DRIVER_MISMATCH, PK_CUDA_CLASS_ABSENT},
	{PK_CU_TIMEOUT, PK_CUDA_CLASS_TIMEOUT},
	{PK_CU_LAUNCH_TIMEOUT, PK_CUDA_CLASS_TIMEOUT},
	{PK_CU_ECC_UNCORRECTABLE, PK_CUDA_CLASS_STICKY},
	{PK_CU_OPERATING_SYSTEM, PK_CUDA_CLASS_STICKY},
	{PK_CU_ILLEGAL_ADDRESS, PK_CUDA_CLASS_STICKY},
	{PK_CU_ASSERT, PK_CUDA_CLASS_STICKY},
	{PK_CU_HARDWARE_STACK_ERROR, PK_CUDA_CLASS_STICKY},
	{PK_CU_ILLEGAL_INSTRUCTION, PK_CUDA_CLASS_STICKY},
	{PK_CU_MISALIGNED_ADDRESS, PK_CUDA_CLASS_STICKY},
	{PK_CU_INVALID_ADDRESS_SPACE, PK_CUDA_CLASS_STICKY},
	{PK_CU_INVALID_PC, PK_CUDA_CLASS_STICKY},
	{PK_CU_LAUNCH_FAILED, PK_CUDA_CLASS_STICKY},
	{PK_CU_EXTERNAL_DEVICE, PK_CUDA_CLASS_STICKY},
	{PK_CU_UNKNOWN, PK_CUDA_CLASS_STICKY},
};

static const int errnos[] = {
	[PK_CUDA_CLASS_OK] = 0,
	[PK_CUDA_CLASS_RETRY] = -EAGAIN,
	[PK_CUDA_CLASS_MEMORY] = -ENOMEM,
	[PK_CUDA_CLASS_ABSENT] = -ENODEV,
	[PK_CUDA_CLASS_IMAGE] = -ESTALE,
	[PK_CUDA_CLASS_TIMEOUT] = -ETIME,
	[PK_CUDA_CLASS_STICKY] = -ENOTRECOVERABLE,
	[PK_CUDA_CLASS_BUG] = -EINVAL,
};

enum pk_cuda_class pk_cuda_class_of(int status)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(classes); i++) {
		if (classes[i].status == status)
			return classes[i].class;
	}
	return PK_CUDA_CLASS_BUG;
}

int pk_cuda_errno_of(enum pk_cuda_class class)
{
	return errnos[class];
}

int pk_cuda_result(
	const struct pk_cuda_driver *driver, int status, const char *what, struct pk_err *err)
{
	const char *name = NULL;
	if (status == PK_CU_SUCCESS)
		return 0;
	if (driver && driver->get_error_name)
		(void)driver->get_error_name(status, &name);
	return pk_fail(err, errnos[pk_cuda_class_of(status)], "%s: %s (%d)", what,
		name ? name : "CUDA error", status);
}
