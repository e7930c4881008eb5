// SPDX-License-Identifier: Apache-2.0
// Growing array of plain structs.
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define PK_ARRAY_FIRST_CAP 8

int pk_array_grow_impl(void *items_addr, size_t *cap, size_t want, size_t item_size)
{
	if (want <= *cap)
		return 0;
	size_t new_cap = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2;
	new_cap = PK_MAX(PK_MAX(new_cap, want), (size_t)PK_ARRAY_FIRST_CAP);
	size_t bytes;
	if (pk_mul_overflow(new_cap, item_size, &bytes))
		return -ENOMEM;
	// The variable is of some "T *": only memcpy may read it as "void *".
	void *items;
	memcpy(&items, items_addr, sizeof(items));
	items = realloc(items, bytes);
	if (!items)
		return -ENOMEM;
	memcpy(items_addr, &items, sizeof(items));
	*cap = new_cap;
	return 0;
}

void *pk_array_push_impl(void *items_addr, size_t *n, size_t *cap, size_t item_size)
{
	if (*n == SIZE_MAX || pk_array_grow_impl(items_addr, cap, *n + 1, item_size) < 0)
		return NULL;
	char *items;
	memcpy(&items, items_addr, sizeof(items));
	void *item = items + *n * item_size;
	memset(item, 0, item_size);
	(*n)++;
	return item;
}
