// SPDX-License-Identifier: Apache-2.0
// Growing array of plain structs. Elements move when it grows: keep indices, not pointers.
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/attr.h"

// Zero-initialise before use: PK_ARRAY(struct box) boxes = {0};
#define PK_ARRAY(type)                                                                             \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t n;                                                                          \
		size_t cap;                                                                        \
	}

// Grows to hold at least want elements. 0 or -ENOMEM; nothing changes on failure. items_addr is the
// address of the "T *" variable.
int pk_array_grow_impl(void *items_addr, size_t *cap, size_t want, size_t item_size) pk_must_check;

// Appends a zeroed element and gives its address, or NULL when out of memory.
#define pk_array_push(arr)                                                                         \
	((__typeof__((arr)->items))pk_array_push_impl(                                             \
		&(arr)->items, &(arr)->n, &(arr)->cap, sizeof(*(arr)->items)))
void *pk_array_push_impl(void *items_addr, size_t *n, size_t *cap, size_t item_size) pk_must_check;

// The body must not push to arr.
#define pk_array_each(it, arr)                                                                     \
	for (__typeof__((arr)->items) it = (arr)->items,                                           \
				      it##_end_ = (arr)->n ? it + (arr)->n : it;                   \
		it < it##_end_; it++)

#define pk_array_finish(arr)                                                                       \
	do {                                                                                       \
		free((arr)->items);                                                                \
		(arr)->items = NULL;                                                               \
		(arr)->n = (arr)->cap = 0;                                                         \
	} while (0)
