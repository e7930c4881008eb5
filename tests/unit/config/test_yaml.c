// SPDX-License-Identifier: Apache-2.0
#include "config/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "tests/unit/config/cm.h"

static const struct pk_yaml_source source = {.name = "t", .dir = "/d"};

// One parse: its arena lives until done().
struct run {
	struct pk_arena *arena;
	struct pk_problems problems;
	struct pk_yaml_node *root;
	int rc;
};

static struct run parse_n(const char *text, size_t n)
{
	struct run r = {.arena = pk_arena_create(0)};

	assert_non_null(r.arena);
	r.rc = pk_yaml_parse(r.arena, text, n, &source, &r.root, &r.problems);
	return r;
}

static struct run parse(const char *text)
{
	return parse_n(text, strlen(text));
}

static void done(struct run *r)
{
	pk_arena_destroy(r->arena);
	pk_problems_finish(&r->problems);
}

// Refused with one problem at that place that contains the words.
static void refused(const char *text, size_t n, int line, int column, const char *words)
{
	struct run r = parse_n(text, n);

	assert_int_equal(r.rc, -EINVAL);
	assert_int_equal(r.problems.n, 1);
	if (!strstr(r.problems.items[0].text, words))
		fail_msg("expected `%s` in `%s`", words, r.problems.items[0].text);
	assert_int_equal(r.problems.items[0].line, line);
	assert_int_equal(r.problems.items[0].column, column);
	done(&r);
}

static void test_tree(void **state)
{
	struct run r = parse("# comment\na: 1\nb:\n  - x\n  - {c: \"q\"}\nd:\n");

	assert_int_equal(r.rc, 0);
	assert_int_equal(r.root->kind, PK_YAML_MAP);
	assert_int_equal(r.root->n, 3);
	const struct pk_yaml_node *a = pk_yaml_get(r.root, "a");
	assert_string_equal(a->text, "1");
	assert_true(a->plain);
	assert_int_equal(a->line, 2);
	assert_int_equal(a->column, 4);
	assert_int_equal(a->key_column, 1);
	const struct pk_yaml_node *b = pk_yaml_get(r.root, "b");
	assert_int_equal(b->kind, PK_YAML_LIST);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->first->line, 4);
	assert_int_equal(b->first->column, 5);
	const struct pk_yaml_node *c = pk_yaml_get(b->first->next, "c");
	assert_string_equal(c->text, "q");
	assert_false(c->plain);
	assert_true(pk_yaml_is_null(pk_yaml_get(r.root, "d")));
	assert_null(pk_yaml_get(r.root, "e"));
	assert_null(pk_yaml_get(a, "e"));
	assert_null(pk_yaml_get(NULL, "e"));
	done(&r);
}

static void test_empty_documents(void **state)
{
	static const char *const texts[] = {"", "\n", "# only a comment\n", "\xef\xbb\xbf# mark\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct run r = parse(texts[i]);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.root->kind, PK_YAML_MAP);
		assert_int_equal(r.root->n, 0);
		done(&r);
	}
}

static void test_columns_count_characters(void **state)
{
	struct run r = parse("{größe: &x 1}");

	assert_int_equal(r.problems.n, 1);
	assert_int_equal(r.problems.items[0].column, 9);
	done(&r);
}

static void test_several_at_once(void **state)
{
	struct run r = parse("a: &x 1\nb: *x\nc: !t 2\na: 3\n");

	assert_int_equal(r.rc, -EINVAL);
	assert_int_equal(r.problems.n, 4);
	assert_non_null(r.root); // the rest can still be looked at
	assert_int_equal(pk_yaml_get(r.root, "b")->kind, PK_YAML_BAD);
	done(&r);
}

static void test_bytes(void **state)
{
	refused("a: 1\nb: \xff\n", 9, 2, 4, "not UTF-8: byte 0xff");
	refused("a: \xc3\x28\n", 6, 1, 4, "not UTF-8: byte 0xc3");
	refused("a: \xed\xa0\x80\n", 7, 1, 4, "not UTF-8");
	refused("a: b\0c\n", 7, 1, 5, "control character U+0000");
	refused("a: \x1b[2J\n", 8, 1, 4, "control character U+001B");
	refused("a: \xc2\x85\n", 6, 1, 4, "control character U+0085");
	refused("\xff\xfe"
		"a\0:\0",
		6, 1, 1, "not UTF-8"); // UTF-16 is not taken either
	refused("\xfe\xff\0a\0:", 6, 1, 1, "not UTF-8");
	refused("a: \"\\uFFFE\"\n", 12, 1, 4, "control character U+FFFE");
	refused("a: \"\\u2028\"\n", 12, 1, 4, "control character U+2028");
}

// Each level holds ten of the one below: 10^9 values if aliases were followed.
static void test_billion_laughs(void **state)
{
	struct pk_buf text;

	pk_buf_init(&text, 65536);
	pk_buf_str(&text, "a0: &a0 lol\n");
	for (int i = 1; i < 10; i++) {
		pk_buf_printf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			pk_buf_printf(&text, "%s*a%d", j ? "," : "", i - 1);
		pk_buf_str(&text, "]\n");
	}
	struct run r = parse_n(text.data, text.len);
	assert_int_equal(r.rc, -EINVAL);
	assert_int_equal(r.problems.n, PK_PROBLEMS_MAX);
	assert_true(pk_arena_used(r.arena) < 1024 * 1024);
	done(&r);
	pk_buf_finish(&text);
}

