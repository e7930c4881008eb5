// SPDX-License-Identifier: Apache-2.0
// The engine with a table of its own, and the soundness of the real tables.
#include "config/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/card_table.h"
#include "config/config_table.h"
#include "config/schema_value.h"
#include "tests/unit/config/cm.h"

struct leaf {
	char *name;
	int kind;
	char *text;
	int64_t number;
};

struct thing {
	char *text;
	bool flag;
	int small;
	int64_t large;
	double real;
	double rate;
	int64_t ns;
	int64_t bytes;
	char **words;
	size_t n_words;
	int ints[4];
	size_t n_ints;
	double fixed[2];
	double maybe;
	struct leaf inner;
	struct leaf *leaves;
	size_t n_leaves;
	struct leaf *maps;
	size_t n_maps;
};

enum { RED, BLUE };
static const struct pk_schema_name colours[] = {{"red", RED, "r"}, {"blue", BLUE, "b"}, {NULL}};

static const struct pk_schema_row leaf_rows[] = {
	{.key = "kind",
		.kind = PK_SCHEMA_ENUM,
		.names = colours,
		.def = "red",
		PK_SCHEMA_AT(struct leaf, kind)},
	{.key = "text",
		.kind = PK_SCHEMA_STRING,
		.when = PK_SCHEMA_BIT(RED),
		PK_SCHEMA_AT(struct leaf, text)},
	{.key = "text",
		.kind = PK_SCHEMA_STRING,
		.when = PK_SCHEMA_BIT(BLUE),
		.required = true,
		PK_SCHEMA_AT(struct leaf, text)},
	{.key = "number",
		.kind = PK_SCHEMA_INT,
		.when = PK_SCHEMA_BIT(BLUE),
		.def = "7",
		PK_SCHEMA_AT(struct leaf, number)},
	{NULL},
};
static const struct pk_schema leaf_schema = {.noun = "leaf",
	.rows = leaf_rows,
	.size = sizeof(struct leaf),
	.kind_key = "kind",
	.name_offset = offsetof(struct leaf, name)};

static const struct pk_schema_row thing_rows[] = {
	{.key = "text", .kind = PK_SCHEMA_STRING, .max = "5", PK_SCHEMA_AT(struct thing, text)},
	{.key = "flag", .kind = PK_SCHEMA_BOOL, PK_SCHEMA_AT(struct thing, flag)},
	{.key = "small", .kind = PK_SCHEMA_INT, PK_SCHEMA_AT(struct thing, small)},
	{.key = "large", .kind = PK_SCHEMA_INT, .def = "-5", PK_SCHEMA_AT(struct thing, large)},
	{.key = "real", .kind = PK_SCHEMA_FLOAT, .min = "0", PK_SCHEMA_AT(struct thing, real)},
	{.key = "rate", .kind = PK_SCHEMA_RATE, .def = "2/s", PK_SCHEMA_AT(struct thing, rate)},
	{.key = "ns", .kind = PK_SCHEMA_DURATION, .def = "3s", PK_SCHEMA_AT(struct thing, ns)},
	{.key = "bytes", .kind = PK_SCHEMA_BYTES, .max = "1MiB", PK_SCHEMA_AT(struct thing, bytes)},
	{.key = "words",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_STRING,
		.def = "[a, b]",
		PK_SCHEMA_ARRAY(struct thing, words, n_words)},
	{.key = "ints",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_INT,
		.in_place = true,
		.max_items = 4,
		PK_SCHEMA_ARRAY(struct thing, ints, n_ints)},
	{.key = "fixed",
		.kind = PK_SCHEMA_LIST,
		.item = PK_SCHEMA_FLOAT,
		.in_place = true,
		.min_items = 2,
		.max_items = 2,
		.offset = offsetof(struct thing, fixed),
		.size = sizeof(double),
		.count_offset = PK_SCHEMA_NOWHERE,
		.def = "[1, 2]"},
	{.key = "maybe",
		.kind = PK_SCHEMA_FLOAT,
		.unset_value = -1,
		PK_SCHEMA_AT(struct thing, maybe)},
	{.key = "inner",
		.kind = PK_SCHEMA_MAP,
		.child = &leaf_schema,
		PK_SCHEMA_AT(struct thing, inner)},
	{.key = "leaves",
		.kind = PK_SCHEMA_TABLE,
		.child = &leaf_schema,
		PK_SCHEMA_ARRAY(struct thing, leaves, n_leaves)},
	{.key = "maps",
		.kind = PK_SCHEMA_MAPS,
		.child = &leaf_schema,
		PK_SCHEMA_ARRAY(struct thing, maps, n_maps)},
	{.key = "any", .kind = PK_SCHEMA_ANY, PK_SCHEMA_NOT_STORED},
	{NULL},
};
static const struct pk_schema thing_schema = {
	.noun = "thing", .rows = thing_rows, .size = sizeof(struct thing)};

