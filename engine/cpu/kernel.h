// SPDX-License-Identifier: Apache-2.0
// The rows that the cpu runtime chooses from: one concrete way to run one operator.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/cpu/pool.h"
#include "engine/ir/graph.h"
#include "engine/tensor.h"

#define PK_CPU_ALIGN 64 // bytes: every operand, constant and workspace

// What a kernel sees at run time. Operand pointers are dense row-major tensors of the node's types;
// left-out operands are NULL.
struct pk_cpu_call {
	const void *const *inputs;
	void *const *outputs;
	const void *packed; // what pack() wrote, or NULL
	const void *state;  // what setup() returned
	void *workspace;    // workspace() bytes
	// The run may be cut in chunks for pk_cpu_parallel(pool, …); NULL: it stays on this thread.
	struct pk_cpu_pool *pool;
	void *scratch; // scratch_stride bytes for each of the pool's threads: pk_cpu_call_scratch
	size_t scratch_stride;
};

struct pk_cpu_kernel {
	enum pk_op op;
	const char *name; // "conv_ref": unique, stays the same over versions (it stands in engine
			  // files)
	int rank; // among rows of one op: opt level 0 takes the supported row of highest rank
	// Output element i may lie where element i of an equally long operand lies (elementwise
	// rows); operands may already lie at their place in the output (concat).
	bool in_place;
	// supports() and run() know of layouts (engine/ir/layout.h). The other rows get only nodes
	// for which layouts are transparent: pk_cpu_kernel_supports() sees to it.
	bool blocked;
	// Looks at types, shapes and attributes only. Must refuse everything run() cannot do right:
	// the node may come from a damaged engine file (it passed the verifier, no more).
	bool (*supports)(const struct pk_node *node);
	// Bytes of scratch; NULL: none.
	size_t (*workspace)(const struct pk_node *node);
	// Bytes of scratch that each thread needs for itself; NULL: none.
	size_t (*scratch)(const struct pk_node *node);
	// Weights in the kernel's own order; NULL: uses the plain constants. pack writes
	// pack_bytes().
	size_t (*pack_bytes)(const struct pk_node *node);
	void (*pack)(const struct pk_node *node, void *out);
	// Everything that run needs from attributes and shapes, made once at load in the arena; the
	// only call that may fail (-ENOMEM). NULL: state is NULL.
	int (*setup)(const struct pk_node *node, struct pk_arena *arena, const void **state);
	// Never allocates, logs or fails. Results are the same to the bit on any number of threads:
	// chunks follow from the shapes.
	void (*run)(const struct pk_cpu_call *call);
};

// The row takes this node in the layout that its values have. Not kernel->supports() alone.
bool pk_cpu_kernel_supports(const struct pk_cpu_kernel *kernel, const struct pk_node *node);

// All rows, NULL-ended, rows of one op together, best (highest rank) first, plain C reference last.
extern const struct pk_cpu_kernel *const pk_cpu_kernels[];

const struct pk_cpu_kernel *pk_cpu_kernel_by_name(const char *name); // NULL when unknown
// The supported row of highest rank; NULL when no row supports the node.
const struct pk_cpu_kernel *pk_cpu_kernel_default(const struct pk_node *node);
// Whether the row chosen for the node (node->kernel) may run in place; false when there is none.
bool pk_cpu_kernel_in_place(const struct pk_node *node);
// The plain C reference row (rank 0) of the node; NULL when there is none.
const struct pk_cpu_kernel *pk_cpu_kernel_reference(const struct pk_node *node);

// What a call needs in memory besides its operands.
struct pk_cpu_memory {
	size_t workspace, scratch; // rounded up to PK_CPU_ALIGN; scratch for one thread
};
struct pk_cpu_memory pk_cpu_kernel_memory(
	const struct pk_cpu_kernel *kernel, const struct pk_node *node);
// Both, with scratch for n_threads; at least 1.
size_t pk_cpu_memory_bytes(const struct pk_cpu_memory *memory, int n_threads);
// Points the call's workspace and scratch into block (aligned, of that many bytes).
void pk_cpu_call_set_memory(
	struct pk_cpu_call *call, const struct pk_cpu_memory *memory, void *block);

// The scratch of a thread within a chunk function.
static inline void *pk_cpu_call_scratch(const struct pk_cpu_call *call, int thread)
{
	return (char *)call->scratch + (size_t)thread * call->scratch_stride;
}
