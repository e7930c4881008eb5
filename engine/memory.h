// SPDX-License-Identifier: Apache-2.0
// Kinds of host memory that frames may lie in: the heap, or what an accelerator reads directly.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Must outlive every block. Both functions from any thread.
struct pk_memory_kind {
	const char *name;
	// Other host memory serves as well: what does not lie in this kind is used where it is.
	// Otherwise it is copied into this kind once.
	bool any_host;
	// bytes > 0; the block is aligned to PK_MEMORY_ALIGN. NULL: no memory.
	void *(*alloc)(void *ctx, size_t bytes);
	void (*free)(void *ctx, void *block, size_t bytes); // as given by alloc
	void *ctx;
};

#define PK_MEMORY_ALIGN 64

extern const struct pk_memory_kind pk_memory_heap;
