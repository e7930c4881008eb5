// SPDX-License-Identifier: Apache-2.0
// Scalars of the schema engine: text → typed value → member of a struct, and back.
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "config/schema.h"

// Parses text as `kind` by the row's names, range, resolve and verify, and stores it at `at`
// (row->size bytes; NULL: checked only). Strings at `at` are freed before. plain: unquoted. 0,
// -EINVAL or -ERANGE with the reason ("expected true or false; found `yes`"), -ENOMEM.
int pk_schema_value_set(const struct pk_schema_row *row, enum pk_schema_kind kind, const char *text,
	bool plain, const char *dir, void *at, struct pk_err *err) pk_must_check;
// The YAML of the value at `at`.
void pk_schema_value_dump(const struct pk_schema_row *row, enum pk_schema_kind kind, const void *at,
	struct pk_buf *out);
bool pk_schema_value_equal(enum pk_schema_kind kind, size_t size, const void *a, const void *b);
// Is it a char * that the struct owns?
bool pk_schema_value_owned(enum pk_schema_kind kind);
