// SPDX-License-Identifier: Apache-2.0
#include "config/words.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/config/cm.h"

static void test_distance(void **state)
{
	assert_int_equal(pk_words_distance("model", "model", 3), 0);
	assert_int_equal(pk_words_distance("Model", "model", 3), 0);
	assert_int_equal(pk_words_distance("modle", "model", 3), 1); // neighbours swapped
	assert_int_equal(pk_words_distance("mode", "model", 3), 1);
	assert_int_equal(pk_words_distance("modell", "model", 3), 1);
	assert_int_equal(pk_words_distance("nodel", "model", 3), 1);
	assert_int_equal(pk_words_distance("kitten", "sitting", 3), 3);
	assert_int_equal(pk_words_distance("kitten", "sitting", 2), 3); // above the limit
	assert_int_equal(pk_words_distance("", "abc", 3), 3);
	assert_int_equal(pk_words_distance("abcdefgh", "x", 3), 4);
}

static const char *nearest(const char *word)
{
	static const char *const known[] = {"source", "model", "sinks", "max_rate", "priority",
		"first_frame", "stall", "kind", "uri"};
	struct pk_words_best best;

	pk_words_best_init(&best, word);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		pk_words_best_try(&best, known[i]);
	return best.best;
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest("modle"), "model");
	assert_string_equal(nearest("SINKS"), "sinks");
	assert_string_equal(nearest("max-rate"), "max_rate");
	assert_string_equal(nearest("prio"), "priority");
	assert_string_equal(nearest("firstframe"), "first_frame");
	assert_string_equal(nearest("url"), "uri");
	assert_null(nearest("fps"));
	assert_null(nearest("x"));
	assert_null(nearest(""));
	assert_null(nearest("frobnicate"));
}

static void test_long_words_are_never_near(void **state)
{
	char long_word[200];

	memset(long_word, 'a', sizeof(long_word));
	long_word[sizeof(long_word) - 1] = '\0';
	assert_null(nearest(long_word));
	assert_int_equal(pk_words_distance(long_word, long_word, 3), 4);
}

static void test_quote(void **state)
{
	const char *n47 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	char text[80];

	assert_string_equal(pk_words_quote("").text, "");
	assert_string_equal(pk_words_quote("belt-a").text, "belt-a");
	snprintf(text, sizeof(text), "%sb", n47);
	assert_string_equal(pk_words_quote(text).text, text);
	// Never cuts a character in two.
	snprintf(text, sizeof(text), "%säb", n47);
	struct pk_words_quote q = pk_words_quote(text);
	assert_int_equal(strlen(q.text), 47 + strlen("…"));
	assert_true(pk_words_are_printable(q.text));
}

static void test_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t n, len;
		unsigned int code;
	} cases[] = {
		{"a", 1, 1, 'a'},
		{"\xc3\xa4", 2, 2, 0xe4},
		{"\xe2\x82\xac", 3, 3, 0x20ac},
		{"\xf0\x9f\x93\xb7", 4, 4, 0x1f4f7},
		{"\xc3", 1, 0, 0},             // cut off
		{"\xc3 ", 2, 0, 0},            // no continuation
		{"\x80", 1, 0, 0},             // continuation alone
		{"\xc0\xaf", 2, 0, 0},         // overlong
		{"\xe0\x80\xaf", 3, 0, 0},     // overlong
		{"\xed\xa0\x80", 3, 0, 0},     // surrogate
		{"\xf4\x90\x80\x80", 4, 0, 0}, // above U+10FFFF
		{"\xff\xfe", 2, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned int code = 0;
		assert_int_equal(pk_words_utf8(cases[i].bytes, cases[i].n, &code), cases[i].len);
		assert_int_equal(code, cases[i].code);
	}
}

static void test_printable(void **state)
{
	assert_true(pk_words_are_printable("größe 📷\t\n"));
	assert_true(pk_words_are_printable(""));
	assert_false(pk_words_are_printable("a\x1b[31m"));
	assert_false(pk_words_are_printable("a\x7f"));
	assert_false(pk_words_are_printable("a\xc2\x85"));     // next line
	assert_false(pk_words_are_printable("a\xe2\x80\xa8")); // line separator
	assert_false(pk_words_are_printable("a\xef\xbf\xbe")); // non-character
	assert_false(pk_words_are_printable("a\xff"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_long_words_are_never_near),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_printable),
	};
	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
