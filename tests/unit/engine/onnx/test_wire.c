// SPDX-License-Identifier: Apache-2.0
// The wire reader refuses what is malformed, with its offset, and bounds every length.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/onnx/wire.h"

// The bytes lie at the end of a heap block, so that the sanitiser sees a read past them.
static int next(const void *bytes, size_t n, struct pk_wire_field *field, struct pk_err *err)
{
	uint8_t *copy = malloc(n ? n : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, n);
	struct pk_wire wire = pk_wire_over(copy, n);
	int rc = pk_wire_next(&wire, field, err);
	free(copy);
	return rc;
}

static void expect_error(const void *bytes, size_t n, const char *text)
{
	struct pk_wire_field field;
	struct pk_err err = {0};
	assert_int_equal(next(bytes, n, &field, &err), -EINVAL);
	assert_string_equal(err.text, text);
}

static void test_fields(void **state)
{
	static const uint8_t bytes[] = {
		0x08, 0x96, 0x01, 0x12, 2, 'h', 'i', 0x1d, 0, 0, 0x80, 0x3f};
	struct pk_wire wire = pk_wire_over(bytes, sizeof(bytes));
	struct pk_wire_field field;
	(void)state;
	assert_int_equal(pk_wire_next(&wire, &field, NULL), 1);
	assert_int_equal(field.number, 1);
	assert_int_equal(field.value, 150);
	assert_int_equal(pk_wire_next(&wire, &field, NULL), 1);
	assert_int_equal(field.type, PK_WIRE_BYTES);
	assert_int_equal(field.bytes.n, 2);
	assert_memory_equal(field.bytes.data, "hi", 2);
	assert_int_equal(field.bytes.origin, 5);
	assert_int_equal(pk_wire_next(&wire, &field, NULL), 1);
	assert_int_equal(field.value, 0x3f800000);
	assert_int_equal(field.offset, 7);
	assert_int_equal(pk_wire_next(&wire, &field, NULL), 0);
}

static void test_varint_limits(void **state)
{
	static const uint8_t max[] = {
		0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	static const uint8_t too_big[] = {
		0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	static const uint8_t endless[] = {
		0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	struct pk_wire_field field;
	(void)state;
	assert_int_equal(next(max, sizeof(max), &field, NULL), 1);
	assert_true(field.value == UINT64_MAX);
	expect_error(too_big, sizeof(too_big), "offset 11: varint is longer than 64 bits");
	expect_error(endless, sizeof(endless), "offset 11: varint is longer than 64 bits");
	expect_error("\x08\x80", 2, "offset 2: varint is cut off");
	expect_error("\x88", 1, "offset 1: varint is cut off");
}

static void test_lengths(void **state)
{
	// A length of 2^63, which a signed or wrapping bound would let through.
	static const uint8_t huge[] = {
		0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 'x'};
	struct pk_wire_field field;
	(void)state;
	expect_error(huge, sizeof(huge),
		"offset 11: length 9223372036854775808 exceeds the 1 bytes left");
	expect_error("\x12\x03xy", 4, "offset 2: length 3 exceeds the 2 bytes left");
	expect_error("\x1d\x00\x00\x00", 4, "offset 1: 32 bit value is cut off");
	expect_error("\x19\x00\x00\x00", 4, "offset 1: 64 bit value is cut off");
	assert_int_equal(next("\x12\x00", 2, &field, NULL), 1);
	assert_int_equal(field.bytes.n, 0);
}

static void test_tags(void **state)
{
	(void)state;
	expect_error("\x0b", 1, "offset 0: groups are not allowed");
	expect_error("\x0c", 1, "offset 0: groups are not allowed");
	expect_error("\x0e", 1, "offset 0: wire type 6 is not known");
	expect_error("\x0f", 1, "offset 0: wire type 7 is not known");
	expect_error("\x00\x00", 2, "offset 0: field number 0 is out of range");
	expect_error(
		"\x80\x80\x80\x80\x10\x00", 6, "offset 0: field number 536870912 is out of range");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_varint_limits),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_tags),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
