// SPDX-License-Identifier: Apache-2.0
// Decodes a YAML tree into a struct by a schema table; finds every mistake, not only the first.
#include "config/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_value.h"
#include "config/words.h"

struct decode {
	struct pk_problems *problems;
	size_t n_found;
	bool no_memory;
	char path[256]; // "cameras.belt-a.source": where we are, for messages
};

#define FOUND(d, node, ...)                                                                        \
	do {                                                                                       \
		(d)->n_found++;                                                                    \
		pk_yaml_problem((d)->problems, node, __VA_ARGS__);                                 \
		(node)->kind = PK_YAML_BAD;                                                        \
	} while (0)
#define FOUND_KEY(d, node, ...)                                                                    \
	do {                                                                                       \
		(d)->n_found++;                                                                    \
		pk_yaml_key_problem((d)->problems, node, __VA_ARGS__);                             \
	} while (0)

static void decode_map(
	struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *map, void *obj);
static int init(const struct pk_schema *schema, void *obj);

static void *at(void *obj, size_t offset)
{
	return offset == PK_SCHEMA_NOWHERE ? NULL : (char *)obj + offset;
}

static size_t enter(struct decode *d, const char *key)
{
	size_t before = strlen(d->path);

	snprintf(d->path + before, sizeof(d->path) - before, "%s%s", before ? "." : "", key);
	return before;
}

static void leave(struct decode *d, size_t before)
{
	d->path[before] = '\0';
}

int64_t pk_schema_int_at(const void *obj, size_t offset, size_t size)
{
	const char *p = (const char *)obj + offset;
	int narrow;
	int64_t wide;

	if (size == sizeof(bool))
		return *(const bool *)p;
	if (size == sizeof(int)) {
		memcpy(&narrow, p, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, p, sizeof(wide));
	return wide;
}

const struct pk_schema_row *pk_schema_find(const struct pk_schema *schema, const char *key,
	uint32_t when, const struct pk_schema_row **other)
{
	*other = NULL;
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (strcmp(row->key, key) != 0)
			continue;
		if (pk_schema_applies(row, when))
			return row;
		*other = row;
	}
	return NULL;
}

static const struct pk_schema_row *kind_row(const struct pk_schema *schema)
{
	const struct pk_schema_row *other;
	return schema->kind_key ? pk_schema_find(schema, schema->kind_key, ~0u, &other) : NULL;
}

uint32_t pk_schema_when(const struct pk_schema *schema, const void *obj)
{
	const struct pk_schema_row *row = kind_row(schema);

	if (!row || row->offset == PK_SCHEMA_NOWHERE)
		return ~0u;
	return PK_SCHEMA_BIT(pk_schema_int_at(obj, row->offset, row->size));
}

bool pk_schema_is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	return n >= 1 && n <= 63 && s[n] == '\0' && *s != '_' && *s != '-';
}

int pk_schema_verify_name(const char *text, struct pk_err *err)
{
	if (pk_schema_is_name(text))
		return 0;
	return pk_fail(err, -EINVAL,
		"must be a name: a-z, 0-9, _ and - only, first a letter or digit, at most 63");
}

int pk_schema_verify_filled(const char *text, struct pk_err *err)
{
	return *text ? 0 : pk_fail(err, -EINVAL, "must not be empty");
}

// Defaults

