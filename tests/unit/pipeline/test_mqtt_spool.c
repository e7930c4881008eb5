// SPDX-License-Identifier: Apache-2.0
// The spool of the mqtt sink: order, the bound, who is pushed out, against a plain list.
#include <stdio.h>

#include "base/buf.h"
#include "pipeline/sinks/mqtt_spool.h"
#include "tests/unit/pipeline/cm.h"

#define CAPACITY 1000
#define MAX_TAGS 4000

static struct {
	size_t tags[MAX_TAGS];
	size_t n;
} evicted;

static void on_evicted(void *ctx, size_t tag)
{
	assert_true(evicted.n < MAX_TAGS);
	evicted.tags[evicted.n++] = tag;
}

static const struct pk_mqtt_spool_victims victims = {.evicted = on_evicted};

static int reset(void **state)
{
	memset(&evicted, 0, sizeof(evicted));
	return 0;
}

static void test_first_in_first_out(void **state)
{
	pk_auto(pk_mqtt_spool) spool = pk_mqtt_spool_create(CAPACITY);
	pk_auto_buf struct pk_buf out;
	size_t tag = 0;
	pk_buf_init(&out, 100);
	assert_false(pk_mqtt_spool_take(spool, &out, &tag));
	assert_true(pk_mqtt_spool_put(spool, 7, "one", 3, &victims));
	assert_true(pk_mqtt_spool_put(spool, 8, "", 0, &victims));
	assert_true(pk_mqtt_spool_put(spool, 9, "three", 5, &victims));
	assert_true(pk_mqtt_spool_used(spool) >= 8);
	assert_true(pk_mqtt_spool_take(spool, &out, &tag));
	assert_string_equal(pk_buf_cstr(&out), "one");
	assert_int_equal(tag, 7);
	assert_true(pk_mqtt_spool_take(spool, &out, &tag));
	assert_int_equal(out.len, 0);
	assert_int_equal(tag, 8);
	assert_true(pk_mqtt_spool_take(spool, &out, &tag));
	assert_string_equal(pk_buf_cstr(&out), "three");
	assert_int_equal(pk_mqtt_spool_used(spool), 0);
	assert_int_equal(evicted.n, 0);
}

static void test_too_large_changes_nothing(void **state)
{
	pk_auto(pk_mqtt_spool) spool = pk_mqtt_spool_create(CAPACITY);
	char large[CAPACITY + 1] = {0};
	assert_true(pk_mqtt_spool_put(spool, 1, "kept", 4, &victims));
	assert_false(pk_mqtt_spool_put(spool, 2, large, sizeof(large), &victims));
	assert_false(pk_mqtt_spool_put(spool, 2, large, CAPACITY - 1, &victims)); // its head
	assert_int_equal(evicted.n, 0);
	assert_true(pk_mqtt_spool_used(spool) > 0);
}

static void test_a_reader_that_cannot_hold_it_takes_nothing(void **state)
{
	pk_auto(pk_mqtt_spool) spool = pk_mqtt_spool_create(CAPACITY);
	pk_auto_buf struct pk_buf small, large;
	size_t tag;
	pk_buf_init(&small, 10);
	pk_buf_init(&large, 100);
	assert_true(pk_mqtt_spool_put(spool, 1, "twelve bytes", 12, &victims));
	assert_false(pk_mqtt_spool_take(spool, &small, &tag));
	assert_true(pk_mqtt_spool_take(spool, &large, &tag));
	assert_string_equal(pk_buf_cstr(&large), "twelve bytes");
}

// Messages of every length, taken now and then: what was neither taken nor evicted is there, in
// order, and only the oldest were evicted, only when there was no room.
static void test_the_oldest_make_room(void **state)
{
	pk_auto(pk_mqtt_spool) spool = pk_mqtt_spool_create(CAPACITY);
	pk_auto_buf struct pk_buf out;
	unsigned random = 1;
	size_t next_out = 0, tag;
	char text[400];
	pk_buf_init(&out, sizeof(text));
	for (size_t i = 0; i < MAX_TAGS; i++) {
		random = random * 1103515245u + 12345u;
		size_t n = (random >> 16) % sizeof(text), before = evicted.n;
		size_t used = pk_mqtt_spool_used(spool);
		memset(text, (int)('a' + i % 26), n);
		assert_true(pk_mqtt_spool_put(spool, i, text, n, &victims));
		assert_true(pk_mqtt_spool_used(spool) <= CAPACITY);
		if (evicted.n > before) // not without need
			assert_true(used + n + 8 > CAPACITY);
		for (; before < evicted.n; before++)
			assert_int_equal(evicted.tags[before], next_out++);
		if (random & 0x10000)
			continue;
		assert_true(pk_mqtt_spool_take(spool, &out, &tag));
		assert_int_equal(tag, next_out++);
		for (size_t k = 0; k < out.len; k++)
			assert_int_equal(out.data[k], 'a' + tag % 26);
	}
	while (pk_mqtt_spool_take(spool, &out, &tag))
		assert_int_equal(tag, next_out++);
	assert_int_equal(next_out, MAX_TAGS);
	assert_true(evicted.n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first_in_first_out, reset),
		cmocka_unit_test_setup(test_too_large_changes_nothing, reset),
		cmocka_unit_test_setup(test_a_reader_that_cannot_hold_it_takes_nothing, reset),
		cmocka_unit_test_setup(test_the_oldest_make_room, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
