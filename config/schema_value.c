// SPDX-License-Identifier: Apache-2.0
// Scalars of the schema engine: text → typed value → member of a struct, and back.
#include "config/schema_value.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/quantity.h"
#include "config/words.h"

// A parsed scalar before it is stored.
struct value {
	int64_t i;
	double f;
	char *s; // owned
};

struct input {
	const struct pk_schema_row *row;
	enum pk_schema_kind kind;
	const char *text;
	const char *dir;
};

static int parse_string(const struct input *in, struct value *v, struct pk_err *err)
{
	int rc = in->row->verify ? in->row->verify(in->text, err) : 0;

	if (rc < 0)
		return rc;
	v->s = strdup(in->text);
	v->i = (int64_t)strlen(in->text);
	return v->s ? 0 : -ENOMEM;
}

static int parse_path(const struct input *in, struct value *v, struct pk_err *err)
{
	if (*in->text == '\0')
		return pk_fail(err, -EINVAL, "must not be empty");
	return in->row->resolve(in->text, in->dir, &v->s, err);
}

static int parse_bool(const struct input *in, struct value *v, struct pk_err *err)
{
	v->i = strcmp(in->text, "true") == 0;
	if (!v->i && strcmp(in->text, "false") != 0)
		return pk_fail(err, -EINVAL, "expected true or false; found `%s`",
			pk_words_quote(in->text).text);
	return 0;
}

static int parse_int(const struct input *in, struct value *v, struct pk_err *err)
{
	return pk_quantity_int(in->text, &v->i, err);
}

static int parse_float(const struct input *in, struct value *v, struct pk_err *err)
{
	return pk_quantity_float(in->text, &v->f, err);
}

static int parse_enum(const struct input *in, struct value *v, struct pk_err *err)
{
	char allowed[256] = "";
	struct pk_words_best best;
	size_t n = 0;

	pk_words_best_init(&best, in->text);
	for (const struct pk_schema_name *name = in->row->names; name->name; name++) {
		if (strcmp(name->name, in->text) == 0) {
			v->i = name->value;
			return 0;
		}
		pk_words_best_try(&best, name->name);
		n += (size_t)snprintf(
			allowed + n, sizeof(allowed) - n, "%s%s", n ? ", " : "", name->name);
		assert(n < sizeof(allowed));
	}
	if (best.best)
		return pk_fail(err, -EINVAL, "cannot be `%s`; did you mean `%s`? Allowed: %s",
			pk_words_quote(in->text).text, best.best, allowed);
	return pk_fail(err, -EINVAL, "cannot be `%s`; allowed: %s", pk_words_quote(in->text).text,
		allowed);
}

static int parse_duration(const struct input *in, struct value *v, struct pk_err *err)
{
	return pk_quantity_duration(in->text, &v->i, err);
}

static int parse_bytes(const struct input *in, struct value *v, struct pk_err *err)
{
	return pk_quantity_bytes(in->text, &v->i, err);
}

static int parse_rate(const struct input *in, struct value *v, struct pk_err *err)
{
	return pk_quantity_rate(in->text, &v->f, err);
}

static void dump_string(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	const char *s = *(char *const *)at;

	// Only what pk_words_printable lets in can be here.
	pk_buf_str(out, "\"");
	for (; s && *s; s++) {
		if (*s == '\n')
			pk_buf_str(out, "\\n");
		else if (*s == '\t')
			pk_buf_str(out, "\\t");
		else if (*s == '"' || *s == '\\')
			pk_buf_printf(out, "\\%c", *s);
		else
			pk_buf_append(out, s, 1);
	}
	pk_buf_str(out, "\"");
}

static void dump_bool(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	pk_buf_str(out, *(const bool *)at ? "true" : "false");
}

static void dump_int(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	pk_buf_printf(out, "%" PRId64, pk_schema_int_at(at, 0, row->size));
}

static void dump_enum(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	int64_t v = pk_schema_int_at(at, 0, row->size);

	for (const struct pk_schema_name *name = row->names; name->name; name++) {
		if (name->value == v) {
			pk_buf_str(out, name->name);
			return;
		}
	}
}

static void dump_duration(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	char text[PK_QUANTITY_TEXT_MAX];
	pk_quantity_print_duration(*(const int64_t *)at, text);
	pk_buf_str(out, text);
}

static void dump_bytes(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	char text[PK_QUANTITY_TEXT_MAX];
	pk_quantity_print_bytes(*(const int64_t *)at, text);
	pk_buf_str(out, text);
}

static void dump_float(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	char text[PK_QUANTITY_TEXT_MAX];
	pk_quantity_print_float(*(const double *)at, text);
	pk_buf_str(out, text);
}

static void dump_rate(const struct pk_schema_row *row, const void *at, struct pk_buf *out)
{
	char text[PK_QUANTITY_TEXT_MAX];
	pk_quantity_print_rate(*(const double *)at, text);
	pk_buf_str(out, text);
}

enum store { STORE_STRING, STORE_INT, STORE_FLOAT };

