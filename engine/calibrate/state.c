// SPDX-License-Identifier: Apache-2.0
// The state of a calibration run as JSON: histograms so far and the samples they hold.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/calibrate/collect.h"

static json_t *histogram_json(const struct pk_magnitudes *h)
{
	json_t *bins = json_array(); // index and count of those that are not empty
	for (int i = 0; i < PK_MAGNITUDES_BINS; i++) {
		if (!h->bins[i])
			continue;
		json_array_append_new(bins, json_integer(i));
		json_array_append_new(bins, json_integer((json_int_t)h->bins[i]));
	}
	return json_pack("{s:f, s:f, s:I, s:o}", "range", h->range, "max", h->max, "zeros",
		(json_int_t)h->n_zeros, "bins", bins);
}

int pk_collector_save(const struct pk_collector *c, struct pk_buf *out, struct pk_err *err)
{
	json_t *samples = json_array(), *histograms = json_object();
	char digest[PK_DIGEST_TEXT];
	for (size_t i = 0; i < c->n_samples; i++) {
		pk_digest_format(&c->samples[i], digest);
		json_array_append_new(samples, json_string(digest));
	}
	for (int i = 0; i < c->graph->n_values; i++) {
		const struct pk_magnitudes *h = &c->histograms[i];
		if (h->range > 0 || h->n_zeros)
			json_object_set_new(
				histograms, c->graph->values[i]->name, histogram_json(h));
	}
	pk_digest_format(&c->model, digest);
	pk_auto_json json = json_pack("{s:i, s:s, s:o, s:o}", "state", 1, "model", digest,
		"samples", samples, "histograms", histograms);
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	if (!text || pk_buf_str(out, text) < 0)
		return pk_fail(err, -ENOMEM, "calibration state: out of memory");
	return 0;
}

static bool read_bins(struct pk_magnitudes *h, const json_t *bins)
{
	size_t n = json_array_size(bins);
	for (size_t i = 0; i + 1 < n; i += 2) {
		json_int_t idx = json_integer_value(json_array_get(bins, i));
		json_int_t count = json_integer_value(json_array_get(bins, i + 1));
		if (idx < 0 || idx >= PK_MAGNITUDES_BINS || count < 1)
			return false;
		h->bins[idx] = (uint64_t)count;
	}
	return n % 2 == 0;
}

static bool read_histogram(struct pk_magnitudes *h, const json_t *json)
{
	int exponent;
	json_int_t zeros = json_integer_value(json_object_get(json, "zeros"));
	*h = (struct pk_magnitudes){
		.range = json_number_value(json_object_get(json, "range")),
		.max = json_number_value(json_object_get(json, "max")),
		.n_zeros = (uint64_t)zeros,
	};
	bool power = h->range == 0 ||
		     (isfinite(h->range) && h->range > 0 && frexp(h->range, &exponent) == 0.5);
	return power && zeros >= 0 && h->max >= 0 && h->max <= h->range &&
	       read_bins(h, json_object_get(json, "bins"));
}

static int read_samples(struct pk_collector *c, const json_t *list)
{
	size_t n = json_array_size(list);
	free(c->samples);
	c->n_samples = c->cap_samples = 0;
	c->samples = calloc(n + 1, sizeof(*c->samples));
	if (!c->samples)
		return -ENOMEM;
	c->cap_samples = n + 1;
	for (; c->n_samples < n; c->n_samples++) {
		const char *text = json_string_value(json_array_get(list, c->n_samples));
		if (!text || pk_digest_parse(text, &c->samples[c->n_samples]) < 0)
			return -EINVAL;
	}
	return 0;
}

static int read_state(struct pk_collector *c, const json_t *json, struct pk_err *err)
{
	const char *model = json_string_value(json_object_get(json, "model")), *name;
	json_t *histograms = json_object_get(json, "histograms"), *value;
	struct pk_digest digest;
	if (json_integer_value(json_object_get(json, "state")) != 1 || !model ||
		pk_digest_parse(model, &digest) < 0)
		return pk_fail(err, -EINVAL, "calibration state: it is none");
	if (!pk_digest_equal(&digest, &c->model))
		return pk_fail(err, -ESTALE, "calibration state: of another model");
	int r = read_samples(c, json_object_get(json, "samples"));
	json_object_foreach (histograms, name, value) {
		const struct pk_value *of = pk_graph_find_value(c->graph, name);
		if (r == 0 && !of)
			return pk_fail(err, -ESTALE, "calibration state: no value `%s`", name);
		if (r == 0 && !read_histogram(&c->histograms[of->id], value))
			r = -EINVAL;
	}
	return r < 0 ? pk_fail(err, r, "calibration state: damaged") : 0;
}

int pk_collector_restore(struct pk_collector *c, const void *text, size_t n, struct pk_err *err)
{
	pk_auto_json json = NULL;
	int r = pk_json_parse(text, n, "calibration state", &json, err);
	if (r == 0)
		r = read_state(c, json, err);
	if (r < 0) {
		c->n_samples = 0;
		memset(c->histograms, 0, (size_t)c->graph->n_values * sizeof(*c->histograms));
		return r == -ESTALE || r == -ENOMEM ? r : -EINVAL;
	}
	return 0;
}
