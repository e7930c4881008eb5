// SPDX-License-Identifier: Apache-2.0
// A result as one line of JSON, schema 1.
#include "pipeline/result.h"

#include <inttypes.h>
#include <math.h>

#include "base/clock.h"

// v with a fixed number of decimals, the same under every locale; null when it is no number.
static void pk_result_put_fixed(struct pk_buf *out, double v, int decimals)
{
	static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000};
	if (!isfinite(v) || fabs(v) > 1e12) {
		pk_buf_str(out, "null");
		return;
	}
	int64_t unit = powers[decimals], n = llround(v * (double)unit);
	const char *sign = n < 0 ? "-" : "";
	int64_t magnitude = n < 0 ? -n : n;
	pk_buf_printf(out, "%s%" PRId64, sign, magnitude / unit);
	if (decimals)
		pk_buf_printf(out, ".%0*" PRId64, decimals, magnitude % unit);
}

static void pk_result_put_numbers(struct pk_buf *out, const double *v, size_t n, int decimals)
{
	for (size_t i = 0; i < n; i++) {
		pk_buf_str(out, i ? "," : "[");
		pk_result_put_fixed(out, v[i], decimals);
	}
	pk_buf_str(out, "]");
}

static void pk_result_put_string(struct pk_buf *out, const char *key, const char *value)
{
	pk_buf_printf(out, ",\"%s\":", key);
	pk_buf_json_string(out, value ? value : "");
}

static void pk_result_put_label(
	struct pk_buf *out, const struct pk_result *result, const struct pk_detection *d)
{
	const char *label = result->card ? pk_card_label(result->card, d->class_idx) : NULL;
	if (label)
		pk_buf_json_string(out, label);
	else
		pk_buf_printf(out, "\"class %d\"", d->class_idx);
}

static void pk_result_put_detection(
	struct pk_buf *out, const struct pk_result *result, const struct pk_detection *d)
{
	const struct pk_image *image = &result->frame->image;
	const double w = image->width, h = image->height;
	const double box[4] = {d->x1, d->y1, d->x2, d->y2};
	const double norm[4] = {box[0] / w, box[1] / h, box[2] / w, box[3] / h};
	pk_buf_str(out, "{\"label\":");
	pk_result_put_label(out, result, d);
	pk_buf_printf(out, ",\"class\":%d,\"score\":", d->class_idx);
	pk_result_put_fixed(out, d->score, 4);
	pk_buf_str(out, ",\"box\":");
	pk_result_put_numbers(out, box, 4, 2);
	pk_buf_str(out, ",\"box_norm\":");
	pk_result_put_numbers(out, norm, 4, 5);
	pk_buf_str(out, "}");
}

// Shortest of the usual texts that gives the float back; %g knows no locale here but its point.
static void pk_result_put_float(struct pk_buf *out, float v)
{
	if (!isfinite(v)) {
		pk_buf_str(out, "null");
		return;
	}
	size_t from = out->len;
	pk_buf_printf(out, "%.9g", (double)v);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ',')
			out->data[i] = '.';
}

static void pk_result_put_tensor(
	struct pk_buf *out, const struct pk_result_tensor *tensor, size_t *room)
{
	pk_buf_str(out, "{\"name\":");
	pk_buf_json_string(out, tensor->name);
	pk_buf_str(out, ",\"shape\":[");
	for (int i = 0; i < tensor->shape.rank; i++)
		pk_buf_printf(out, "%s%" PRId64, i ? "," : "", tensor->shape.dims[i]);
	pk_buf_str(out, "]");
	if (tensor->n > *room) {
		pk_buf_str(out, ",\"truncated\":true}");
		return;
	}
	*room -= tensor->n;
	pk_buf_str(out, ",\"data\":[");
	for (size_t i = 0; i < tensor->n; i++) {
		if (i)
			pk_buf_str(out, ",");
		pk_result_put_float(out, tensor->data[i]);
	}
	pk_buf_str(out, "]}");
}

