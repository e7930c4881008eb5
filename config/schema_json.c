// SPDX-License-Identifier: Apache-2.0
// JSON Schema (2020-12) out of the schema tables, for editors and other programs.
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

#define NAME_PATTERN "^[a-z0-9][a-z0-9_-]{0,62}$"

struct writer {
	struct pk_buf *out;
	bool comma; // one is due before the next member
};

static void next(struct writer *w)
{
	if (w->comma)
		pk_buf_str(w->out, ",");
	w->comma = false;
}

static void put_key(struct writer *w, const char *key)
{
	next(w);
	pk_buf_json_string(w->out, key);
	pk_buf_str(w->out, ":");
}

static void put_text(struct writer *w, const char *key, const char *text)
{
	put_key(w, key);
	pk_buf_json_string(w->out, text);
	w->comma = true;
}

static void put_raw(struct writer *w, const char *key, const char *json)
{
	put_key(w, key);
	pk_buf_str(w->out, json);
	w->comma = true;
}

static void open_object(struct writer *w)
{
	next(w);
	pk_buf_str(w->out, "{");
}

static void close_object(struct writer *w)
{
	pk_buf_str(w->out, "}");
	w->comma = true;
}

static void put_object(struct writer *w, const struct pk_schema *schema);

static const char *const type_of[PK_SCHEMA_KIND_COUNT] = {
	[PK_SCHEMA_STRING] = "\"string\"",
	[PK_SCHEMA_PATH] = "\"string\"",
	[PK_SCHEMA_BOOL] = "\"boolean\"",
	[PK_SCHEMA_INT] = "\"integer\"",
	[PK_SCHEMA_FLOAT] = "\"number\"",
	// Quantities are written with their unit; 0 needs none.
	[PK_SCHEMA_DURATION] = "[\"string\",\"integer\"]",
	[PK_SCHEMA_BYTES] = "[\"string\",\"integer\"]",
	[PK_SCHEMA_RATE] = "[\"string\",\"integer\"]",
	[PK_SCHEMA_LIST] = "\"array\"",
};

static void put_names(struct writer *w, const struct pk_schema_name *names)
{
	put_key(w, "enum");
	pk_buf_str(w->out, "[");
	for (const struct pk_schema_name *it = names; it->name; it++) {
		next(w);
		pk_buf_json_string(w->out, it->name);
		w->comma = true;
	}
	pk_buf_str(w->out, "]");
	w->comma = true;
}

static void put_scalar(struct writer *w, const struct pk_schema_row *row, enum pk_schema_kind kind)
{
	bool number = kind == PK_SCHEMA_INT || kind == PK_SCHEMA_FLOAT;
	bool string = kind == PK_SCHEMA_STRING;
	if (kind == PK_SCHEMA_ENUM && row->names)
		put_names(w, row->names);
	else if (type_of[kind])
		put_raw(w, "type", type_of[kind]);
	if (row->min && (number || string))
		put_raw(w, number ? "minimum" : "minLength", row->min);
	if (row->max && (number || string))
		put_raw(w, number ? "maximum" : "maxLength", row->max);
}

static void put_bounds(
	struct writer *w, const struct pk_schema_row *row, const char *min_key, const char *max_key)
{
	char text[32];
	snprintf(text, sizeof(text), "%zu", row->min_items);
	if (row->min_items)
		put_raw(w, min_key, text);
	snprintf(text, sizeof(text), "%zu", row->max_items);
	if (row->max_items)
		put_raw(w, max_key, text);
}

static void put_child(struct writer *w, const char *key, const struct pk_schema *child)
{
	put_key(w, key);
	put_object(w, child);
}

static void put_value(struct writer *w, const struct pk_schema_row *row)
{
	switch (row->kind) {
	case PK_SCHEMA_LIST:
		put_raw(w, "type", "\"array\"");
		put_bounds(w, row, "minItems", "maxItems");
		put_key(w, "items");
		pk_buf_str(w->out, "{");
		put_scalar(w, row, row->item);
		close_object(w);
		break;
	case PK_SCHEMA_TABLE:
		put_raw(w, "type", "\"object\"");
		put_bounds(w, row, "minProperties", "maxProperties");
		put_raw(w, "propertyNames", "{\"pattern\":\"" NAME_PATTERN "\"}");
		put_child(w, "additionalProperties", row->child);
		break;
	case PK_SCHEMA_MAPS:
		put_raw(w, "type", "\"array\"");
		put_bounds(w, row, "minItems", "maxItems");
		put_child(w, "items", row->child);
		break;
	case PK_SCHEMA_ANY:
		break;
	default:
		put_scalar(w, row, row->kind);
	}
}

static void put_row(struct writer *w, const struct pk_schema_row *row, const char *only)
{
	put_key(w, row->key);
	if (row->kind == PK_SCHEMA_MAP) {
		put_object(w, row->child);
		return;
	}
	open_object(w);
	if (only)
		put_text(w, "const", only);
	else
		put_value(w, row);
	if (row->help)
		put_text(w, "description", row->help);
	if (row->def)
		put_text(w, "x-default", row->def);
	close_object(w);
}

static bool is_kind_key(const struct pk_schema *schema, const struct pk_schema_row *row)
{
	return schema->kind_key && strcmp(row->key, schema->kind_key) == 0;
}

static void put_required(struct writer *w, const struct pk_schema *schema, uint32_t when)
{
	put_key(w, "required");
	pk_buf_str(w->out, "[");
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (!row->required || !pk_schema_applies(row, when))
			continue;
		next(w);
		pk_buf_json_string(w->out, row->key);
		w->comma = true;
	}
	pk_buf_str(w->out, "]");
	w->comma = true;
}

// The map as it may look for one kind; only: the kind's name, NULL where there are none.
static void put_variant(
	struct writer *w, const struct pk_schema *schema, uint32_t when, const char *only)
{
	open_object(w);
	put_raw(w, "type", "\"object\"");
	put_key(w, "properties");
	pk_buf_str(w->out, "{");
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (pk_schema_applies(row, when))
			put_row(w, row, is_kind_key(schema, row) ? only : NULL);
	}
	close_object(w);
	put_required(w, schema, when);
	put_raw(w, "patternProperties", "{\"^x-\":true}");
	put_raw(w, "additionalProperties", "false");
	close_object(w);
}

static const struct pk_schema_name *kinds_of(const struct pk_schema *schema)
{
	for (const struct pk_schema_row *row = schema->rows; row->key; row++) {
		if (is_kind_key(schema, row))
			return row->names;
	}
	return NULL;
}

static void put_object(struct writer *w, const struct pk_schema *schema)
{
	const struct pk_schema_name *kinds = kinds_of(schema);
	if (!kinds) {
		put_variant(w, schema, UINT32_MAX, NULL);
		return;
	}
	open_object(w);
	put_key(w, "oneOf");
	pk_buf_str(w->out, "[");
	for (; kinds->name; kinds++)
		put_variant(w, schema, PK_SCHEMA_BIT(kinds->value), kinds->name);
	pk_buf_str(w->out, "]");
	w->comma = true;
	close_object(w);
}

void pk_schema_json(const struct pk_schema *schema, const char *title, struct pk_buf *out)
{
	struct writer w = {.out = out};
	open_object(&w);
	put_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_text(&w, "title", title);
	put_key(&w, "allOf");
	pk_buf_str(out, "[");
	put_object(&w, schema);
	pk_buf_str(out, "]");
	w.comma = true;
	close_object(&w);
}