static int decode(const char *text, struct thing *thing, struct pk_problems *problems)
{
	static const struct pk_yaml_source source = {.name = "t", .dir = "/d"};
	pk_auto(pk_arena) arena = pk_arena_create(0);
	struct pk_yaml_node *root;

	memset(thing, 0, sizeof(*thing));
	assert_int_equal(pk_yaml_parse(arena, text, strlen(text), &source, &root, problems), 0);
	return pk_schema_decode(&thing_schema, root, thing, problems);
}

static void decode_ok(const char *text, struct thing *thing)
{
	struct pk_problems problems = {0};
	int rc = decode(text, thing, &problems);

	if (rc < 0)
		fail_msg("%s", problems.n ? problems.items[0].text : "?");
	pk_problems_finish(&problems);
}

static void test_defaults(void **state)
{
	struct thing t;

	decode_ok("", &t);
	assert_string_equal(t.text, "");
	assert_false(t.flag);
	assert_int_equal(t.large, -5);
	assert_true(t.rate == 2 && t.maybe == -1 && t.fixed[0] == 1 && t.fixed[1] == 2);
	assert_int_equal(t.ns, INT64_C(3000000000));
	assert_int_equal(t.n_words, 2);
	assert_string_equal(t.words[1], "b");
	assert_int_equal(t.n_ints, 0);
	assert_int_equal(t.n_leaves, 0);
	assert_string_equal(t.inner.text, "");
	assert_int_equal(t.inner.number, 7);
	pk_schema_free(&thing_schema, &t);
	assert_null(t.text);
	assert_null(t.words);
}

static const char full[] =
	"text: \"a\\\"b\\\\\"\nflag: true\nsmall: -3\nlarge: 9007199254740993\nreal: 0.1\n"
	"rate: 30/m\nns: 5ms\nbytes: 3KiB\nwords: [x, 'y z', \"line\\n\"]\nints: [1, 2]\n"
	"fixed: [0.5, 0.25]\nmaybe: 0.5\ninner: {kind: blue, text: t, number: 3}\n"
	"leaves:\n  b: {}\n  a: {kind: blue, text: größe}\n"
	"maps: [{text: one}, {kind: blue, text: two}]\nany: {thing: [goes, {x: y}]}\nx-note: 1\n";

static void test_full(void **state)
{
	struct thing t;

	decode_ok(full, &t);
	assert_string_equal(t.text, "a\"b\\");
	assert_true(t.flag && t.real == 0.1 && t.rate == 0.5 && t.maybe == 0.5);
	assert_int_equal(t.small, -3);
	assert_int_equal(t.large, INT64_C(9007199254740993)); // exact beyond doubles
	assert_int_equal(t.n_words, 3);
	assert_string_equal(t.words[2], "line\n");
	assert_int_equal(t.inner.kind, BLUE);
	assert_int_equal(t.n_leaves, 2);
	assert_string_equal(t.leaves[0].name, "b"); // in order of the text
	assert_string_equal(t.leaves[1].text, "größe");
	assert_int_equal(t.n_maps, 2);
	assert_string_equal(t.maps[1].text, "two");
	pk_schema_free(&thing_schema, &t);
}

static void test_dump_round_trip(void **state)
{
	static const char *const texts[] = {full, "", "leaves: {a: {kind: blue, text: \"\"}}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct thing a, b;
		pk_auto_buf struct pk_buf out;
		pk_buf_init(&out, 65536);
		decode_ok(texts[i], &a);
		pk_schema_dump(&thing_schema, &a, &out);
		decode_ok(pk_buf_cstr(&out), &b);
		assert_true(pk_schema_equal(&thing_schema, &a, &b));
		pk_schema_free(&thing_schema, &a);
		pk_schema_free(&thing_schema, &b);
	}
}

