// SPDX-License-Identifier: Apache-2.0
// Operators whose output's shape depends on data: they are computed at import, or refused.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/tensor_data.h"

#define MAX_WORK (INT64_C(1) << 28)

static bool all_constant(const struct pk_importer *im)
{
	for (int i = 0; i < im->n_inputs; i++)
		if (im->inputs[i] && !im->inputs[i]->data)
			return false;
	return true;
}

static void *scratch(struct pk_importer *im, int64_t n, size_t item)
{
	void *data = NULL;
	if (n >= 0 && (uint64_t)n <= im->state->max_folded_bytes / item)
		data = pk_arena_array(im->state->scratch, (size_t)n, item);
	if (!data)
		pk_importer_fail(im, -ENOMEM, "no memory for %lld elements", (long long)n);
	return data;
}

static bool is_set(const struct pk_value *x, int64_t i)
{
	if (pk_dtype_is_float(x->dtype))
		return pk_element_get(x->dtype, x->data, (size_t)i) != 0;
	return pk_element_get_int(x->dtype, x->data, (size_t)i) != 0;
}

// Coordinates of the elements that are not zero, axis by axis: [rank, n].
int pk_import_non_zero(struct pk_importer *im)
{
	const struct pk_value *x = im->inputs[0];
	if (!x->data)
		return pk_importer_fail(im, -ENOTSUP,
			"its output has as many columns as elements are not zero, and those are "
			"computed at run time; shapes must be fixed (use a mask with Where, or cut "
			"the model before it)");
	int64_t all = pk_shape_elements(&x->shape), n = 0, column = 0, rank = x->shape.rank;
	for (int64_t i = 0; i < all; i++)
		n += is_set(x, i);
	int64_t *at = scratch(im, n * PK_MAX(rank, 1), sizeof(*at));
	for (int64_t i = 0; at && i < all; i++) {
		int64_t rest = i;
		if (!is_set(x, i))
			continue;
		for (int axis = (int)rank - 1; axis >= 0; axis--) {
			at[axis * n + column] = rest % x->shape.dims[axis];
			rest /= x->shape.dims[axis];
		}
		column++;
	}
	if (at)
		pk_emit_const(im, 0, PK_I64, &(struct pk_shape){2, {rank, n}}, at);
	return im->rc;
}

// The rows (or elements) whose condition is true, as a gather with constant indices.
int pk_import_compress(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0], *condition = im->inputs[1];
	if (!condition->data)
		return pk_importer_fail(im, -ENOTSUP,
			"its condition is computed at run time, and decides the output's shape; it "
			"must be constant");
	if (condition->dtype != PK_BOOL || condition->shape.rank != 1)
		return pk_importer_fail(im, -EINVAL, "the condition must be a list of bool");
	struct pk_shape flat = {1, {pk_shape_elements(&x->shape)}};
	bool by_axis = pk_importer_attr(im, "axis") != NULL;
	if (!by_axis)
		x = pk_emit_reshape(im, PK_TEMP, x, &flat);
	int axis =
		by_axis ? pk_importer_axis(im, pk_importer_int(im, "axis", 0), x->shape.rank) : 0;
	if (im->rc)
		return im->rc;
	int64_t n = 0, all = condition->shape.dims[0];
	int64_t *at = scratch(im, all, sizeof(*at));
	for (int64_t i = 0; at && i < all; i++)
		if (is_set(condition, i))
			at[n++] = i;
	if (at && n && at[n - 1] >= x->shape.dims[axis])
		pk_importer_fail(im, -EINVAL, "the condition is longer than axis %d", axis);
	struct pk_value *indices = im->rc ? NULL : pk_emit_const_ints(im, PK_TEMP, at, (int)n);
	struct pk_value *operands[] = {x, indices};
	struct pk_node *node = pk_emit_begin(im, PK_OP_GATHER, operands, 2);
	if (node)
		pk_node_set_int(node, PK_ATTR_AXIS, axis);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_eye_like(struct pk_importer *im)
{
	const struct pk_value *x = im->inputs[0];
	int64_t k = pk_importer_int(im, "k", 0), to = pk_importer_int(im, "dtype", 0);
	enum pk_dtype dtype = pk_importer_attr(im, "dtype") ? pk_tensor_data_dtype(to) : x->dtype;
	if (dtype == PK_DTYPE_NONE)
		return pk_importer_fail(im, -ENOTSUP, "elements of type %s are not supported",
			pk_tensor_data_type_name(to));
	if (x->shape.rank != 2)
		return pk_importer_fail(im, -EINVAL, "the input has rank %d, not 2", x->shape.rank);
	int64_t n = pk_shape_elements(&x->shape);
	uint8_t *mask = scratch(im, n, 1);
	for (int64_t i = 0; mask && i < n; i++)
		mask[i] = i % x->shape.dims[1] - i / x->shape.dims[1] == k;
	struct pk_value *eye = mask ? pk_emit_const(im, PK_TEMP, PK_BOOL, &x->shape, mask) : NULL;
	if (eye)
		pk_emit_cast(im, 0, eye, dtype);
	return im->rc;
}

// Non-maximum suppression of constants.
struct nms {
	const float *boxes, *scores;
	int64_t n_batches, n_classes, n_boxes, limit; // limit: per batch and class
	double iou, score;
	bool by_score, centred;
	int64_t *order; // boxes of one class, best first
	int64_t *rows;  // of three: batch, class, box
	int64_t n_rows;
};

