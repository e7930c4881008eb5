// SPDX-License-Identifier: Apache-2.0
// The table of kernel rows and the look-ups in it.
#include <string.h>

#include "base/checked.h"
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

struct pk_cpu_memory pk_cpu_kernel_memory(
	const struct pk_cpu_kernel *kernel, const struct pk_node *node)
{
	struct pk_cpu_memory memory = {0};
	if (kernel->workspace)
		memory.workspace = pk_align_up(kernel->workspace(node), PK_CPU_ALIGN);
	if (kernel->scratch)
		memory.scratch = pk_align_up(kernel->scratch(node), PK_CPU_ALIGN);
	return memory;
}

size_t pk_cpu_memory_bytes(const struct pk_cpu_memory *memory, int n_threads)
{
	size_t bytes;
	if (pk_mul_overflow(memory->scratch, (size_t)n_threads, &bytes) ||
		pk_add_overflow(bytes, memory->workspace, &bytes))
		return SIZE_MAX;
	return PK_MAX(bytes, (size_t)1);
}

void pk_cpu_call_set_memory(
	struct pk_cpu_call *call, const struct pk_cpu_memory *memory, void *block)
{
	call->workspace = block;
	call->scratch = (char *)block + memory->workspace;
	call->scratch_stride = memory->scratch;
}
