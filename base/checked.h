// SPDX-License-Identifier: Apache-2.0
// Arithmetic that tells when it overflows. Each returns true on overflow, like the built-ins.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define pk_add_overflow(a, b, out) __builtin_add_overflow((a), (b), (out))
#define pk_sub_overflow(a, b, out) __builtin_sub_overflow((a), (b), (out))
#define pk_mul_overflow(a, b, out) __builtin_mul_overflow((a), (b), (out))

// v rounded up to a multiple of align (a power of two); saturates to SIZE_MAX on overflow.
static inline size_t pk_align_up(size_t v, size_t align)
{
	size_t sum;
	if (pk_add_overflow(v, align - 1, &sum))
		return SIZE_MAX;
	return sum & ~(align - 1);
}

// Each use makes names of its own, so that uses may nest. Both sides are evaluated once.
#define PK_CAT_IMPL(a, b) a##b
#define PK_CAT(a, b)      PK_CAT_IMPL(a, b)
#define PK_PICK_IMPL(a, b, op, name_a, name_b)                                                     \
	({                                                                                         \
		__typeof__(a) name_a = (a);                                                        \
		__typeof__(b) name_b = (b);                                                        \
		name_a op name_b ? name_a : name_b;                                                \
	})
#define PK_MIN(a, b)                                                                               \
	PK_PICK_IMPL(a, b, <, PK_CAT(pk_min_a_, __COUNTER__), PK_CAT(pk_min_b_, __COUNTER__))
#define PK_MAX(a, b)                                                                               \
	PK_PICK_IMPL(a, b, >, PK_CAT(pk_max_a_, __COUNTER__), PK_CAT(pk_max_b_, __COUNTER__))
