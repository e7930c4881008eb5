// SPDX-License-Identifier: Apache-2.0
// jansson, the strict way.
#include "base/json.h"

#include <errno.h>

int pk_json_parse(const void *bytes, size_t n, const char *what, json_t **out, struct pk_err *err)
{
	json_error_t e;
	json_t *json =
		json_loadb(bytes ? bytes : "", n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	if (!json && json_error_code(&e) == json_error_out_of_memory)
		return pk_fail(err, -ENOMEM, "%s: out of memory", what);
	if (!json)
		return pk_fail(
			err, -EINVAL, "%s: line %d, column %d: %s", what, e.line, e.column, e.text);
	*out = json;
	return 0;
}

char *pk_json_canonical(const json_t *json)
{
	return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

// The value of a present key; NULL with *r = 0 when it is absent.
static json_t *pk_json_lookup(const json_t *obj, const char *key, int *r, struct pk_err *err)
{
	*r = 0;
	if (!json_is_object(obj)) {
		*r = pk_fail(err, -EINVAL, "%s: looked up in what is not an object", key);
		return NULL;
	}
	return json_object_get(obj, key);
}

enum pk_json_kind {
	PK_JSON_STR,
	PK_JSON_INT,
	PK_JSON_NUM,
	PK_JSON_BOOL,
	PK_JSON_OBJ,
	PK_JSON_ARR,
	PK_JSON_KINDS,
};

static bool pk_json_is(const json_t *v, enum pk_json_kind kind)
{
	static const unsigned accepted[PK_JSON_KINDS] = {
		[PK_JSON_STR] = 1u << JSON_STRING,
		[PK_JSON_INT] = 1u << JSON_INTEGER,
		[PK_JSON_NUM] = 1u << JSON_INTEGER | 1u << JSON_REAL,
		[PK_JSON_BOOL] = 1u << JSON_TRUE | 1u << JSON_FALSE,
		[PK_JSON_OBJ] = 1u << JSON_OBJECT,
		[PK_JSON_ARR] = 1u << JSON_ARRAY,
	};
	return accepted[kind] >> json_typeof(v) & 1;
}

// 1 and *out when the key is there with the right type, 0 when absent, or -EINVAL.
static int pk_json_find(const json_t *obj, const char *key, enum pk_json_kind kind, json_t **out,
	struct pk_err *err)
{
	static const char *const names[PK_JSON_KINDS] = {
		"a string", "an integer", "a number", "true or false", "an object", "an array"};
	int r;
	json_t *v = pk_json_lookup(obj, key, &r, err);
	if (!v)
		return r;
	if (!pk_json_is(v, kind))
		return pk_fail(err, -EINVAL, "%s: expected %s", key, names[kind]);
	*out = v;
	return 1;
}

static int pk_json_require(const json_t *obj, const char *key, enum pk_json_kind kind, json_t **out,
	struct pk_err *err)
{
	int r = pk_json_find(obj, key, kind, out, err);
	if (r == 0)
		return pk_fail(err, -EINVAL, "%s: missing", key);
	return r < 0 ? r : 0;
}

int pk_json_get_str(const json_t *obj, const char *key, const char **out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_require(obj, key, PK_JSON_STR, &v, err);
	if (r == 0)
		*out = json_string_value(v);
	return r;
}

int pk_json_get_int(const json_t *obj, const char *key, int64_t *out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_require(obj, key, PK_JSON_INT, &v, err);
	if (r == 0)
		*out = json_integer_value(v);
	return r;
}

int pk_json_get_num(const json_t *obj, const char *key, double *out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_require(obj, key, PK_JSON_NUM, &v, err);
	if (r == 0)
		*out = json_number_value(v);
	return r;
}

int pk_json_get_bool(const json_t *obj, const char *key, bool *out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_require(obj, key, PK_JSON_BOOL, &v, err);
	if (r == 0)
		*out = json_is_true(v);
	return r;
}

int pk_json_get_obj(const json_t *obj, const char *key, json_t **out, struct pk_err *err)
{
	return pk_json_require(obj, key, PK_JSON_OBJ, out, err);
}

int pk_json_get_arr(const json_t *obj, const char *key, json_t **out, struct pk_err *err)
{
	return pk_json_require(obj, key, PK_JSON_ARR, out, err);
}

int pk_json_opt_str(const json_t *obj, const char *key, const char **out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_find(obj, key, PK_JSON_STR, &v, err);
	if (r > 0)
		*out = json_string_value(v);
	return r < 0 ? r : 0;
}

int pk_json_opt_int(const json_t *obj, const char *key, int64_t *out, struct pk_err *err)
{
	json_t *v = NULL;
	int r = pk_json_find(obj, key, PK_JSON_INT, &v, err);
	if (r > 0)
		*out = json_integer_value(v);
	return r < 0 ? r : 0;
}
