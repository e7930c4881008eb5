// SPDX-License-Identifier: Apache-2.0
// Intrusive list: order, removal while walking.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
	int v;
	struct pk_list node;
};

static void fill(struct pk_list *head, struct item *items, int n)
{
	pk_list_init(head);
	for (int i = 0; i < n; i++) {
		items[i].v = i;
		pk_list_insert(head, &items[i].node);
	}
}

static void order_is_kept(void **state)
{
	struct pk_list head;
	struct item items[5], *it;
	fill(&head, items, 5);
	int want = 0;
	pk_list_each (it, &head, node)
		assert_int_equal(it->v, want++);
	assert_int_equal(want, 5);
	struct item first = {.v = -1};
	pk_list_insert(head.next, &first.node);
	assert_ptr_equal(pk_list_entry(head.next, struct item, node), &first);
}

static void walking_allows_removal(void **state)
{
	struct pk_list head;
	struct item items[6], *it;
	fill(&head, items, 6);
	pk_list_each (it, &head, node)
		if (it->v % 2 == 0)
			pk_list_remove(&it->node);
	int want = 1;
	pk_list_each (it, &head, node) {
		assert_int_equal(it->v, want);
		want += 2;
	}
	assert_int_equal(want, 7);
	pk_list_each (it, &head, node)
		pk_list_remove(&it->node);
	assert_true(pk_list_empty(&head));
}

static void removing_twice_is_harmless(void **state)
{
	struct pk_list head;
	struct item items[2], *it;
	fill(&head, items, 2);
	pk_list_remove(&items[0].node);
	pk_list_remove(&items[0].node);
	int n = 0;
	pk_list_each (it, &head, node)
		n++;
	assert_int_equal(n, 1);
}

static void empty_list_has_no_items(void **state)
{
	struct pk_list head;
	struct item *it;
	pk_list_init(&head);
	assert_true(pk_list_empty(&head));
	pk_list_each (it, &head, node)
		fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_kept),
		cmocka_unit_test(walking_allows_removal),
		cmocka_unit_test(removing_twice_is_harmless),
		cmocka_unit_test(empty_list_has_no_items),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
