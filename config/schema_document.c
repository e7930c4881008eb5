// SPDX-License-Identifier: Apache-2.0
// The reference of a schema table as Markdown: one table a map, titled by the way to it.
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

#define PATH_MAX_BYTES 256

static const char *const type_words[PK_SCHEMA_KIND_COUNT] = {
	[PK_SCHEMA_STRING] = "text",
	[PK_SCHEMA_PATH] = "path",
	[PK_SCHEMA_BOOL] = "`true` or `false`",
	[PK_SCHEMA_INT] = "whole number",
	[PK_SCHEMA_FLOAT] = "number",
	[PK_SCHEMA_ENUM] = "one of",
	[PK_SCHEMA_DURATION] = "duration",
	[PK_SCHEMA_BYTES] = "size",
	[PK_SCHEMA_RATE] = "rate",
	[PK_SCHEMA_LIST] = "list of",
	[PK_SCHEMA_MAP] = "map",
	[PK_SCHEMA_TABLE] = "map by name",
	[PK_SCHEMA_MAPS] = "list of maps",
	[PK_SCHEMA_ANY] = "anything",
};

static void write_names(const struct pk_schema_row *row, struct pk_buf *out)
{
	for (const struct pk_schema_name *name = row->names; name->name; name++)
		pk_buf_printf(out, "%s`%s`", name == row->names ? " " : ", ", name->name);
}

static void write_range(
	const struct pk_schema_row *row, enum pk_schema_kind kind, struct pk_buf *out)
{
	const char *unit = kind == PK_SCHEMA_STRING ? " bytes" : "";

	if (row->min && row->max)
		pk_buf_printf(out, ", %s to %s%s", row->min, row->max, unit);
	else if (row->max)
		pk_buf_printf(out, ", at most %s%s", row->max, unit);
	else if (row->min)
		pk_buf_printf(out, ", at least %s%s", row->min, unit);
}

static void write_count(const struct pk_schema_row *row, struct pk_buf *out)
{
	if (row->max_items == 0)
		return;
	if (row->min_items == row->max_items)
		pk_buf_printf(out, " (exactly %zu)", row->max_items);
	else if (row->min_items > 0)
		pk_buf_printf(out, " (%zu to %zu)", row->min_items, row->max_items);
	else
		pk_buf_printf(out, " (at most %zu)", row->max_items);
}

static void write_type(const struct pk_schema_row *row, struct pk_buf *out)
{
	enum pk_schema_kind kind = row->kind == PK_SCHEMA_LIST ? row->item : row->kind;

	if (row->kind == PK_SCHEMA_LIST)
		pk_buf_str(out, "list of ");
	pk_buf_str(out, type_words[kind]);
	if (kind == PK_SCHEMA_ENUM)
		write_names(row, out);
	write_range(row, kind, out);
	write_count(row, out);
}

static void write_default(const struct pk_schema_row *row, struct pk_buf *out)
{
	if (row->required)
		pk_buf_str(out, "**required**");
	else if (row->def)
		pk_buf_printf(out, "`%s`", row->def);
	else
		pk_buf_str(out, row->unset ? row->unset : "");
}

// "file, rtsp": the kinds that a row applies to.
static void write_applies(
	const struct pk_schema *schema, const struct pk_schema_row *row, struct pk_buf *out)
{
	const struct pk_schema_row *other;
	const struct pk_schema_row *kind = pk_schema_find(schema, schema->kind_key, ~0u, &other);
	const char *comma = "";

	if (row->when == 0) {
		pk_buf_str(out, "all");
		return;
	}
	for (const struct pk_schema_name *name = kind->names; name->name; name++) {
		if (!(row->when & PK_SCHEMA_BIT(name->value)))
			continue;
		pk_buf_printf(out, "%s`%s`", comma, name->name);
		comma = ", ";
	}
}

static void write_help(const struct pk_schema_row *row, struct pk_buf *out)
{
	pk_buf_str(out, row->help);
	if (row->kind == PK_SCHEMA_ENUM && row->names[0].name && row->names[1].name)
		for (const struct pk_schema_name *name = row->names; name->name; name++)
			pk_buf_printf(out, "<br>`%s`: %s", name->name, name->help);
	if (row->example)
		pk_buf_printf(out, " Example: `%s`", row->example);
}

static void write_row(
	const struct pk_schema *schema, const struct pk_schema_row *row, struct pk_buf *out)
{
	pk_buf_printf(out, "| `%s` | ", row->key);
	write_type(row, out);
	pk_buf_str(out, " | ");
	write_default(row, out);
	if (schema->kind_key) {
		pk_buf_str(out, " | ");
		write_applies(schema, row, out);
	}
	pk_buf_str(out, " | ");
	write_help(row, out);
	pk_buf_str(out, " |\n");
}

static void write_map(const struct pk_schema *schema, const char *path, struct pk_buf *out);

static bool is_repeated(const struct pk_schema *schema, const struct pk_schema_row *row)
{
	for (const struct pk_schema_row *r = schema->rows; r < row; r++)
		if (r->child == row->child)
			return true;
	return false;
}

static void write_children(const struct pk_schema *schema, const char *path, struct pk_buf *out)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		char below[PATH_MAX_BYTES];
		const char *tail = row->kind == PK_SCHEMA_TABLE  ? ".NAME"
				   : row->kind == PK_SCHEMA_MAPS ? "[]"
								 : "";
		if (!row->child || is_repeated(schema, row))
			continue;
		snprintf(below, sizeof(below), "%s%s%s%s", path, *path ? "." : "", row->key, tail);
		write_map(row->child, below, out);
	}
}

static void write_map(const struct pk_schema *schema, const char *path, struct pk_buf *out)
{
	if (*path)
		pk_buf_printf(out, "### `%s`\n\n", path);
	else
		pk_buf_printf(out, "### Top level\n\n");
	if (schema->kind_key)
		pk_buf_printf(out, "| key | value | default | for %s | meaning |\n|-|-|-|-|-|\n",
			schema->kind_key);
	else
		pk_buf_str(out, "| key | value | default | meaning |\n|-|-|-|-|\n");
	for (const struct pk_schema_row *row = schema->rows; row->key; row++)
		write_row(schema, row, out);
	pk_buf_str(out, "\n");
	write_children(schema, path, out);
}

void pk_schema_document(const struct pk_schema *schema, struct pk_buf *out)
{
	write_map(schema, "", out);
}
