// SPDX-License-Identifier: Apache-2.0
// The classes of cudnnStatus_t, of both numberings.
#include "engine/cuda/cudnn/cudnn_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_DETAIL 256

// The first range that holds a status decides. Sources: cuDNN API reference, cudnnStatus_t of
// version 8.9 and of version 9; what a changed plan answers was tried out (docs/CUDA.md).
static const struct {
	int first, last;
	enum pk_cudnn_class class;
} ranges[] = {
	{0, 0, PK_CUDNN_OK}, {1, 1, PK_CUDNN_PREREQUISITE}, // NOT_INITIALIZED
	{2, 2, PK_CUDNN_MEMORY},                            // ALLOC_FAILED
	{3, 3, PK_CUDNN_BUG},                               // BAD_PARAM
	{4, 4, PK_CUDNN_FAILED},                            // INTERNAL_ERROR
	{5, 5, PK_CUDNN_BUG},                               // INVALID_VALUE
	{6, 6, PK_CUDNN_STALE},                             // ARCH_MISMATCH
	{7, 8, PK_CUDNN_FAILED},                            // MAPPING_ERROR, EXECUTION_FAILED
	{9, 9, PK_CUDNN_UNSUPPORTED},                       // NOT_SUPPORTED
	{10, 11, PK_CUDNN_PREREQUISITE}, // LICENSE_ERROR, RUNTIME_PREREQUISITE_MISSING
	{12, 13, PK_CUDNN_FAILED}, {14, 14, PK_CUDNN_STALE}, // VERSION_MISMATCH
	{1001, 1001, PK_CUDNN_PREREQUISITE},                 // NOT_INITIALIZED
	{1002, 1003, PK_CUDNN_STALE},        // SUBLIBRARY_, SERIALIZATION_VERSION_MISMATCH
	{1008, 1008, PK_CUDNN_PREREQUISITE}, // SUBLIBRARY_LOADING_FAILED
	{2000, 2999, PK_CUDNN_BUG},
	{3005, 3006, PK_CUDNN_PREREQUISITE}, // INCOMPATIBLE_CUDA_DRIVER, _CUDART
	{3007, 3007, PK_CUDNN_STALE},        // ARCH_MISMATCH
	{3008, 3009, PK_CUDNN_PREREQUISITE}, // RUNTIME_PREREQUISITE_MISSING, SUBLIBRARY_UNAVAILABLE
	{3000, 3999, PK_CUDNN_UNSUPPORTED},
	{4003, 4004, PK_CUDNN_MEMORY}, // HOST_, DEVICE_ALLOCATION_FAILED
};

static const int errnos[] = {
	[PK_CUDNN_OK] = 0,
	[PK_CUDNN_STALE] = -ESTALE,
	[PK_CUDNN_UNSUPPORTED] = -ENOTSUP,
	[PK_CUDNN_PREREQUISITE] = -ENODEV,
	[PK_CUDNN_MEMORY] = -ENOMEM,
	[PK_CUDNN_BUG] = -EINVAL,
	[PK_CUDNN_FAILED] = -EIO,
};

enum pk_cudnn_class pk_cudnn_class_of(int status)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(ranges); i++) {
		if (status >= ranges[i].first && status <= ranges[i].last)
			return ranges[i].class;
	}
	return PK_CUDNN_FAILED;
}

int pk_cudnn_errno_of(enum pk_cudnn_class class)
{
	return errnos[class];
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
	const char *name = fn->get_error_string(status);
	return pk_fail(err, errnos[pk_cudnn_class_of(status)], "%s: %s (%d)%s%s", what,
		name ? name : "cuDNN error", status, *detail ? ": " : "", detail);
}
