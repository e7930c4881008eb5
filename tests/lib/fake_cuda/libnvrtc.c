// SPDX-License-Identifier: Apache-2.0
// libnvrtc.so.13 of the test double: takes any text and gives back four bytes that libcuda.so.1 of
// the double takes for device code, then the text's name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define FUNCTION_OF(name, arguments)                                                               \
	EXPORT int name arguments;                                                                 \
	EXPORT int name arguments
#define HEAD "\177ELF picket test double "

struct program {
	char cubin[256];
};

FUNCTION_OF(nvrtcVersion, (int *major, int *minor))
{
	*major = 13;
	*minor = 0;
	return 0;
}

FUNCTION_OF(nvrtcCreateProgram,
	(struct program * *out, const char *text, const char *name, int n_headers,
		const char *const *headers, const char *const *names))
{
	(void)headers;
	(void)names;
	if (!text || n_headers != 0)
		return 3; // NVRTC_ERROR_INVALID_INPUT
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return 1;
	snprintf((*out)->cubin, sizeof((*out)->cubin), HEAD "%s", name);
	return 0;
}

FUNCTION_OF(nvrtcDestroyProgram, (struct program * *program))
{
	free(*program);
	*program = NULL;
	return 0;
}

FUNCTION_OF(
	nvrtcCompileProgram, (struct program * program, int n_options, const char *const *options))
{
	(void)program;
	return n_options > 0 && strncmp(options[0], "--gpu-architecture=sm_", 22) == 0 ? 0 : 5;
}

FUNCTION_OF(nvrtcGetCUBINSize, (struct program * program, size_t *n))
{
	*n = strlen(program->cubin);
	return 0;
}

FUNCTION_OF(nvrtcGetCUBIN, (struct program * program, char *cubin))
{
	memcpy(cubin, program->cubin, strlen(program->cubin));
	return 0;
}

FUNCTION_OF(nvrtcGetProgramLogSize, (struct program * program, size_t *n))
{
	(void)program;
	*n = 1;
	return 0;
}

FUNCTION_OF(nvrtcGetProgramLog, (struct program * program, char *log))
{
	(void)program;
	log[0] = '\0';
	return 0;
}
