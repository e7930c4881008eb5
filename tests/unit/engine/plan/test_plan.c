// SPDX-License-Identifier: Apache-2.0
// Engine files: what is written is read back, and no damage gets through.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/plan/plan.h"

static void write_sample(struct pk_buf *out)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	pk_buf_init(out, 1u << 20);
	assert_int_equal(pk_plan_writer_add(writer, PK_SECTION_WEIGHTS, "weights", 7), 0);
	assert_int_equal(pk_plan_writer_add(writer, PK_SECTION_KEY, "old", 3), 0);
	assert_int_equal(pk_plan_writer_add(writer, PK_SECTION_KEY, "{\"k\":1}", 7), 0);
	assert_int_equal(pk_plan_writer_add(writer, PK_SECTION_CARD, "", 0), 0);
	assert_int_equal(pk_plan_writer_to_buf(writer, out), 0);
}

static void test_round_trip(void **state)
{
	(void)state;
	pk_auto_buf struct pk_buf bytes;
	write_sample(&bytes);
	pk_auto(pk_plan) plan = NULL;
	enum pk_mismatch mismatch;
	assert_int_equal(pk_plan_from_bytes(bytes.data, bytes.len, &plan, &mismatch, NULL), 0);
	assert_int_equal(mismatch, PK_MATCH);
	struct pk_plan_section key = pk_plan_section(plan, PK_SECTION_KEY);
	assert_int_equal(key.size, 7);
	assert_memory_equal(key.data, "{\"k\":1}", 7);
	struct pk_plan_section weights = pk_plan_section(plan, PK_SECTION_WEIGHTS);
	assert_memory_equal(weights.data, "weights", 7);
	assert_int_equal(
		(size_t)(weights.data - (const uint8_t *)bytes.data) % PK_PLAN_WEIGHT_ALIGN, 0);
	assert_null(pk_plan_section(plan, PK_SECTION_GRAPH).data);
}

static void test_sections_can_be_read_while_they_are_collected(void **state)
{
	(void)state;
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	assert_null(pk_plan_writer_section(writer, PK_SECTION_WEIGHTS).data);
	char weights[1000];
	memset(weights, 'w', sizeof(weights));
	assert_int_equal(
		pk_plan_writer_add(writer, PK_SECTION_WEIGHTS, weights, sizeof(weights)), 0);
	struct pk_plan_section section = pk_plan_writer_section(writer, PK_SECTION_WEIGHTS);
	assert_int_equal(section.size, sizeof(weights));
	assert_memory_equal(section.data, weights, sizeof(weights));
	assert_int_equal((uintptr_t)section.data % 64, 0);
}

static int open_bytes(const void *bytes, size_t n, enum pk_mismatch *mismatch)
{
	pk_auto(pk_plan) plan = NULL;
	struct pk_err err = {0};
	int r = pk_plan_from_bytes(bytes, n, &plan, mismatch, &err);
	assert_true(r == 0 || err.text[0] != '\0');
	return r;
}

// Each bit of header, table and section contents counts; padding between sections does not.
static void test_every_flipped_bit_is_seen(void **state)
{
	(void)state;
	pk_auto_buf struct pk_buf bytes;
	write_sample(&bytes);
	size_t table_end = 64 + 3 * 56;
	for (size_t bit = 0; bit < table_end * 8; bit++) {
		enum pk_mismatch mismatch;
		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << (bit % 8)));
		assert_true(open_bytes(bytes.data, bytes.len, &mismatch) < 0);
		assert_int_not_equal(mismatch, PK_MATCH);
		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << (bit % 8)));
	}
	char *weights = memmem(bytes.data, bytes.len, "weights", 7);
	assert_non_null(weights);
	weights[6] ^= 1;
	enum pk_mismatch mismatch;
	assert_int_equal(open_bytes(bytes.data, bytes.len, &mismatch), -EBADMSG);
	assert_int_equal(mismatch, PK_MISMATCH_CORRUPT);
}

static void test_every_truncation_is_seen(void **state)
{
	(void)state;
	pk_auto_buf struct pk_buf bytes;
	write_sample(&bytes);
	for (size_t n = 0; n < bytes.len; n += n < 512 ? 1 : 977) {
		enum pk_mismatch mismatch;
		uint8_t *exact = malloc(n ? n : 1); // so that a sanitizer sees a read past the end
		memcpy(exact, bytes.data, n);
		assert_true(open_bytes(exact, n, &mismatch) < 0);
		free(exact);
	}
}

static void test_versions_and_magic_are_format(void **state)
{
	(void)state;
	pk_auto_buf struct pk_buf bytes;
	write_sample(&bytes);
	enum pk_mismatch mismatch;
	bytes.data[8] = 99;
	assert_int_equal(open_bytes(bytes.data, bytes.len, &mismatch), -ESTALE);
	assert_int_equal(mismatch, PK_MISMATCH_FORMAT);
	bytes.data[0] = 'X';
	assert_int_equal(open_bytes(bytes.data, bytes.len, &mismatch), -ESTALE);
	assert_int_equal(mismatch, PK_MISMATCH_FORMAT);
}

static void test_missing_file(void **state)
{
	(void)state;
	pk_auto(pk_plan) plan = NULL;
	enum pk_mismatch mismatch;
	assert_int_equal(pk_plan_open("/nonexistent.engine", &plan, &mismatch, NULL), -ENOENT);
	assert_int_equal(mismatch, PK_MATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_sections_can_be_read_while_they_are_collected),
		cmocka_unit_test(test_every_flipped_bit_is_seen),
		cmocka_unit_test(test_every_truncation_is_seen),
		cmocka_unit_test(test_versions_and_magic_are_format),
		cmocka_unit_test(test_missing_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