static int init_list(const struct pk_schema_row *row, void *obj)
{
	char text[128];
	char *items[8], *save = NULL;
	size_t n = 0;

	assert(row->def[0] == '[' && strlen(row->def) < sizeof(text));
	memcpy(text, row->def + 1, strlen(row->def));
	for (char *p = strtok_r(text, ", ]", &save); p; p = strtok_r(NULL, ", ]", &save)) {
		assert(n < PK_ARRAY_LEN(items));
		items[n++] = p;
	}
	char *array = at(obj, row->offset);
	if (!row->in_place) {
		array = calloc(n + 1, row->size);
		if (!array)
			return -ENOMEM;
		*(char **)at(obj, row->offset) = array;
	}
	if (row->count_offset != PK_SCHEMA_NOWHERE)
		*(size_t *)at(obj, row->count_offset) = n;
	for (size_t i = 0; i < n; i++) {
		int rc = pk_schema_value_set(
			row, row->item, items[i], true, "", array + i * row->size, NULL);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int init_scalar(const struct pk_schema_row *row, void *obj)
{
	char **s = at(obj, row->offset);

	if (row->def)
		return pk_schema_value_set(row, row->kind, row->def, true, "", s, NULL);
	if (s && pk_schema_value_owned(row->kind) && !*s) {
		*s = strdup("");
		return *s ? 0 : -ENOMEM;
	}
	if (s && row->unset_value != 0)
		memcpy(s, &row->unset_value, sizeof(double));
	return 0;
}

static int init_row(const struct pk_schema_row *row, void *obj)
{
	switch (row->kind) {
	case PK_SCHEMA_LIST:
		return row->def ? init_list(row, obj) : 0;
	case PK_SCHEMA_MAP:
		return init(row->child, at(obj, row->offset));
	case PK_SCHEMA_MAPS:
		return row->in_place ? init(row->child, at(obj, row->offset)) : 0;
	case PK_SCHEMA_TABLE:
	case PK_SCHEMA_ANY:
		return 0;
	default:
		return init_scalar(row, obj);
	}
}

static int init(const struct pk_schema *schema, void *obj)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		int rc = init_row(row, obj);
		assert(rc == 0 || rc == -ENOMEM); // else the table is wrong
		if (rc < 0)
			return rc;
	}
	return 0;
}

// Values

static const char *const kind_words[PK_SCHEMA_KIND_COUNT] = {
	[PK_SCHEMA_STRING] = "text",
	[PK_SCHEMA_PATH] = "a path",
	[PK_SCHEMA_BOOL] = "true or false",
	[PK_SCHEMA_INT] = "a whole number",
	[PK_SCHEMA_FLOAT] = "a number",
	[PK_SCHEMA_ENUM] = "one word",
	[PK_SCHEMA_DURATION] = "a duration",
	[PK_SCHEMA_BYTES] = "a size",
	[PK_SCHEMA_RATE] = "a rate",
	[PK_SCHEMA_LIST] = "a list ([a, b])",
	[PK_SCHEMA_MAP] = "a map (key: value)",
	[PK_SCHEMA_TABLE] = "a map of names (name: {key: value})",
	[PK_SCHEMA_MAPS] = "a list of maps (- key: value)",
};

// Does the node have the shape that the kind wants? Notes a problem when not.
static bool shaped(struct decode *d, const char *key, enum pk_schema_kind kind,
	struct pk_yaml_node *node, enum pk_yaml_kind want)
{
	if (node->kind == PK_YAML_BAD)
		return false;
	if (node->kind == want && !pk_yaml_is_null(node))
		return true;
	if (pk_yaml_is_null(node))
		FOUND(d, node, "`%s`: has no value; expected %s", key, kind_words[kind]);
	else
		FOUND(d, node, "`%s`: expected %s, found %s", key, kind_words[kind],
			pk_yaml_kind_name(node));
	return false;
}

static void decode_scalar(struct decode *d, const struct pk_schema_row *row,
	enum pk_schema_kind kind, struct pk_yaml_node *node, void *to)
{
	struct pk_err err = {0};

	if (!shaped(d, row->key, kind, node, PK_YAML_SCALAR))
		return;
	int rc = pk_schema_value_set(
		row, kind, node->text, node->plain, node->source->dir, to, &err);
	if (rc == -ENOMEM)
		d->no_memory = true;
	else if (rc < 0)
		FOUND(d, node, "`%s`: %s", row->key, pk_err_text(&err, rc));
}

