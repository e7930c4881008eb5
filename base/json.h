// SPDX-License-Identifier: Apache-2.0
// jansson, the strict way: bounded, duplicate keys refused, located errors, canonical output.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

static inline void pk_auto_json_impl(json_t **j)
{
	json_decref(*j);
}
#define pk_auto_json pk_cleanup(pk_auto_json_impl) json_t *

// Parses exactly one JSON text of n bytes. what names it in errors ("manifest: line 3: …").
int pk_json_parse(const void *bytes, size_t n, const char *what, json_t **out, struct pk_err *err)
	pk_must_check;
// Sorted keys, no spaces: equal objects give equal bytes. malloc'ed; NULL: no memory.
char *pk_json_canonical(const json_t *json) pk_must_check;

// Typed access. The object is not owned. -EINVAL with "key: expected X" when the type is wrong or a
// required key is missing; the optional forms leave *out as it was when the key is absent.
int pk_json_get_str(const json_t *obj, const char *key, const char **out, struct pk_err *err);
int pk_json_get_int(const json_t *obj, const char *key, int64_t *out, struct pk_err *err);
int pk_json_get_num(const json_t *obj, const char *key, double *out, struct pk_err *err);
int pk_json_get_bool(const json_t *obj, const char *key, bool *out, struct pk_err *err);
int pk_json_get_obj(
	const json_t *obj, const char *key, json_t **out, struct pk_err *err); // borrowed
int pk_json_get_arr(
	const json_t *obj, const char *key, json_t **out, struct pk_err *err); // borrowed
int pk_json_opt_str(const json_t *obj, const char *key, const char **out, struct pk_err *err);
int pk_json_opt_int(const json_t *obj, const char *key, int64_t *out, struct pk_err *err);
