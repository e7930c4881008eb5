// SPDX-License-Identifier: Apache-2.0
// Bump allocator for objects that die together; bounded.
#pragma once

#include <stddef.h>

#include "base/attr.h"

struct pk_arena;

// max_bytes: hard bound on the sum of all allocations (0: none). NULL when out of memory.
struct pk_arena *pk_arena_create(size_t max_bytes) pk_must_check;
void pk_arena_destroy(struct pk_arena *arena); // NULL is fine
PK_DEFINE_AUTO(pk_arena, pk_arena_destroy);

// Zeroed, 16-byte aligned; NULL beyond the bound or out of memory. size 0 gives a valid pointer.
void *pk_arena_alloc(struct pk_arena *arena, size_t size) pk_must_check;
// n * size with overflow check.
void *pk_arena_array(struct pk_arena *arena, size_t n, size_t size) pk_must_check;
void *pk_arena_dup(struct pk_arena *arena, const void *src, size_t size) pk_must_check;
char *pk_arena_strdup(struct pk_arena *arena, const char *s) pk_must_check;
char *pk_arena_strndup(struct pk_arena *arena, const char *s, size_t n)
	pk_must_check; // stops at NUL
char *pk_arena_printf(struct pk_arena *arena, const char *fmt, ...) pk_printf(2, 3) pk_must_check;
size_t pk_arena_used(const struct pk_arena *arena); // bytes handed out, padding included

#define pk_arena_new(arena, type) ((type *)pk_arena_alloc((arena), sizeof(type)))