// "exactly 3", "1 to 8", "at least 1"
static bool counted(struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node)
{
	char want[64];

	if (node->n >= row->min_items && (row->max_items == 0 || node->n <= row->max_items))
		return true;
	if (row->min_items == row->max_items)
		snprintf(want, sizeof(want), "exactly %zu", row->max_items);
	else if (row->max_items == 0)
		snprintf(want, sizeof(want), "at least %zu", row->min_items);
	else
		snprintf(want, sizeof(want), "%zu to %zu", row->min_items, row->max_items);
	FOUND(d, node, "`%s`: expected %s entries, found %zu", row->key, want, node->n);
	return false;
}

static void free_list(const struct pk_schema_row *row, void *obj)
{
	char **array = at(obj, row->offset);
	size_t *n = at(obj, row->count_offset);

	for (size_t i = 0; pk_schema_value_owned(row->item) && i < *n; i++)
		free(((char **)*array)[i]);
	free(*array);
	*array = NULL;
	*n = 0;
}

static void decode_list(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node, void *obj)
{
	char *array = at(obj, row->offset);
	size_t i = 0;

	if (!shaped(d, row->key, row->kind, node, PK_YAML_LIST) || !counted(d, row, node))
		return;
	if (!row->in_place) {
		free_list(row, obj);
		array = calloc(node->n + 1, row->size);
		if (!array) {
			d->no_memory = true;
			return;
		}
		*(char **)at(obj, row->offset) = array;
	}
	if (row->count_offset != PK_SCHEMA_NOWHERE)
		*(size_t *)at(obj, row->count_offset) = node->n;
	for (struct pk_yaml_node *item = node->first; item; item = item->next, i++)
		decode_scalar(d, row, row->item, item, array + i * row->size);
}

static void decode_child(struct decode *d, const struct pk_schema_row *row, const char *key,
	struct pk_yaml_node *node, void *obj)
{
	size_t before = enter(d, key);

	// A key with nothing under it is an empty map: what is left when all is commented out.
	if (pk_yaml_is_null(node) || shaped(d, key, PK_SCHEMA_MAP, node, PK_YAML_MAP))
		decode_map(d, row->child, node, obj);
	leave(d, before);
}

// A new element of a TABLE or of MAPS, with its defaults; NULL: no memory.
static void *add_child(struct decode *d, const struct pk_schema_row *row, void *obj)
{
	size_t *n = at(obj, row->count_offset);
	char *child = *(char **)at(obj, row->offset) + *n * row->child->size;

	++*n;
	if (init(row->child, child) == 0)
		return child;
	d->no_memory = true;
	return NULL;
}

static bool make_children(struct decode *d, const struct pk_schema_row *row, size_t n, void *obj)
{
	void *array = calloc(n + 1, row->child->size);

	if (!array)
		d->no_memory = true;
	*(void **)at(obj, row->offset) = array;
	return array != NULL;
}

static bool is_good_name(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node)
{
	struct pk_err err = {0};

	if (row->verify) {
		if (row->verify(node->key, &err) == 0)
			return true;
		FOUND_KEY(d, node, "`%s` %s", pk_words_quote(node->key).text, err.text);
		return false;
	}
	if (pk_schema_is_name(node->key))
		return true;
	FOUND_KEY(d, node,
		"`%s` is no name: a-z, 0-9, _ and - only, first a letter or digit, at most 63",
		pk_words_quote(node->key).text);
	return false;
}

static void decode_named(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node, void *obj)
{
	if (!is_good_name(d, row, node))
		return;
	char *child = add_child(d, row, obj);
	char *name = child ? strdup(node->key) : NULL;
	if (!name) {
		d->no_memory = true;
		return;
	}
	*(char **)(child + row->child->name_offset) = name;
	decode_child(d, row, node->key, node, child);
}

static void decode_table(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node, void *obj)
{
	if (pk_yaml_is_null(node))
		return;
	if (!shaped(d, row->key, row->kind, node, PK_YAML_MAP) || !counted(d, row, node) ||
		!make_children(d, row, node->n, obj))
		return;
	for (struct pk_yaml_node *item = node->first; item; item = item->next)
		if (item->kind != PK_YAML_BAD)
			decode_named(d, row, item, obj);
}

