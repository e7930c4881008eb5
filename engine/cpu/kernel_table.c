// SPDX-License-Identifier: Apache-2.0
// The table of kernel rows and the look-ups in it.
#include <string.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/ir/layout.h"

const struct pk_cpu_kernel *const pk_cpu_kernels[] = {
#define X(name) &pk_kernel_##name,
	PK_KERNEL_LIST(X)
#undef X
		NULL,
};

const struct pk_cpu_kernel *pk_cpu_kernel_by_name(const char *name)
{
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		if (!strcmp((*k)->name, name))
			return *k;
	}
	return NULL;
}

bool pk_cpu_kernel_supports(const struct pk_cpu_kernel *kernel, const struct pk_node *node)
{
	return kernel->op == node->op && (kernel->blocked || pk_layout_is_transparent(node)) &&
	       kernel->supports(node);
}

const struct pk_cpu_kernel *pk_cpu_kernel_default(const struct pk_node *node)
{
	const struct pk_cpu_kernel *best = NULL;
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		if ((*k)->op != node->op || (best && (*k)->rank <= best->rank))
			continue;
		if (pk_cpu_kernel_supports(*k, node))
			best = *k;
	}
	return best;
}

const struct pk_cpu_kernel *pk_cpu_kernel_reference(const struct pk_node *node)
{
	for (const struct pk_cpu_kernel *const *k = pk_cpu_kernels; *k; k++) {
		if ((*k)->rank == 0 && pk_cpu_kernel_supports(*k, node))
			return *k;
	}
	return NULL;
}

bool pk_cpu_kernel_in_place(const struct pk_node *node)
{
	const struct pk_cpu_kernel *kernel =
		node->kernel ? pk_cpu_kernel_by_name(node->kernel) : NULL;
	return kernel && kernel->op == node->op && kernel->in_place;
}
