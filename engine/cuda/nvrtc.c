// SPDX-License-Identifier: Apache-2.0
// Compiles a .cu text to device code.
#include "engine/cuda/nvrtc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NVRTC_OUT_OF_MEMORY 1 // NVRTC_ERROR_OUT_OF_MEMORY
#define MAX_LOG_BYTES       (1u << 20)

static int refuse(const struct pk_cuda *cuda, struct pk_nvrtc_program *program, int status,
	const struct pk_cuda_source *source, struct pk_err *err)
{
	size_t n = 0;
	pk_auto_free char *log = NULL;
	if (program && cuda->nvrtc.get_log_size(program, &n) == 0 && n > 0 && n <= MAX_LOG_BYTES)
		log = calloc(1, n + 1);
	if (log && cuda->nvrtc.get_log(program, log) != 0)
		log[0] = '\0';
	return pk_fail(err, status == NVRTC_OUT_OF_MEMORY ? -ENOMEM : -EINVAL,
		"%s: NVRTC refuses it for sm_%d (%d): %.300s", source->name, cuda->device.sm,
		status, log ? log : "");
}

static int take_cubin(const struct pk_cuda *cuda, struct pk_nvrtc_program *program,
	struct pk_buf *cubin, int *status)
{
	size_t n = 0;
	*status = cuda->nvrtc.get_cubin_size(program, &n);
	char *at = *status == 0 ? pk_buf_reserve(cubin, n) : NULL;
	if (at)
		*status = cuda->nvrtc.get_cubin(program, at);
	return pk_buf_error(cubin);
}

int pk_nvrtc_compile(const struct pk_cuda *cuda, const struct pk_cuda_source *source,
	struct pk_buf *cubin, struct pk_err *err)
{
	struct pk_nvrtc_program *program = NULL;
	char architecture[32];
	snprintf(architecture, sizeof(architecture), "--gpu-architecture=sm_%d", cuda->device.sm);
	const char *const options[] = {architecture, "--std=c++14", "--fmad=true"};
	int r = 0;
	int status =
		cuda->nvrtc.create_program(&program, source->text, source->name, 0, NULL, NULL);
	if (status == 0)
		status = cuda->nvrtc.compile_program(program, (int)PK_ARRAY_LEN(options), options);
	if (status == 0)
		r = take_cubin(cuda, program, cubin, &status);
	if (status != 0)
		r = refuse(cuda, program, status, source, err);
	else if (r < 0)
		r = pk_fail(err, r, "%s: out of memory", source->name);
	if (program)
		(void)cuda->nvrtc.destroy_program(&program);
	return r;
}
