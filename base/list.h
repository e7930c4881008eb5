// SPDX-License-Identifier: Apache-2.0
// Intrusive doubly linked list.
#pragma once

#include <stdbool.h>

#include "base/attr.h"

struct pk_list {
	struct pk_list *prev, *next; // both point to itself when empty or unlinked
};

static inline void pk_list_init(struct pk_list *l)
{
	l->prev = l->next = l;
}
static inline bool pk_list_empty(const struct pk_list *l)
{
	return l->next == l;
}
// Puts item before pos: pos = the head appends at the end.
static inline void pk_list_insert(struct pk_list *pos, struct pk_list *item)
{
	item->prev = pos->prev;
	item->next = pos;
	pos->prev->next = item;
	pos->prev = item;
}
// item may be removed twice.
static inline void pk_list_remove(struct pk_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	pk_list_init(item);
}

#define pk_list_entry(node, type, member) pk_container_of(node, type, member)
#define pk_list_each(it, head, member)                                                             \
	for (__typeof__(it) it##_next_ =                                                           \
			(it = pk_list_entry((head)->next, __typeof__(*it), member),                \
			pk_list_entry(it->member.next, __typeof__(*it), member));                  \
		&it->member != (head); it = it##_next_,                                            \
			    it##_next_ = pk_list_entry(it->member.next, __typeof__(*it), member))