// Each change of one value is seen; what does not apply is not looked at.
static void test_equal(void **state)
{
	static const char *const others[] = {"text: x", "flag: true", "small: 1", "large: 1",
		"real: 1", "rate: 1/s", "ns: 1s", "bytes: 1B", "words: [a]", "words: [a, c]",
		"ints: [1]", "fixed: [1, 3]", "maybe: 1", "inner: {text: x}",
		"inner: {kind: blue, text: ''}", "leaves: {a: {}}", "maps: [{}]"};
	struct thing base;

	decode_ok("", &base);
	assert_true(pk_schema_equal(&thing_schema, &base, &base));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct thing t;
		decode_ok(others[i], &t);
		assert_false(pk_schema_equal(&thing_schema, &base, &t));
		assert_false(pk_schema_equal(&thing_schema, &t, &base));
		pk_schema_free(&thing_schema, &t);
	}
	struct thing same;
	decode_ok("flag: false\nns: 3000ms\nwords: ['a', \"b\"]", &same);
	same.inner.number = 99; // of kind red: does not count
	assert_true(pk_schema_equal(&thing_schema, &base, &same));
	assert_true(pk_schema_key_equal(&thing_schema, "words", &base, &same));
	same.ns++;
	assert_false(pk_schema_key_equal(&thing_schema, "ns", &base, &same));
	pk_schema_free(&thing_schema, &same);
	pk_schema_free(&thing_schema, &base);
}

static void test_mistakes_leave_nothing_behind(void **state)
{
	struct pk_problems problems = {0};
	struct thing t;

	assert_int_equal(decode("words: [a, {}, [b]]\nleaves: {a: 1, B: {}, c: {kind: x}}\n"
				"maps: [1, {number: 3}]\ntext: toolong\nsmall: 2147483648\n",
				 &t, &problems),
		-EINVAL);
	assert_int_equal(problems.n, 9);
	pk_schema_free(&thing_schema, &t);
	pk_problems_finish(&problems);
}

// The real tables

static void check_text(const struct pk_schema_row *row, enum pk_schema_kind kind, const char *text)
{
	struct pk_schema_row bare = *row;
	struct pk_err err = {0};

	bare.min = bare.max = NULL;
	bare.verify = NULL;
	if (kind == PK_SCHEMA_STRING)
		kind = PK_SCHEMA_INT; // bounds of a length
	if (pk_schema_value_set(&bare, kind, text, true, "/", NULL, &err) < 0)
		fail_msg("%s: `%s`: %s", row->key, text, err.text);
}

static bool overlap(const struct pk_schema_row *a, const struct pk_schema_row *b)
{
	return strcmp(a->key, b->key) == 0 && (!a->when || !b->when || (a->when & b->when));
}

static void check_words(const struct pk_schema *schema, const struct pk_schema_row *row)
{
	if (!row->help || strlen(row->help) < 5)
		fail_msg("%s.%s has no help", schema->noun, row->key);
	// An optional scalar says in the reference what its absence means.
	if (!row->child && !row->required && !row->def && !row->unset)
		fail_msg("%s.%s: neither required nor default nor unset", schema->noun, row->key);
}

static void check_uniqueness(const struct pk_schema *schema, const struct pk_schema_row *row)
{
	if (row->when && !schema->kind_key)
		fail_msg("%s.%s: when without kind_key", schema->noun, row->key);
	for (const struct pk_schema_row *other = schema->rows; other < row; other++)
		if (overlap(other, row))
			fail_msg("%s.%s is there twice", schema->noun, row->key);
}

static void check_row(const struct pk_schema *schema, const struct pk_schema_row *row)
{
	enum pk_schema_kind kind = row->kind == PK_SCHEMA_LIST ? row->item : row->kind;
	bool nests = row->kind == PK_SCHEMA_MAP || row->kind == PK_SCHEMA_TABLE ||
		     row->kind == PK_SCHEMA_MAPS;

	check_words(schema, row);
	check_uniqueness(schema, row);
	if (row->min)
		check_text(row, kind, row->min);
	if (row->max)
		check_text(row, kind, row->max);
	assert_true(kind != PK_SCHEMA_ENUM || row->names);
	assert_true(kind != PK_SCHEMA_PATH || row->resolve);
	assert_true(!row->in_place || row->max_items > 0);
	assert_int_equal(nests, row->child != NULL);
}

static size_t check_schema(const struct pk_schema *schema)
{
	size_t n = 0;

	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		check_row(schema, row);
		n++;
		if (row->child)
			n += check_schema(row->child);
	}
	assert_true(n > 0 && n < 500);
	for (size_t i = 0; schema->rows[i].key; i++)
		assert_true(i < 64); // bits of a uint64_t
	return n;
}

static void test_tables_are_sound(void **state)
{
	assert_true(check_schema(&pk_config_schema) > 30);
	assert_true(check_schema(&pk_card_schema) > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_dump_round_trip),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_mistakes_leave_nothing_behind),
		cmocka_unit_test(test_tables_are_sound),
	};
	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
