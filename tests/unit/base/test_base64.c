// SPDX-License-Identifier: Apache-2.0
// Base64: one text for each byte string, and nothing else is read.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"

static const char *const vectors[][2] = {
	// RFC 4648 section 10
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
};

static void test_vectors(void **state)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(vectors); i++) {
		struct pk_buf out;
		struct pk_err err = {0};
		const char *bytes = vectors[i][0], *text = vectors[i][1];
		pk_buf_init(&out, 64);
		assert_int_equal(pk_base64_write(bytes, strlen(bytes), &out), 0);
		assert_string_equal(pk_buf_cstr(&out), text);
		pk_buf_clear(&out);
		assert_int_equal(pk_base64_read(text, strlen(text), &out, &err), 0);
		assert_string_equal(pk_buf_cstr(&out), bytes);
		pk_buf_finish(&out);
	}
}

static void test_every_byte(void **state)
{
	uint8_t bytes[256];
	struct pk_buf text, again;
	struct pk_err err = {0};
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t n = sizeof(bytes) - 3; n <= sizeof(bytes); n++) {
		pk_buf_init(&text, 1024);
		pk_buf_init(&again, 1024);
		assert_int_equal(pk_base64_write(bytes, n, &text), 0);
		assert_int_equal(pk_base64_read(text.data, text.len, &again, &err), 0);
		assert_int_equal(again.len, n);
		assert_memory_equal(again.data, bytes, n);
		pk_buf_finish(&text);
		pk_buf_finish(&again);
	}
}

static void test_refused(void **state)
{
	static const char *const rows[] = {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm8",
		"Zm9v\n", "Zm 9v", "Zm-v", "Zm_v", "====", "=m9v", "Z===", "Zg==Zg==", "Zm=v",
		"Zm9v\0Zm9v"};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_buf out;
		struct pk_err err = {0};
		pk_buf_init(&out, 64);
		if (pk_base64_read(rows[i], strlen(rows[i]), &out, &err) == 0 &&
			i + 1 < PK_ARRAY_LEN(rows))
			fail_msg("'%s' was read", rows[i]);
		pk_buf_finish(&out);
	}
	struct pk_buf out;
	struct pk_err err = {0};
	pk_buf_init(&out, 64);
	assert_int_equal(pk_base64_read("Zm9v\0m9v", 8, &out, &err), -EINVAL);
	assert_non_null(strstr(err.text, "character 5"));
	pk_buf_finish(&out);
	pk_buf_init(&out, 5);
	assert_int_equal(pk_base64_read("Zm9vYmFy", 8, &out, &err), -ENOSPC);
	pk_buf_finish(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