static void decode_maps(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node, void *obj)
{
	if (!shaped(d, row->key, row->kind, node, PK_YAML_LIST) || !counted(d, row, node))
		return;
	if (!row->in_place && !make_children(d, row, node->n, obj))
		return;
	for (struct pk_yaml_node *item = node->first; item; item = item->next) {
		void *child = row->in_place ? at(obj, row->offset) : add_child(d, row, obj);
		if (child)
			decode_child(d, row, row->key, item, child);
	}
}

static void decode_row(
	struct decode *d, const struct pk_schema_row *row, struct pk_yaml_node *node, void *obj)
{
	size_t before = strlen(d->path);

	switch (row->kind) {
	case PK_SCHEMA_LIST:
		decode_list(d, row, node, obj);
		break;
	case PK_SCHEMA_MAP:
		decode_child(d, row, row->key, node, at(obj, row->offset));
		break;
	case PK_SCHEMA_TABLE:
		enter(d, row->key);
		decode_table(d, row, node, obj);
		leave(d, before);
		break;
	case PK_SCHEMA_MAPS:
		decode_maps(d, row, node, obj);
		break;
	case PK_SCHEMA_ANY:
		break;
	default:
		decode_scalar(d, row, row->kind, node, at(obj, row->offset));
		break;
	}
}

// Keys

// Every kind that any row of the key applies to.
static uint32_t kinds_of(const struct pk_schema *schema, const char *key)
{
	uint32_t when = 0;

	for (const struct pk_schema_row *row = schema->rows; row->key; row++)
		if (strcmp(row->key, key) == 0)
			when |= row->when;
	return when;
}

static void note_misplaced(
	struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *node, uint32_t when)
{
	uint32_t wanted = kinds_of(schema, node->key);
	char only[128] = "";
	const char *now = "";
	size_t n = 0;

	for (const struct pk_schema_name *name = kind_row(schema)->names; name->name; name++) {
		if (PK_SCHEMA_BIT(name->value) == when)
			now = name->name;
		if (wanted & PK_SCHEMA_BIT(name->value))
			n += (size_t)snprintf(
				only + n, sizeof(only) - n, "%s%s", n ? ", " : "", name->name);
		assert(n < sizeof(only));
	}
	FOUND_KEY(d, node, "`%s` does not apply to %s `%s` (only to: %s)", node->key,
		schema->kind_key, now, only);
}

static bool seen_before(
	const struct pk_schema *schema, const struct pk_schema_row *row, uint32_t when)
{
	for (const struct pk_schema_row *r = schema->rows; r < row; r++)
		if (pk_schema_applies(r, when) && strcmp(r->key, row->key) == 0)
			return true;
	return false;
}

// Answers with the bit of the row that was probably meant, or 0.
static uint64_t note_unknown(
	struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *node, uint32_t when)
{
	struct pk_words_quote key = pk_words_quote(node->key);
	struct pk_words_best best;
	char known[512] = "";
	const char *meant = NULL;
	uint64_t bit = 0;
	size_t n = 0;

	if (d->problems->n_dropped > 0) { // the text would not be kept
		FOUND_KEY(d, node, "unknown key");
		return 0;
	}
	pk_words_best_init(&best, node->key);
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (!pk_schema_applies(row, when) || seen_before(schema, row, when))
			continue;
		pk_words_best_try(&best, row->key);
		if (best.best != meant)
			bit = UINT64_C(1) << (row - schema->rows);
		meant = best.best;
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", n ? ", " : "", row->key);
		assert(n < sizeof(known));
	}
	if (meant)
		FOUND_KEY(d, node, "unknown key `%s`; did you mean `%s`?", key.text, meant);
	else
		FOUND_KEY(d, node, "unknown key `%s`; known here: %s", key.text, known);
	return bit;
}