static void repeat(struct pk_buf *text, const char *s, size_t n)
{
	pk_buf_init(text, PK_YAML_MAX_BYTES * 2);
	for (size_t i = 0; i < n; i++)
		pk_buf_str(text, s);
	assert_int_equal(pk_buf_error(text), 0);
}

static void test_depth(void **state)
{
	struct pk_buf text;

	repeat(&text, "[", PK_YAML_MAX_DEPTH);
	for (size_t i = 0; i < PK_YAML_MAX_DEPTH; i++)
		pk_buf_str(&text, "]");
	struct run r = parse_n(text.data, text.len);
	assert_int_equal(r.rc, 0);
	done(&r);
	pk_buf_finish(&text);

	repeat(&text, "[", PK_YAML_MAX_DEPTH + 1);
	refused(text.data, text.len, 1, PK_YAML_MAX_DEPTH + 1, "nested more than 32 deep");
	pk_buf_finish(&text);

	repeat(&text, "- ", 100000);
	refused(text.data, text.len, 1, 2 * PK_YAML_MAX_DEPTH + 1, "nested more than 32 deep");
	pk_buf_finish(&text);
}

static void test_too_many_values(void **state)
{
	struct pk_buf text;

	repeat(&text, "- a\n", PK_YAML_MAX_NODES + 10);
	refused(text.data, text.len, PK_YAML_MAX_NODES, 3, "more than 100000 values");
	pk_buf_finish(&text);
}

static void test_too_large(void **state)
{
	struct pk_buf text;

	repeat(&text, "#", PK_YAML_MAX_BYTES);
	struct run r = parse_n(text.data, text.len);
	assert_int_equal(r.rc, 0);
	done(&r);
	pk_buf_str(&text, "#");
	refused(text.data, text.len, 0, 0, "larger than 1048576 bytes");
	pk_buf_finish(&text);
}

// Inputs that make careless readers quadratic end within seconds (also under sanitizers).
static void test_time(void **state)
{
	static const char *const pieces[] = {"a: 1\n", "[", "{", "? ", "- ", "{a,", "'", "\"\\",
		"!", "&a ", "*a ", "a", "a ", "\n", "# ", "|\n", "%", ":", "[a: ", "? a\n", "--- ",
		"!!a ", "{a: ", "\t"};
	struct pk_buf text;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct timespec from, to;
		repeat(&text, pieces[i], PK_YAML_MAX_BYTES / strlen(pieces[i]));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		struct run r = parse_n(text.data, text.len);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		assert_true(r.rc == 0 || r.rc == -EINVAL);
		if (to.tv_sec - from.tv_sec > 20)
			fail_msg("`%s` took %ld s", pieces[i], (long)(to.tv_sec - from.tv_sec));
		done(&r);
		pk_buf_finish(&text);
	}
}

static void test_huge_key(void **state)
{
	struct pk_buf text;

	repeat(&text, "k", 500000);
	pk_buf_str(&text, ": 1\n");
	struct run r = parse_n(text.data, text.len); // libyaml ends plain keys at 1024 characters
	assert_int_equal(r.rc, -EINVAL);
	assert_true(strlen(r.problems.items[0].text) < 400);
	done(&r);
	pk_buf_finish(&text);

	pk_buf_init(&text, PK_YAML_MAX_BYTES);
	pk_buf_str(&text, "? ");
	for (int i = 0; i < 500000; i++)
		pk_buf_str(&text, "k");
	pk_buf_str(&text, "\n: 1\n");
	r = parse_n(text.data, text.len);
	assert_int_equal(r.rc, 0);
	assert_int_equal(strlen(r.root->first->key), 500000);
	done(&r);
	pk_buf_finish(&text);
}

static void test_small_arena(void **state)
{
	struct pk_arena *arena = pk_arena_create(1024);
	struct pk_problems problems = {0};
	struct pk_yaml_node *root;
	const char *text = "[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t]";

	assert_int_equal(
		pk_yaml_parse(arena, text, strlen(text), &source, &root, &problems), -ENOMEM);
	pk_problems_finish(&problems);
	pk_arena_destroy(arena);
}

static void test_merge(void **state)
{
	struct run a = parse("m: {x: 1, y: 2}\nl: [1, 2]\ns: a\nkeep: {k: 1}\n");
	struct run b = parse("m: {y: 3, z: 4}\nl: [9]\ns: b\nkeep:\nnew: 1\n");

	pk_yaml_merge(a.root, b.root);
	const struct pk_yaml_node *m = pk_yaml_get(a.root, "m");
	assert_string_equal(pk_yaml_get(m, "x")->text, "1");
	assert_string_equal(pk_yaml_get(m, "y")->text, "3");
	assert_string_equal(pk_yaml_get(m, "z")->text, "4");
	assert_int_equal(m->n, 3);
	assert_int_equal(pk_yaml_get(a.root, "l")->n, 1);
	assert_string_equal(pk_yaml_get(a.root, "s")->text, "b");
	assert_int_equal(pk_yaml_get(a.root, "keep")->n, 1);
	assert_string_equal(pk_yaml_get(a.root, "new")->text, "1");
	assert_int_equal(a.root->n, 5);
	done(&a);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_empty_documents),
		cmocka_unit_test(test_columns_count_characters),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_billion_laughs),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_too_many_values),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_huge_key),
		cmocka_unit_test(test_small_arena),
		cmocka_unit_test(test_merge),
	};
	return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
