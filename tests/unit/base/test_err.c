// SPDX-License-Identifier: Apache-2.0
// Error texts: cut, escaped, prefixed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void code_passes_through(void **state)
{
	struct pk_err err = {0};
	assert_int_equal(pk_fail(&err, -EINVAL, "width: %d is odd", 3), -EINVAL);
	assert_string_equal(err.text, "width: 3 is odd");
	assert_int_equal(pk_fail(NULL, -EINVAL, "nobody reads this"), -EINVAL);
	errno = ENOENT;
	assert_int_equal(pk_fail_errno(NULL, "x"), -ENOENT);
	pk_err_prefix(NULL, "x");
}

static void errno_is_named(void **state)
{
	struct pk_err err = {0};
	errno = ENOENT;
	assert_int_equal(pk_fail_errno(&err, "%s", "card.yaml"), -ENOENT);
	assert_string_equal(err.text, "card.yaml: No such file or directory");
}

static void control_characters_are_escaped(void **state)
{
	struct pk_err err = {0};
	pk_fail(&err, -1, "a\nb\x1b[31m\x7f \xc2\x9b gr\xc3\xbc");
	assert_string_equal(err.text, "a\\x0ab\\x1b[31m\\x7f \\xc2\\x9b gr\xc3\xbc");
}

static void long_texts_are_cut_at_a_character(void **state)
{
	char big[3 * PK_ERR_TEXT_MAX];
	for (size_t lead = 0; lead < 4; lead++) {
		memset(big, 'x', lead);
		for (size_t i = lead; i + 3 < sizeof(big); i += 3)
			memcpy(big + i, "\xe2\x82\xac", 4);
		struct pk_err err = {0};
		pk_fail(&err, -1, "%s", big);
		size_t len = strlen(err.text);
		assert_in_range(len, PK_ERR_TEXT_MAX - 8, PK_ERR_TEXT_MAX - 1);
		assert_string_equal(err.text + len - 3, "\xe2\x80\xa6");
		assert_int_equal((len - lead) % 3, 0); // only whole characters before the mark
	}
	memset(big, '\n', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	struct pk_err err = {0};
	pk_fail(&err, -1, "%s", big);
	assert_in_range(strlen(err.text), PK_ERR_TEXT_MAX - 8, PK_ERR_TEXT_MAX - 1);
}

static void longest_uncut_text_stays_whole(void **state)
{
	char text[PK_ERR_TEXT_MAX];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct pk_err err = {0};
	pk_fail(&err, -1, "%s", text);
	assert_string_equal(err.text, text);
}

static void prefixes_stack(void **state)
{
	struct pk_err err = {0};
	pk_fail(&err, -1, "bad");
	pk_err_prefix(&err, "line %d", 3);
	pk_err_prefix(&err, "card");
	assert_string_equal(err.text, "card: line 3: bad");
	pk_fail(&err, -1, "again: %s", err.text); // its own text as an argument
	assert_string_equal(err.text, "again: card: line 3: bad");
	for (int i = 0; i < 100; i++)
		pk_err_prefix(&err, "a rather long prefix");
	assert_in_range(strlen(err.text), PK_ERR_TEXT_MAX - 8, PK_ERR_TEXT_MAX - 1);
}

static void text_is_never_null(void **state)
{
	struct pk_err err = {0};
	assert_string_equal(pk_err_text(&err, -ENOMEM), "Cannot allocate memory");
	assert_string_equal(pk_err_text(NULL, -ENOMEM), "Cannot allocate memory");
	assert_string_equal(pk_err_text(NULL, -123456), "unknown error");
	pk_fail(&err, -ENOMEM, "why");
	assert_string_equal(pk_err_text(&err, -ENOMEM), "why");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_passes_through),
		cmocka_unit_test(errno_is_named),
		cmocka_unit_test(control_characters_are_escaped),
		cmocka_unit_test(long_texts_are_cut_at_a_character),
		cmocka_unit_test(longest_uncut_text_stays_whole),
		cmocka_unit_test(prefixes_stack),
		cmocka_unit_test(text_is_never_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