// meant: bits of rows whose keys were misspelt, which is one mistake and not two.
static void note_missing(struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *map,
	uint32_t when, uint64_t meant)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (!row->required || !pk_schema_applies(row, when) || pk_yaml_get(map, row->key))
			continue;
		if (when == ~0u && row->when != 0) // cannot know without the kind
			continue;
		if (meant & (UINT64_C(1) << (row - schema->rows)))
			continue;
		if (*d->path)
			FOUND_KEY(d, map, "missing required key `%s` in `%s`", row->key, d->path);
		else
			FOUND_KEY(d, map, "missing required key `%s`", row->key);
	}
}

// Decodes the key that says which others apply, and answers with its bit.
static uint32_t decode_kind(
	struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *map, void *obj)
{
	const struct pk_schema_row *row = kind_row(schema);
	struct pk_yaml_node *node = row ? pk_yaml_get(map, row->key) : NULL;
	size_t before = d->n_found;
	int value = 0;

	if (!row || (!node && row->required))
		return ~0u;
	if (!node)
		return row->offset == PK_SCHEMA_NOWHERE ? ~0u : pk_schema_when(schema, obj);
	if (row->offset != PK_SCHEMA_NOWHERE) {
		decode_row(d, row, node, obj);
		return d->n_found == before ? pk_schema_when(schema, obj) : ~0u;
	}
	struct pk_schema_row here = *row;
	here.size = sizeof(value);
	decode_scalar(d, &here, here.kind, node, &value);
	return d->n_found == before ? PK_SCHEMA_BIT(value) : ~0u;
}

// Without its kind, which of several rows of one key is meant cannot be told.
static bool is_ambiguous(
	const struct pk_schema *schema, const struct pk_schema_row *row, uint32_t when)
{
	for (const struct pk_schema_row *r = schema->rows; when == ~0u && r->key; r++)
		if (r != row && strcmp(r->key, row->key) == 0)
			return true;
	return false;
}

// Kinds may share a key and its member but not its default: the one that applies is set.
static void choose_defaults(const struct pk_schema *schema, uint32_t when, void *obj)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		bool chosen = row->when != 0 && pk_schema_applies(row, when) && row->def;
		if (!chosen || row->kind == PK_SCHEMA_LIST || pk_schema_value_owned(row->kind))
			continue;
		int rc = init_scalar(row, obj);
		assert(rc == 0); // else the table is wrong
		(void)rc;
	}
}

static void decode_map(
	struct decode *d, const struct pk_schema *schema, struct pk_yaml_node *map, void *obj)
{
	uint32_t when = decode_kind(d, schema, map, obj);
	uint64_t meant = 0;

	if (when != ~0u)
		choose_defaults(schema, when, obj);
	for (struct pk_yaml_node *node = map->first; node; node = node->next) {
		const struct pk_schema_row *other;
		const struct pk_schema_row *row = pk_schema_find(schema, node->key, when, &other);
		if (node->kind == PK_YAML_BAD || strncmp(node->key, "x-", 2) == 0)
			continue;
		if (!row && other)
			note_misplaced(d, schema, node, when);
		else if (!row)
			meant |= note_unknown(d, schema, node, when);
		else if (row != kind_row(schema) && !is_ambiguous(schema, row, when))
			decode_row(d, row, node, obj);
	}
	note_missing(d, schema, map, when, meant);
}

int pk_schema_decode(const struct pk_schema *schema, struct pk_yaml_node *root, void *obj,
	struct pk_problems *problems)
{
	struct decode d = {.problems = problems};

	if (init(schema, obj) < 0)
		return -ENOMEM;
	if (root->kind == PK_YAML_MAP || pk_yaml_is_null(root))
		decode_map(&d, schema, root, obj);
	else
		FOUND(&d, root, "expected %s at the top, found %s", kind_words[PK_SCHEMA_MAP],
			pk_yaml_kind_name(root));
	if (d.no_memory)
		return -ENOMEM;
	return d.n_found > 0 ? -EINVAL : 0;
}
