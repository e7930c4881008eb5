// SPDX-License-Identifier: Apache-2.0
// What can be done with a decoded struct by its schema table: free, compare, dump.
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "config/schema_value.h"

// The elements of an array row: where they are and how many.
struct span {
	char *items;
	size_t n;
	size_t size;
};

static struct span span_of(const struct pk_schema_row *row, const void *obj)
{
	char *member = (char *)(uintptr_t)obj + row->offset;
	struct span s = {.size = row->kind == PK_SCHEMA_LIST ? row->size : row->child->size};

	s.items = row->in_place ? member : *(char **)member;
	if (row->count_offset != PK_SCHEMA_NOWHERE)
		s.n = *(const size_t *)((const char *)obj + row->count_offset);
	else
		s.n = row->kind == PK_SCHEMA_MAPS ? 1 : row->max_items;
	return s;
}

static bool is_array(const struct pk_schema_row *row)
{
	return row->kind == PK_SCHEMA_LIST || row->kind == PK_SCHEMA_TABLE ||
	       row->kind == PK_SCHEMA_MAPS;
}

static bool is_stored(const struct pk_schema_row *row)
{
	return row->kind == PK_SCHEMA_MAP || row->offset != PK_SCHEMA_NOWHERE;
}

static void free_items(const struct pk_schema_row *row, const struct span *s)
{
	for (size_t i = 0; i < s->n; i++) {
		char *item = s->items + i * s->size;
		if (row->kind != PK_SCHEMA_LIST)
			pk_schema_free(row->child, item);
		else if (pk_schema_value_owned(row->item))
			free(*(char **)item);
		if (row->kind == PK_SCHEMA_TABLE)
			free(*(char **)(item + row->child->name_offset));
	}
}

static void free_array(const struct pk_schema_row *row, void *obj)
{
	struct span s = span_of(row, obj);

	if (s.items)
		free_items(row, &s);
	if (row->in_place)
		return;
	free(s.items);
	*(char **)((char *)obj + row->offset) = NULL;
	if (row->count_offset != PK_SCHEMA_NOWHERE)
		*(size_t *)((char *)obj + row->count_offset) = 0;
}

void pk_schema_free(const struct pk_schema *schema, void *obj)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (!is_stored(row) || row->kind == PK_SCHEMA_ANY)
			continue;
		char **member = (char **)((char *)obj + row->offset);
		if (row->kind == PK_SCHEMA_MAP) {
			pk_schema_free(row->child, member);
		} else if (is_array(row)) {
			free_array(row, obj);
		} else if (pk_schema_value_owned(row->kind)) {
			free(*member);
			*member = NULL;
		}
	}
}

static bool item_equal(const struct pk_schema_row *row, const char *a, const char *b)
{
	if (row->kind == PK_SCHEMA_LIST)
		return pk_schema_value_equal(row->item, row->size, a, b);
	if (row->kind == PK_SCHEMA_TABLE &&
		strcmp(*(char *const *)(a + row->child->name_offset),
			*(char *const *)(b + row->child->name_offset)) != 0)
		return false;
	return pk_schema_equal(row->child, a, b);
}

static bool array_equal(const struct pk_schema_row *row, const void *a, const void *b)
{
	struct span sa = span_of(row, a), sb = span_of(row, b);

	if (sa.n != sb.n)
		return false;
	for (size_t i = 0; i < sa.n; i++)
		if (!item_equal(row, sa.items + i * sa.size, sb.items + i * sb.size))
			return false;
	return true;
}

static bool row_equal(const struct pk_schema_row *row, const void *a, const void *b)
{
	if (row->kind == PK_SCHEMA_ANY || !is_stored(row))
		return true;
	if (row->kind == PK_SCHEMA_MAP)
		return pk_schema_equal(
			row->child, (const char *)a + row->offset, (const char *)b + row->offset);
	if (is_array(row))
		return array_equal(row, a, b);
	return pk_schema_value_equal(
		row->kind, row->size, (const char *)a + row->offset, (const char *)b + row->offset);
}

