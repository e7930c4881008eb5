// SPDX-License-Identifier: Apache-2.0
// Mended texts are what jansson takes; good ones stay as they are.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/text.h"
#include "tests/unit/daemon/support.h"

static void test_known_cases(void **ctx)
{
	(void)ctx;
	static const struct {
		const char *before, *after;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"\u00e4\u2026\U0001f600", "\u00e4\u2026\U0001f600"},
		{"cut \xe2\x80", "cut "},
		{"cut \xf0\x9f\x98", "cut "},
		{"\xff", "?"},
		{"a\x80z", "a?z"},
		{"\xc0\xaf", "??"},
		{"\xed\xa0\x80", "???"},
		{"\xe2\x80z", "??z"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		char text[64];
		memcpy(text, rows[i].before, strlen(rows[i].before) + 1);
		pk_text_mend(text);
		assert_string_equal(text, rows[i].after);
	}
}

static void test_random_bytes_become_json(void **ctx)
{
	(void)ctx;
	uint32_t random = 1;
	for (int i = 0; i < 200000; i++) {
		char text[9];
		for (size_t k = 0; k < sizeof(text) - 1; k++) {
			random = random * 1664525u + 1013904223u;
			// Mostly bytes that may belong to long characters.
			unsigned byte = random >> 24;
			text[k] = (char)(random & 0x30000 ? byte | 0x80 : byte);
		}
		text[8] = '\0';
		pk_text_mend(text);
		json_t *json = json_string(text);
		assert_non_null(json);
		json_decref(json);
	}
}

static void test_format_cuts_between_characters(void **ctx)
{
	(void)ctx;
	char out[8];
	pk_text_format(out, sizeof(out), "%s", "abcde\u2026x");
	assert_string_equal(out, "abcde");
	pk_text_format(out, sizeof(out), "%s", "abcd\u2026x");
	assert_string_equal(out, "abcd\u2026");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_cases),
		cmocka_unit_test(test_random_bytes_become_json),
		cmocka_unit_test(test_format_cuts_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
