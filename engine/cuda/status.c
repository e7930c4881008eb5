// SPDX-License-Identifier: Apache-2.0
// CUresult as negative errno.
#include "engine/cuda/status.h"

#include <errno.h>

// Source: CUDA Driver API reference, CUresult: those that leave the process "in an inconsistent
// state" are sticky.
static const struct {
	int status, error;
} rows[] = {
	{PK_CU_OUT_OF_MEMORY, -ENOMEM},
	{PK_CU_OUT_OF_RESOURCES, -ENOMEM},
	{PK_CU_NOT_INITIALIZED, -ENODEV},
	{PK_CU_DEINITIALIZED, -ENOTRECOVERABLE},
	{PK_CU_STUB_LIBRARY, -ENODEV},
	{PK_CU_DEVICE_UNAVAILABLE, -EAGAIN},
	{PK_CU_NO_DEVICE, -ENODEV},
	{PK_CU_INVALID_DEVICE, -ENODEV},
	{PK_CU_INVALID_IMAGE, -ESTALE},
	{PK_CU_NO_BINARY_FOR_GPU, -ESTALE},
	{PK_CU_UNSUPPORTED_PTX, -ESTALE},
	{PK_CU_NOT_FOUND, -ESTALE},
	{PK_CU_NOT_READY, -EAGAIN},
	{PK_CU_SYSTEM_NOT_READY, -EAGAIN},
	{PK_CU_DRIVER_MISMATCH, -ENODEV},
	{PK_CU_TIMEOUT, -ETIME},
	{PK_CU_LAUNCH_TIMEOUT, -ETIME},
	{PK_CU_ECC_UNCORRECTABLE, -ENOTRECOVERABLE},
	{PK_CU_OPERATING_SYSTEM, -ENOTRECOVERABLE},
	{PK_CU_ILLEGAL_ADDRESS, -ENOTRECOVERABLE},
	{PK_CU_ASSERT, -ENOTRECOVERABLE},
	{PK_CU_HARDWARE_STACK_ERROR, -ENOTRECOVERABLE},
	{PK_CU_ILLEGAL_INSTRUCTION, -ENOTRECOVERABLE},
	{PK_CU_MISALIGNED_ADDRESS, -ENOTRECOVERABLE},
	{PK_CU_INVALID_ADDRESS_SPACE, -ENOTRECOVERABLE},
	{PK_CU_INVALID_PC, -ENOTRECOVERABLE},
	{PK_CU_LAUNCH_FAILED, -ENOTRECOVERABLE},
	{PK_CU_EXTERNAL_DEVICE, -ENOTRECOVERABLE},
	{PK_CU_UNKNOWN, -ENOTRECOVERABLE},
};

static int error_of(int status)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (rows[i].status == status)
			return rows[i].error;
	}
	return -EINVAL;
}

int pk_cuda_result(
	const struct pk_cuda_driver *driver, int status, const char *what, struct pk_err *err)
{
	const char *name = NULL;
	if (status == PK_CU_SUCCESS)
		return 0;
	if (driver && driver->get_error_name)
		(void)driver->get_error_name(status, &name);
	return pk_fail(
		err, error_of(status), "%s: %s (%d)", what, name ? name : "CUDA error", status);
}
