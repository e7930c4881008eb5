// SPDX-License-Identifier: Apache-2.0
// A driver library without a device: cuDNN's engines that compile at run time look these functions
// up before they plan; they call none but the three that tell of driver and devices.
#define NO_DEVICE      100   // CUDA_ERROR_NO_DEVICE
#define DRIVER_VERSION 13020 // as tests/gpu/devices/*.json say

#define LIST(X)                                                                                    \
	X(cuCtxGetCurrent)                                                                         \
	X(cuCtxGetLimit)                                                                           \
	X(cuCtxPopCurrent)                                                                         \
	X(cuCtxPushCurrent)                                                                        \
	X(cuDeviceGet)                                                                             \
	X(cuGetErrorName)                                                                          \
	X(cuGetErrorString)                                                                        \
	X(cuInit)                                                                                  \
	X(cuKernelGetAttribute)                                                                    \
	X(cuKernelSetAttribute)                                                                    \
	X(cuLaunchCooperativeKernel)                                                               \
	X(cuLaunchKernel)                                                                          \
	X(cuLaunchKernelEx)                                                                        \
	X(cuLibraryGetKernel)                                                                      \
	X(cuLibraryLoadData)                                                                       \
	X(cuLibraryLoadFromFile)                                                                   \
	X(cuLibraryUnload)                                                                         \
	X(cuLinkAddData)                                                                           \
	X(cuLinkComplete)                                                                          \
	X(cuLinkCreate)                                                                            \
	X(cuLinkDestroy)                                                                           \
	X(cuOccupancyMaxPotentialClusterSize)                                                      \
	X(cuStreamGetCtx)                                                                          \
	X(cuTensorMapEncodeTiled)

#define X(name)                                                                                    \
	int name(void);                                                                            \
	int name(void)                                                                             \
	{                                                                                          \
		return NO_DEVICE;                                                                  \
	}
LIST(X)

// The count must be set: cuDNN reads it whatever the status.
int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	*count = 0;
	return NO_DEVICE;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = DRIVER_VERSION;
	return 0;
}