bool pk_schema_equal(const struct pk_schema *schema, const void *a, const void *b)
{
	uint32_t when = pk_schema_when(schema, a);

	if (when != pk_schema_when(schema, b))
		return false;
	for (const struct pk_schema_row *row = schema->rows; row->key; row++)
		if (pk_schema_applies(row, when) && !row_equal(row, a, b))
			return false;
	return true;
}

bool pk_schema_key_equal(
	const struct pk_schema *schema, const char *key, const void *a, const void *b)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++)
		if (strcmp(row->key, key) == 0 && !row_equal(row, a, b))
			return false;
	return true;
}

static void dump_map(
	const struct pk_schema *schema, const void *obj, struct pk_buf *out, int depth);

static void indent(struct pk_buf *out, int depth)
{
	pk_buf_printf(out, "%*s", 2 * depth, "");
}

static void dump_list(const struct pk_schema_row *row, const void *obj, struct pk_buf *out)
{
	struct span s = span_of(row, obj);

	pk_buf_str(out, " [");
	for (size_t i = 0; i < s.n; i++) {
		if (i > 0)
			pk_buf_str(out, ", ");
		pk_schema_value_dump(row, row->item, s.items + i * s.size, out);
	}
	pk_buf_str(out, "]\n");
}

static void dump_maps(
	const struct pk_schema_row *row, const void *obj, struct pk_buf *out, int depth)
{
	struct span s = span_of(row, obj);

	pk_buf_str(out, "\n");
	for (size_t i = 0; i < s.n; i++) {
		const char *item = s.items + i * s.size;
		indent(out, depth + 1);
		if (row->kind == PK_SCHEMA_TABLE)
			pk_buf_printf(
				out, "\"%s\":\n", *(char *const *)(item + row->child->name_offset));
		else
			pk_buf_str(out, "-\n");
		dump_map(row->child, item, out, depth + 2);
	}
}

// Absent: decoding its absence gives the same.
static bool is_absent(const struct pk_schema_row *row, const void *obj)
{
	const char *member = (const char *)obj + row->offset;

	if (row->kind == PK_SCHEMA_ANY || !is_stored(row))
		return !row->required;
	if (row->required || row->kind == PK_SCHEMA_MAP)
		return false;
	if (is_array(row))
		return !row->def && span_of(row, obj).n == 0;
	if (row->def)
		return false;
	if (pk_schema_value_owned(row->kind))
		return **(char *const *)member == '\0';
	return row->unset_value != 0 && memcmp(member, &row->unset_value, sizeof(double)) == 0;
}

static void dump_row(
	const struct pk_schema_row *row, const void *obj, struct pk_buf *out, int depth)
{
	indent(out, depth);
	pk_buf_printf(out, "%s:", row->key);
	if (row->kind == PK_SCHEMA_MAP) {
		pk_buf_str(out, "\n");
		dump_map(row->child, (const char *)obj + row->offset, out, depth + 1);
	} else if (row->kind == PK_SCHEMA_LIST) {
		dump_list(row, obj, out);
	} else if (is_array(row)) {
		dump_maps(row, obj, out, depth);
	} else if (!is_stored(row)) {
		pk_buf_printf(out, " %s\n", row->def);
	} else {
		pk_buf_str(out, " ");
		pk_schema_value_dump(row, row->kind, (const char *)obj + row->offset, out);
		pk_buf_str(out, "\n");
	}
}

static void dump_map(const struct pk_schema *schema, const void *obj, struct pk_buf *out, int depth)
{
	uint32_t when = pk_schema_when(schema, obj);

	for (const struct pk_schema_row *row = schema->rows; row->key; row++)
		if (pk_schema_applies(row, when) && !is_absent(row, obj))
			dump_row(row, obj, out, depth);
}

void pk_schema_dump(const struct pk_schema *schema, const void *obj, struct pk_buf *out)
{
	dump_map(schema, obj, out, 0);
}
