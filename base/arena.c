// SPDX-License-Identifier: Apache-2.0
// Bump allocator for objects that die together; bounded.
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define PK_ARENA_ALIGN 16

// Under AddressSanitizer each object gets a chunk of its own, exactly as long as it asked for, so
// that reading past an object is found although the arena would have more bytes there.
#if defined(__SANITIZE_ADDRESS__)
#define PK_ARENA_SEPARATE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PK_ARENA_SEPARATE 1
#endif
#endif
#ifdef PK_ARENA_SEPARATE
#define PK_ARENA_CHUNK_BYTES 0
#else
#define PK_ARENA_CHUNK_BYTES 16384
#endif

struct pk_arena_chunk {
	struct pk_arena_chunk *next;
	size_t size; // bytes behind this header
	size_t used;
	size_t pad; // keeps what follows 16-byte aligned
};
static_assert(sizeof(struct pk_arena_chunk) % PK_ARENA_ALIGN == 0, "objects follow the header");

struct pk_arena {
	struct pk_arena_chunk *chunks; // the one that is being filled first
	size_t used;
	size_t max;
};

struct pk_arena *pk_arena_create(size_t max_bytes)
{
	struct pk_arena *arena = calloc(1, sizeof(*arena));
	if (arena)
		arena->max = max_bytes ? max_bytes : SIZE_MAX;
	return arena;
}

void pk_arena_destroy(struct pk_arena *arena)
{
	if (!arena)
		return;
	while (arena->chunks) {
		struct pk_arena_chunk *chunk = arena->chunks;
		arena->chunks = chunk->next;
		free(chunk);
	}
	free(arena);
}

static struct pk_arena_chunk *pk_arena_add_chunk(struct pk_arena *arena, size_t size)
{
	size_t bytes;
	if (pk_add_overflow(sizeof(struct pk_arena_chunk), size, &bytes))
		return NULL;
	struct pk_arena_chunk *chunk = calloc(1, bytes);
	if (!chunk)
		return NULL;
	chunk->size = size;
	// A chunk made for one large object goes behind the one that still has room.
	if (arena->chunks && size > PK_ARENA_CHUNK_BYTES) {
		chunk->next = arena->chunks->next;
		arena->chunks->next = chunk;
	} else {
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	return chunk;
}

void *pk_arena_alloc(struct pk_arena *arena, size_t size)
{
	size_t padded = pk_align_up(PK_MAX(size, (size_t)1), PK_ARENA_ALIGN);
	if (padded > arena->max - arena->used)
		return NULL;
	struct pk_arena_chunk *chunk = arena->chunks;
	if (!chunk || chunk->used > chunk->size || padded > chunk->size - chunk->used) {
		bool own = padded > PK_ARENA_CHUNK_BYTES;
		chunk = pk_arena_add_chunk(arena, own ? size : (size_t)PK_ARENA_CHUNK_BYTES);
		if (!chunk)
			return NULL;
	}
	void *object = (char *)(chunk + 1) + chunk->used;
	chunk->used += padded;
	arena->used += padded;
	return object;
}

void *pk_arena_array(struct pk_arena *arena, size_t n, size_t size)
{
	size_t bytes;
	return pk_mul_overflow(n, size, &bytes) ? NULL : pk_arena_alloc(arena, bytes);
}

void *pk_arena_dup(struct pk_arena *arena, const void *src, size_t size)
{
	void *copy = pk_arena_alloc(arena, size);
	if (copy && size)
		memcpy(copy, src, size);
	return copy;
}

char *pk_arena_strdup(struct pk_arena *arena, const char *s)
{
	return pk_arena_dup(arena, s, strlen(s) + 1);
}

char *pk_arena_strndup(struct pk_arena *arena, const char *s, size_t n)
{
	size_t len = strnlen(s, n), bytes;
	if (pk_add_overflow(len, (size_t)1, &bytes))
		return NULL;
	char *copy = pk_arena_alloc(arena, bytes);
	if (copy)
		memcpy(copy, s, len);
	return copy;
}

char *pk_arena_printf(struct pk_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	char *text = len < 0 ? NULL : pk_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

size_t pk_arena_used(const struct pk_arena *arena)
{
	return arena->used;
}
