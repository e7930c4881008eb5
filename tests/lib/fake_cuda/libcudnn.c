// SPDX-License-Identifier: Apache-2.0
// libcudnn.so.9 of the test double: has a version and handles, and supports no operation at all, so
// that rows of cuDNN step aside.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define FUNCTION_OF(name, arguments)                                                               \
	EXPORT int name arguments;                                                                 \
	EXPORT int name arguments
#define NOT_SUPPORTED 3000
#define VERSION       90300

EXPORT size_t cudnnGetVersion(void);
EXPORT size_t cudnnGetVersion(void)
{
	return VERSION;
}

EXPORT const char *cudnnGetErrorString(int status);
EXPORT const char *cudnnGetErrorString(int status)
{
	return status ? "CUDNN_STATUS_OF_THE_TEST_DOUBLE" : "CUDNN_STATUS_SUCCESS";
}

FUNCTION_OF(cudnnCreate, (void **handle))
{
	*handle = malloc(1);
	return *handle ? 0 : 1003;
}

FUNCTION_OF(cudnnDestroy, (void *handle))
{
	free(handle);
	return 0;
}

FUNCTION_OF(cudnnSetStream, (void *handle, void *stream))
{
	(void)handle;
	(void)stream;
	return 0;
}

FUNCTION_OF(cudnnBackendCreateDescriptor, (int type, void **descriptor))
{
	(void)type;
	(void)descriptor;
	return NOT_SUPPORTED;
}

FUNCTION_OF(cudnnBackendDestroyDescriptor, (void *descriptor))
{
	(void)descriptor;
	return NOT_SUPPORTED;
}

FUNCTION_OF(cudnnBackendSetAttribute,
	(void *descriptor, int name, int type, int64_t n, const void *elements))
{
	(void)descriptor;
	(void)name;
	(void)type;
	(void)n;
	(void)elements;
	return NOT_SUPPORTED;
}

FUNCTION_OF(cudnnBackendGetAttribute,
	(const void *descriptor, int name, int type, int64_t n_max, int64_t *n, void *elements))
{
	(void)descriptor;
	(void)name;
	(void)type;
	(void)n_max;
	(void)n;
	(void)elements;
	return NOT_SUPPORTED;
}

FUNCTION_OF(cudnnBackendFinalize, (void *descriptor))
{
	(void)descriptor;
	return NOT_SUPPORTED;
}

FUNCTION_OF(cudnnBackendExecute, (void *handle, void *plan, void *pack))
{
	(void)handle;
	(void)plan;
	(void)pack;
	return NOT_SUPPORTED;
}
