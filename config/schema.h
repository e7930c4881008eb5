// SPDX-License-Identifier: Apache-2.0
// Tables that say what a YAML file may hold; one engine decodes, frees, compares, dumps and
// documents by them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/problem.h"
#include "config/yaml.h"

enum pk_schema_kind {
	PK_SCHEMA_STRING,   // char *, malloc'ed, never NULL; min/max bound its length in bytes
	PK_SCHEMA_PATH,     // char *, made absolute by `resolve`
	PK_SCHEMA_BOOL,     // bool
	PK_SCHEMA_INT,      // int or int64_t
	PK_SCHEMA_FLOAT,    // double
	PK_SCHEMA_ENUM,     // an enum, int or bool, by `names`
	PK_SCHEMA_DURATION, // int64_t ns
	PK_SCHEMA_BYTES,    // int64_t
	PK_SCHEMA_RATE,     // double Hz
	PK_SCHEMA_LIST,     // of scalars of kind `item`
	PK_SCHEMA_MAP,      // nested map; its struct is at `offset` (0: the same struct)
	PK_SCHEMA_TABLE,    // map from names to maps: an array of child structs
	PK_SCHEMA_MAPS,     // list of maps: an array of child structs, or one in place
	PK_SCHEMA_ANY,      // read over
	PK_SCHEMA_KIND_COUNT,
};

struct pk_schema_name {
	const char *name; // NULL ends the table
	int value;        // 0..31 where rows are chosen by it
	const char *help;
};

struct pk_schema;

// Gives the malloc'ed value of a path: text as written, dir as in struct pk_yaml_source. 0, -EINVAL
// with the reason, -ENOMEM.
typedef int pk_schema_resolve(const char *text, const char *dir, char **out, struct pk_err *err);
// Further demands on a string, as text after "`key` ". 0 or -EINVAL.
typedef int pk_schema_verify(const char *text, struct pk_err *err);

#define PK_SCHEMA_NOWHERE SIZE_MAX

struct pk_schema_row {
	const char *key; // NULL ends the table
	enum pk_schema_kind kind;
	enum pk_schema_kind item; // LIST
	size_t offset;            // of the member; PK_SCHEMA_NOWHERE: checked, not stored
	size_t size;              // of the member, or of one element of an array
	size_t count_offset;      // size_t beside an array; PK_SCHEMA_NOWHERE: none
	bool in_place;            // LIST: C array of max_items; MAPS: exactly one, in the struct
	bool required;
	const char *def;       // default as one would write it; NULL: zero or `unset`
	const char *unset;     // what its absence means, for the reference; NULL: nothing special
	double unset_value;    // FLOAT, RATE without def: stored when absent
	const char *min, *max; // inclusive, as one would write them; of each item of a list
	size_t min_items, max_items; // max 0: any number
	const struct pk_schema_name *names;
	const struct pk_schema *child; // MAP, TABLE, MAPS
	pk_schema_resolve *resolve;    // PATH
	pk_schema_verify *verify;      // STRING, each item of a list of them, names of a TABLE
	uint32_t when; // bits of the values of the table's `kind_key` that it applies to; 0: all
	const char *example;
	const char *help; // one or two sentences for the reference
};

struct pk_schema {
	const char *noun; // what one such map is, for messages and the reference
	const struct pk_schema_row *rows;
	size_t size;          // of the struct, for elements of arrays and pk_schema_decode
	const char *kind_key; // the ENUM row that says which rows apply; NULL: none
	size_t name_offset;   // child of a TABLE: char * that gets the name
};

#define PK_SCHEMA_AT(type, member)                                                                 \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define PK_SCHEMA_ARRAY(type, member, count)                                                       \
	.offset = offsetof(type, member), .size = sizeof(*((type *)0)->member),                    \
	.count_offset = offsetof(type, count)
#define PK_SCHEMA_NOT_STORED .offset = PK_SCHEMA_NOWHERE, .count_offset = PK_SCHEMA_NOWHERE
#define PK_SCHEMA_BIT(value) (UINT32_C(1) << (value))

// Fills obj (zeroed, schema->size bytes) with the defaults and what root says. All mistakes are
// added to problems. 0; -EINVAL: problems were added; -ENOMEM. Whatever it returns, obj is to be
// given to pk_schema_free. Keys that start with x- are read over, except as names in a TABLE.
// Values with mistakes become PK_YAML_BAD, so that later checks can pass over them.
int pk_schema_decode(const struct pk_schema *schema, struct pk_yaml_node *root, void *obj,
	struct pk_problems *problems) pk_must_check;
// Frees what obj's rows own and zeroes those members; obj itself stays the caller's.
void pk_schema_free(const struct pk_schema *schema, void *obj);

// Deep comparison of what applies. A TABLE compares in order, names included.
bool pk_schema_equal(const struct pk_schema *schema, const void *a, const void *b);
// The same for one row of schema.
bool pk_schema_key_equal(
	const struct pk_schema *schema, const char *key, const void *a, const void *b);

// Writes obj as YAML that decodes into an equal one (paths as they are). What is absent (empty
// string without default, unset number) is left out. Check pk_buf_error at the end.
void pk_schema_dump(const struct pk_schema *schema, const void *obj, struct pk_buf *out);

// Writes the reference (Markdown): a table per map, titled by the way to it.
void pk_schema_document(const struct pk_schema *schema, struct pk_buf *out);

// Writes the same as JSON Schema (2020-12), on one line.
void pk_schema_json(const struct pk_schema *schema, const char *title, struct pk_buf *out);

// Shared by the files of the engine.
// The row under key that applies, else NULL; `other` is a row of that key that does not apply.
const struct pk_schema_row *pk_schema_find(const struct pk_schema *schema, const char *key,
	uint32_t when, const struct pk_schema_row **other);
// Bit of the value of obj's kind_key; all bits when there is none or it is not stored.
uint32_t pk_schema_when(const struct pk_schema *schema, const void *obj);
static inline bool pk_schema_applies(const struct pk_schema_row *row, uint32_t when)
{
	return row->when == 0 || (row->when & when) != 0;
}
int64_t pk_schema_int_at(const void *obj, size_t offset, size_t size);
// Names of a [a-z0-9][a-z0-9_-]{0,62} kind.
bool pk_schema_is_name(const char *s);
// For rows' verify: such a name; anything but nothing. 0 or -EINVAL.
int pk_schema_verify_name(const char *text, struct pk_err *err);
int pk_schema_verify_filled(const char *text, struct pk_err *err);
