// SPDX-License-Identifier: Apache-2.0
// The runtimes of this build.
#include <string.h>

#include "engine/runtime.h"

const struct pk_runtime_ops *const pk_runtime_table[] = {
	&pk_cuda_runtime,
	&pk_cpu_runtime,
	NULL,
};

const struct pk_runtime_ops *pk_runtime_by_name(const char *name)
{
	for (const struct pk_runtime_ops *const *ops = pk_runtime_table; *ops; ops++) {
		if ((*ops)->abi == PK_RUNTIME_ABI && strcmp((*ops)->name, name) == 0)
			return *ops;
	}
	return NULL;
}