struct box {
	double y1, x1, y2, x2;
};

static struct box box_of(const struct nms *s, const float *v)
{
	double a = (double)v[0], b = (double)v[1], c = (double)v[2], d = (double)v[3];
	if (s->centred) // x, y of the centre, width, height
		return (struct box){b - d / 2, a - c / 2, b + d / 2, a + c / 2};
	return (struct box){fmin(a, c), fmin(b, d), fmax(a, c), fmax(b, d)};
}

static double area(const struct box *b)
{
	return (b->y2 - b->y1) * (b->x2 - b->x1);
}

static bool suppresses(const struct nms *s, const float *kept, const float *other)
{
	struct box a = box_of(s, kept), b = box_of(s, other);
	double h = fmin(a.y2, b.y2) - fmax(a.y1, b.y1), w = fmin(a.x2, b.x2) - fmax(a.x1, b.x1);
	double common = h > 0 && w > 0 ? h * w : 0, both = area(&a) + area(&b) - common;
	return both > 0 && common / both > s->iou;
}

// Scores may be equal: the lower index comes first. (A heap would be faster; these are constants.)
static void sort_by_score(int64_t *order, int64_t n, const float *scores)
{
	for (int64_t gap = n / 2; gap > 0; gap /= 2) {
		for (int64_t i = gap; i < n; i++) {
			int64_t v = order[i], k = i;
			for (; k >= gap; k -= gap) {
				int64_t u = order[k - gap];
				if (scores[u] > scores[v] || (scores[u] == scores[v] && u < v))
					break;
				order[k] = u;
			}
			order[k] = v;
		}
	}
}

static void select_class(struct nms *s, int64_t batch, int64_t class)
{
	const float *scores = s->scores + (batch * s->n_classes + class) * s->n_boxes;
	const float *boxes = s->boxes + batch * s->n_boxes * 4;
	int64_t n = 0, first = s->n_rows;
	for (int64_t i = 0; i < s->n_boxes; i++)
		if (!s->by_score || (double)scores[i] > s->score)
			s->order[n++] = i;
	sort_by_score(s->order, n, scores);
	for (int64_t i = 0; i < n && s->n_rows - first < s->limit; i++) {
		bool keep = true;
		for (int64_t k = first; keep && k < s->n_rows; k++)
			keep = !suppresses(
				s, boxes + s->rows[k * 3 + 2] * 4, boxes + s->order[i] * 4);
		if (!keep)
			continue;
		int64_t *row = s->rows + s->n_rows++ * 3;
		row[0] = batch;
		row[1] = class;
		row[2] = s->order[i];
	}
}

static bool nms_operands(struct pk_importer *im, struct nms *s)
{
	const struct pk_value *boxes = im->inputs[0], *scores = im->inputs[1];
	double limit = 0;
	pk_value_scalar(pk_importer_input(im, 2), &limit);
	pk_value_scalar(pk_importer_input(im, 3), &s->iou);
	s->by_score = pk_value_scalar(pk_importer_input(im, 4), &s->score);
	s->centred = pk_importer_int(im, "center_point_box", 0) != 0;
	if (boxes->dtype != PK_F32 || scores->dtype != PK_F32 || boxes->shape.rank != 3 ||
		scores->shape.rank != 3 || boxes->shape.dims[2] != 4 ||
		boxes->shape.dims[0] != scores->shape.dims[0] ||
		boxes->shape.dims[1] != scores->shape.dims[2])
		return false;
	s->boxes = boxes->data;
	s->scores = scores->data;
	s->n_batches = boxes->shape.dims[0];
	s->n_boxes = boxes->shape.dims[1];
	s->n_classes = scores->shape.dims[1];
	s->limit = limit > 0 ? (int64_t)fmin(limit, (double)s->n_boxes) : 0;
	return true;
}

int pk_import_non_max_suppression(struct pk_importer *im)
{
	struct nms s = {0};
	if (!all_constant(im))
		return pk_importer_fail(im, -ENOTSUP,
			"its output has as many rows as boxes are kept, and those are computed at "
			"run time; shapes must be fixed: cut the model before it (Picket "
			"suppresses "
			"boxes itself, by the model card)");
	if (!nms_operands(im, &s))
		return pk_importer_fail(im, -EINVAL,
			"boxes must be [batches,boxes,4] and scores [batches,classes,boxes]");
	int64_t pairs = s.n_batches * s.n_classes; // both below 2^31
	if (s.n_boxes && s.limit && pairs > MAX_WORK / s.n_boxes / s.limit)
		return pk_importer_fail(im, -EFBIG, "too many boxes to compute at import");
	s.order = scratch(im, s.n_boxes, sizeof(int64_t));
	s.rows = s.limit ? scratch(im, pairs * s.limit, 3 * sizeof(int64_t)) : s.order;
	if (im->rc)
		return im->rc;
	for (int64_t i = 0; s.limit && i < pairs; i++)
		select_class(&s, i / s.n_classes, i % s.n_classes);
	pk_emit_const(im, 0, PK_I64, &(struct pk_shape){2, {s.n_rows, 3}}, s.rows);
	return im->rc;
}
