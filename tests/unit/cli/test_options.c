// SPDX-License-Identifier: Apache-2.0
// Command lines: what goes where, what is refused and in which words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/options.h"

static struct taken {
	bool json, follow;
	char *name;
	double seconds;
	int64_t wait_ns, bytes;
	char judged[16];
	int n_words;
	char *first;
} taken;

static const char *judge(void *to, const char *text)
{
	if (text[0] != 'g')
		return "a word with g is wanted";
	snprintf(to, sizeof(taken.judged), "%s", text);
	return NULL;
}

static int parse(const char *words)
{
	static char text[256];
	char *argv[16] = {"verb"}, *save = NULL;
	int argc = 1;
	const struct pk_option rows[] = {
		PK_FLAG("json", &taken.json),
		{.name = "follow", .letter = 'f', .to = &taken.follow},
		{.name = "name", .letter = 'n', .kind = PK_OPTION_TEXT, .to = &taken.name},
		PK_NUMBER("seconds", &taken.seconds, 0.1, 10),
		PK_DURATION("wait", &taken.wait_ns),
		PK_BYTES("size", &taken.bytes),
		PK_CALL("judged", judge, taken.judged),
	};
	const struct pk_verb_line line = {
		"some verb", "usage of it\n", rows, PK_ARRAY_LEN(rows), 0, 2, "two words"};
	struct pk_words rest = {0};
	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &save); w && argc < 15; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	taken = (struct taken){0};
	int code = pk_options_parse(&line, argc, argv, &rest);
	taken.n_words = rest.n;
	taken.first = rest.n ? rest.at[0] : NULL;
	return code;
}

static void test_what_goes_where(void **state)
{
	assert_int_equal(parse("one --json -f --name=x two --seconds 2.5"), PK_GO_ON);
	assert_true(taken.json && taken.follow);
	assert_string_equal(taken.name, "x");
	assert_true(taken.seconds == 2.5);
	assert_int_equal(taken.n_words, 2);
	assert_string_equal(taken.first, "one");
	assert_int_equal(parse("-n y --wait 2s --size 3KiB --judged good -- --json"), PK_GO_ON);
	assert_false(taken.json);
	assert_string_equal(taken.name, "y");
	assert_int_equal(taken.wait_ns, 2 * PK_NS_PER_S);
	assert_int_equal(taken.bytes, 3072);
	assert_string_equal(taken.judged, "good");
	assert_string_equal(taken.first, "--json");
	assert_int_equal(parse(""), PK_GO_ON);
	assert_int_equal(taken.n_words, 0);
}

// What a call printed on stderr.
static const char *said(const char *words, int *code)
{
	static char out[512];
	FILE *file = tmpfile();
	int old = dup(STDERR_FILENO);
	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	*code = parse(words);
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(file);
	out[fread(out, 1, sizeof(out) - 1, file)] = '\0';
	fclose(file);
	return out;
}

static void test_mistakes_are_told(void **state)
{
	static const struct {
		const char *words, *why;
	} rows[] = {
		{"--nothing", "some verb: --nothing: there is no such option\n"},
		{"-x", "some verb: -x: there is no such option\n"},
		{"--name", "some verb: --name: it wants a value\n"},
		{"-n", "some verb: -n: it wants a value\n"},
		{"--seconds 11", "some verb: --seconds: a number from 0.1 to 10 is wanted\n"},
		{"--seconds 1x", "some verb: --seconds: a number from 0.1 to 10 is wanted\n"},
		{"--wait soon", "some verb: --wait: expected a duration"},
		{"--judged bad", "some verb: --judged: a word with g is wanted\n"},
		{"a b c", "some verb: it takes two words\nsee picketctl some verb --help\n"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		int code;
		const char *text = said(rows[i].words, &code);
		if (code != PK_EXIT_USAGE || !strstr(text, rows[i].why))
			fail_msg("%s: %d %s", rows[i].words, code, text);
	}
}

static void test_help(void **state)
{
	assert_int_equal(parse("--name x --help"), PK_EXIT_OK);
	assert_int_equal(parse("-h"), PK_EXIT_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_goes_where),
		cmocka_unit_test(test_mistakes_are_told),
		cmocka_unit_test(test_help),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
