// SPDX-License-Identifier: Apache-2.0
// The heap as a kind of memory.
#include "engine/memory.h"

#include <stdlib.h>

static void *heap_alloc(void *ctx, size_t bytes)
{
	void *block = NULL;
	return posix_memalign(&block, PK_MEMORY_ALIGN, bytes) == 0 ? block : NULL;
}

static void heap_free(void *ctx, void *block, size_t bytes)
{
	free(block);
}

const struct pk_memory_kind pk_memory_heap = {
	.name = "heap", .any_host = true, .alloc = heap_alloc, .free = heap_free};
