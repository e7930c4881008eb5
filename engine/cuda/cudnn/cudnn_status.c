// SPDX-License-Identifier: Apache-2.0
// cudnnStatus_t, of both numberings, as negative errno.
#include "engine/cuda/cudnn/cudnn_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_DETAIL 256

// The first range that holds a status decides. Sources: cuDNN API reference, cudnnStatus_t of
// version 8.9 and of version 9; what a changed plan answers was tried out (docs/CUDA.md).
static const struct {
	int first, last, error;
} ranges[] = {
	{1, 1, -ENODEV},                              // NOT_INITIALIZED
	{2, 2, -ENOMEM},                              // ALLOC_FAILED
	{3, 3, -EINVAL},                              // BAD_PARAM
	{4, 4, -EIO},                                 // INTERNAL_ERROR
	{5, 5, -EINVAL},                              // INVALID_VALUE
	{6, 6, -ESTALE},                              // ARCH_MISMATCH
	{7, 8, -EIO},                                 // MAPPING_ERROR, EXECUTION_FAILED
	{9, 9, -ENOTSUP},                             // NOT_SUPPORTED
	{10, 11, -ENODEV},                            // LICENSE_ERROR, RUNTIME_PREREQUISITE_MISSING
	{12, 13, -EIO}, {14, 14, -ESTALE},            // VERSION_MISMATCH
	{1001, 1001, -ENODEV},                        // NOT_INITIALIZED
	{1002, 1003, -ESTALE},                        // SUBLIBRARY_, SERIALIZATION_VERSION_MISMATCH
	{1008, 1008, -ENODEV},                        // SUBLIBRARY_LOADING_FAILED
	{2000, 2999, -EINVAL}, {3005, 3006, -ENODEV}, // INCOMPATIBLE_CUDA_DRIVER, _CUDART
	{3007, 3007, -ESTALE},                        // ARCH_MISMATCH
	{3008, 3009, -ENODEV}, // RUNTIME_PREREQUISITE_MISSING, SUBLIBRARY_UNAVAILABLE
	{3000, 3999, -ENOTSUP}, {4003, 4004, -ENOMEM}, // HOST_, DEVICE_ALLOCATION_FAILED
};

static int error_of(int status)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(ranges); i++) {
		if (status >= ranges[i].first && status <= ranges[i].last)
			return ranges[i].error;
	}
	return -EIO;
}

int pk_cudnn_result(
	const struct pk_cudnn_functions *fn, int status, const char *what, struct pk_err *err)
{
	if (status == 0)
		return 0;
	char detail[MAX_DETAIL] = "";
	if (fn->get_last_error)
		fn->get_last_error(detail, sizeof(detail));
	detail[sizeof(detail) - 1] = '\0';
	const char *name = fn->get_error_string ? fn->get_error_string(status) : NULL;
	return pk_fail(err, error_of(status), "%s: %s (%d)%s%s", what, name ? name : "cuDNN error",
		status, *detail ? ": " : "", detail);
}
