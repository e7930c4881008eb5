// SPDX-License-Identifier: Apache-2.0
// Writing, reading and asking the calibration record.
#include "engine/calibrate/calibration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

#define SCHEMA 1

void pk_calibration_finish(struct pk_calibration *c)
{
	for (size_t i = 0; i < c->n_ranges; i++)
		free(c->ranges[i].name);
	for (size_t i = 0; i < c->n_float_layers; i++)
		free(c->float_layers[i]);
	free(c->ranges);
	free(c->float_layers);
	free(c->samples);
	*c = (struct pk_calibration){0};
}

int pk_calibration_add_range(struct pk_calibration *c, const char *name, double max)
{
	void *ranges = c->ranges;
	char *copy = strdup(name);
	if (!copy || pk_array_grow_impl(
			     &ranges, &c->cap_ranges, c->n_ranges + 1, sizeof(*c->ranges)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	c->ranges = ranges;
	c->ranges[c->n_ranges++] = (struct pk_calibration_range){copy, max};
	return 0;
}

int pk_calibration_add_float(struct pk_calibration *c, const char *name)
{
	void *layers = c->float_layers;
	char *copy = strdup(name);
	if (!copy || pk_array_grow_impl(&layers, &c->cap_float_layers, c->n_float_layers + 1,
			     sizeof(*c->float_layers)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	c->float_layers = layers;
	c->float_layers[c->n_float_layers++] = copy;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct pk_calibration_range *x = a, *y = b;
	return strcmp(x->name, y->name);
}

void pk_calibration_sort(struct pk_calibration *c)
{
	if (c->n_ranges > 1)
		qsort(c->ranges, c->n_ranges, sizeof(*c->ranges), by_name);
}

double pk_calibration_find(const struct pk_calibration *c, const char *name)
{
	struct pk_calibration_range key = {.name = (char *)(uintptr_t)name};
	const struct pk_calibration_range *found =
		c->n_ranges ? bsearch(&key, c->ranges, c->n_ranges, sizeof(key), by_name) : NULL;
	return found ? found->max : 0;
}

bool pk_calibration_is_float(const struct pk_calibration *c, const char *name)
{
	for (size_t i = 0; i < c->n_float_layers; i++)
		if (strcmp(c->float_layers[i], name) == 0)
			return true;
	return false;
}

int pk_calibration_write(const struct pk_calibration *c, struct pk_buf *out, struct pk_err *err)
{
	json_t *samples = json_array(), *ranges = json_object(), *layers = json_array();
	char digest[PK_DIGEST_TEXT];
	for (size_t i = 0; i < c->n_samples; i++) {
		pk_digest_format(&c->samples[i], digest);
		json_array_append_new(samples, json_string(digest));
	}
	for (size_t i = 0; i < c->n_ranges; i++)
		json_object_set_new(ranges, c->ranges[i].name, json_real(c->ranges[i].max));
	for (size_t i = 0; i < c->n_float_layers; i++)
		json_array_append_new(layers, json_string(c->float_layers[i]));
	pk_digest_format(&c->model, digest);
	pk_auto_json json = json_pack("{s:i, s:s, s:s, s:f, s:i, s:o, s:o, s:o}", "calibration",
		SCHEMA, "model", digest, "method", pk_range_method_name(c->method), "percentile",
		c->percentile, "count", (int)c->n_samples, "samples", samples, "ranges", ranges,
		"float_layers", layers);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	if (!text || pk_buf_str(out, text) < 0)
		return pk_fail(err, -ENOMEM, "calibration: out of memory");
	return 0;
}

static int parse_samples(struct pk_calibration *c, const json_t *list, struct pk_err *err)
{
	size_t n = json_array_size(list);
	c->samples = calloc(n + 1, sizeof(*c->samples));
	if (!c->samples)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		if (!text || pk_digest_parse(text, &c->samples[i]) < 0)
			return pk_fail(err, -EINVAL, "samples: item %zu is no digest", i);
	}
	c->n_samples = n;
	return 0;
}

static int parse_ranges(struct pk_calibration *c, json_t *ranges, struct pk_err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach (ranges, name, value) {
		double max = json_number_value(value);
		if (!json_is_number(value) || !(max > 0) || !isfinite(max))
			return pk_fail(err, -EINVAL, "ranges: `%s` is no number above 0", name);
		if (pk_calibration_add_range(c, name, max) < 0)
			return pk_fail(err, -ENOMEM, "out of memory");
	}
	pk_calibration_sort(c);
	return 0;
}

static int parse_layers(struct pk_calibration *c, const json_t *list, struct pk_err *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		if (!name)
			return pk_fail(err, -EINVAL, "float_layers: item %zu is no name", i);
		if (pk_calibration_add_float(c, name) < 0)
			return pk_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int parse_object(struct pk_calibration *c, const json_t *json, struct pk_err *err)
{
	const char *method = NULL, *model = NULL;
	int64_t schema = 0;
	int r = pk_json_get_int(json, "calibration", &schema, err);
	if (r == 0 && schema != SCHEMA)
		return pk_fail(err, -EINVAL, "calibration: version %lld", (long long)schema);
	if (r == 0)
		r = pk_json_get_str(json, "method", &method, err);
	if (r == 0)
		r = pk_json_get_num(json, "percentile", &c->percentile, err);
	if (r == 0)
		r = pk_json_get_str(json, "model", &model, err);
	if (r < 0)
		return -EINVAL;
	int known = pk_range_method_from_name(method);
	json_t *samples = json_object_get(json, "samples"),
	       *ranges = json_object_get(json, "ranges");
	json_t *layers = json_object_get(json, "float_layers");
	if (known < 0 || pk_digest_parse(model, &c->model) < 0)
		return pk_fail(err, -EINVAL, "method or model is not one");
	if (!json_is_array(samples) || !json_is_object(ranges) || !json_is_array(layers))
		return pk_fail(err, -EINVAL, "samples, ranges and float_layers are wanted");
	c->method = (enum pk_range_method)known;
	r = parse_samples(c, samples, err);
	if (r == 0)
		r = parse_ranges(c, ranges, err);
	return r < 0 ? r : parse_layers(c, layers, err);
}

int pk_calibration_parse(const void *text, size_t n, struct pk_calibration *out, struct pk_err *err)
{
	pk_auto_json json = NULL;
	*out = (struct pk_calibration){0};
	if (n > PK_CALIBRATION_MAX_BYTES)
		return pk_fail(err, -EINVAL, "calibration: %zu bytes are too many", n);
	int r = pk_json_parse(text, n, "calibration", &json, err);
	if (r < 0)
		return r;
	r = parse_object(out, json, err);
	if (r < 0) {
		pk_calibration_finish(out);
		pk_err_prefix(err, "calibration");
	}
	return r;
}