static const struct scalar {
	int (*parse)(const struct input *in, struct value *v, struct pk_err *err);
	void (*dump)(const struct pk_schema_row *row, const void *at, struct pk_buf *out);
	enum store store;
	bool plain;  // quotes make it text, which it is not
	bool length; // min and max are of the length
} scalars[PK_SCHEMA_KIND_COUNT] = {
	[PK_SCHEMA_STRING] = {parse_string, dump_string, STORE_STRING, .length = true},
	[PK_SCHEMA_PATH] = {parse_path, dump_string, STORE_STRING},
	[PK_SCHEMA_BOOL] = {parse_bool, dump_bool, STORE_INT, .plain = true},
	[PK_SCHEMA_INT] = {parse_int, dump_int, STORE_INT, .plain = true},
	[PK_SCHEMA_FLOAT] = {parse_float, dump_float, STORE_FLOAT, .plain = true},
	[PK_SCHEMA_ENUM] = {parse_enum, dump_enum, STORE_INT},
	[PK_SCHEMA_DURATION] = {parse_duration, dump_duration, STORE_INT},
	[PK_SCHEMA_BYTES] = {parse_bytes, dump_bytes, STORE_INT},
	[PK_SCHEMA_RATE] = {parse_rate, dump_rate, STORE_FLOAT},
};

static const struct scalar *scalar_of(enum pk_schema_kind kind)
{
	assert(scalars[kind].parse);
	return &scalars[kind];
}

// -1 below, 1 above the bound (text as in the table), 0 equal.
static int compare_bound(const struct input *in, const struct value *v, const char *bound)
{
	const struct scalar *scalar = scalar_of(in->kind);
	struct input of_bound = *in;
	struct value b = {0};
	int rc;

	of_bound.text = bound;
	rc = scalar->length ? pk_quantity_int(bound, &b.i, NULL)
			    : scalar->parse(&of_bound, &b, NULL);
	assert(rc == 0);
	(void)rc;
	if (scalar->store == STORE_FLOAT)
		return (v->f > b.f) - (v->f < b.f);
	return (v->i > b.i) - (v->i < b.i);
}

static int check_range(const struct input *in, const struct value *v, struct pk_err *err)
{
	const char *min = in->row->min, *max = in->row->max;
	bool length = scalar_of(in->kind)->length;
	const char *unit = length ? " bytes long" : "";
	struct pk_words_quote found = pk_words_quote(in->text);

	if ((!min || compare_bound(in, v, min) >= 0) && (!max || compare_bound(in, v, max) <= 0))
		return 0;
	if (length) // long text is not shown: an address may hold a password
		snprintf(found.text, sizeof(found.text), "%" PRId64, v->i);
	if (min && max)
		return pk_fail(err, -ERANGE, "must be from %s to %s%s; found `%s`", min, max, unit,
			found.text);
	return pk_fail(err, -ERANGE, "must be at %s %s%s; found `%s`", min ? "least" : "most",
		min ? min : max, unit, found.text);
}

static void store_int(void *at, size_t size, int64_t v)
{
	int narrow = (int)v;
	bool truth = v != 0;

	if (size == sizeof(int64_t))
		memcpy(at, &v, sizeof(v));
	else if (size == sizeof(int))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &truth, sizeof(truth));
}

static void store(const struct input *in, struct value *v, void *at)
{
	switch (scalar_of(in->kind)->store) {
	case STORE_STRING:
		free(*(char **)at);
		*(char **)at = pk_steal(v->s);
		break;
	case STORE_INT:
		store_int(at, in->row->size, v->i);
		break;
	case STORE_FLOAT:
		memcpy(at, &v->f, sizeof(v->f));
		break;
	}
}

int pk_schema_value_set(const struct pk_schema_row *row, enum pk_schema_kind kind, const char *text,
	bool plain, const char *dir, void *at, struct pk_err *err)
{
	const struct scalar *scalar = scalar_of(kind);
	struct input in = {row, kind, text, dir};
	struct value v = {0};

	if (scalar->plain && !plain)
		return pk_fail(err, -EINVAL, "expected %s, found text in quotes: \"%s\"",
			kind == PK_SCHEMA_BOOL ? "true or false" : "a number",
			pk_words_quote(text).text);
	int rc = scalar->parse(&in, &v, err);
	if (rc == 0)
		rc = check_range(&in, &v, err);
	if (rc == 0 && scalar->store == STORE_INT && row->size == sizeof(int) &&
		v.i != (int64_t)(int)v.i)
		rc = pk_fail(err, -ERANGE, "`%s` is too large", pk_words_quote(text).text);
	if (rc == 0 && at)
		store(&in, &v, at);
	free(v.s);
	return rc;
}

void pk_schema_value_dump(const struct pk_schema_row *row, enum pk_schema_kind kind, const void *at,
	struct pk_buf *out)
{
	scalar_of(kind)->dump(row, at, out);
}

bool pk_schema_value_owned(enum pk_schema_kind kind)
{
	return scalar_of(kind)->store == STORE_STRING;
}

bool pk_schema_value_equal(enum pk_schema_kind kind, size_t size, const void *a, const void *b)
{
	if (!pk_schema_value_owned(kind))
		return memcmp(a, b, size) == 0;
	const char *sa = *(char *const *)a, *sb = *(char *const *)b;
	return sa && sb ? strcmp(sa, sb) == 0 : sa == sb;
}