static void pk_result_put_tensors(struct pk_buf *out, const struct pk_result *result)
{
	size_t room = PK_RESULT_MAX_VALUES;
	pk_buf_str(out, ",\"tensors\":[");
	for (size_t i = 0; i < result->n_tensors; i++) {
		if (i)
			pk_buf_str(out, ",");
		pk_result_put_tensor(out, &result->tensors[i], &room);
	}
	pk_buf_str(out, "]");
}

// Runs of equal classes in reading order; false when there are too many.
static bool pk_result_put_runs(struct pk_buf *out, const struct pk_result_map *map)
{
	size_t n = (size_t)map->width * (size_t)map->height, n_values = 0;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && map->classes[end] == map->classes[i];)
			end++;
		n_values += 2;
		if (n_values > PK_RESULT_MAX_VALUES)
			return false;
		pk_buf_printf(out, "%s%u,%zu", i ? "," : "", (unsigned)map->classes[i], end - i);
	}
	return true;
}

static void pk_result_put_map(struct pk_buf *out, const struct pk_result_map *map)
{
	const double box[4] = {(double)map->x1, (double)map->y1, (double)map->x2, (double)map->y2};
	pk_buf_printf(out, ",\"class_map\":{\"width\":%d,\"height\":%d,\"box\":", map->width,
		map->height);
	pk_result_put_numbers(out, box, 4, 2);
	size_t from = out->len;
	pk_buf_str(out, ",\"runs\":[");
	if (pk_result_put_runs(out, map)) {
		pk_buf_str(out, "]}");
		return;
	}
	out->len = from;
	pk_buf_str(out, ",\"truncated\":true}");
}

static void pk_result_put_head(struct pk_buf *out, const struct pk_result *result)
{
	const struct pk_frame *frame = result->frame;
	char time[PK_ISO_TIME_MAX];
	pk_format_iso_time(frame->realtime_ns, time);
	pk_buf_str(out, "{\"schema\":1");
	pk_result_put_string(out, "camera", result->camera);
	pk_buf_printf(out, ",\"frame\":%" PRIu64 ",\"source_run\":%" PRIu32, frame->index,
		frame->source_run);
	if (frame->pts_ns >= 0)
		pk_buf_printf(out, ",\"pts_ns\":%" PRId64, frame->pts_ns);
	else
		pk_buf_str(out, ",\"pts_ns\":null");
	pk_result_put_string(out, "time", time);
	pk_buf_str(out, ",\"age_ms\":");
	pk_result_put_fixed(out, (double)result->age_ns / (double)PK_NS_PER_MS, 2);
}

static void pk_result_put_model(struct pk_buf *out, const struct pk_result *result)
{
	pk_result_put_string(out, "rung", result->rung);
	pk_result_put_string(out, "runtime", result->runtime);
	if (result->cause && *result->cause)
		pk_result_put_string(out, "cause", result->cause);
	pk_buf_str(out, ",\"model\":{\"name\":");
	pk_buf_json_string(out, result->model ? result->model : "");
	pk_result_put_string(out, "digest", result->model_digest);
	pk_buf_str(out, "}");
}

int pk_result_write_json(const struct pk_result *result, struct pk_buf *out)
{
	const struct pk_image *image = &result->frame->image;
	pk_result_put_head(out, result);
	pk_result_put_model(out, result);
	pk_buf_printf(out, ",\"width\":%d,\"height\":%d,\"dropped\":%" PRIu64 ",\"detections\":[",
		image->width, image->height, result->n_dropped);
	for (size_t i = 0; i < result->n_detections; i++) {
		if (i)
			pk_buf_str(out, ",");
		pk_result_put_detection(out, result, &result->detections[i]);
	}
	pk_buf_str(out, "]");
	if (result->n_tensors)
		pk_result_put_tensors(out, result);
	if (result->class_map)
		pk_result_put_map(out, result->class_map);
	pk_buf_str(out, "}\n");
	return pk_buf_error(out);
}
