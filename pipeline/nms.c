// SPDX-License-Identifier: Apache-2.0
// Hard non-maximum suppression over a heap-sorted list.
#include "pipeline/nms.h"

#include "base/checked.h"

static bool pk_candidate_before(const struct pk_candidate *a, const struct pk_candidate *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	if (a->idx != b->idx)
		return a->idx < b->idx;
	return a->class_idx < b->class_idx; // multi-label heads give one idx several classes
}

static void pk_nms_sift(struct pk_candidate *c, size_t root, size_t n)
{
	struct pk_candidate moving = c[root];
	for (;;) {
		size_t child = 2 * root + 1;
		if (child >= n)
			break;
		if (child + 1 < n && pk_candidate_before(&c[child], &c[child + 1]))
			child++;
		if (!pk_candidate_before(&moving, &c[child]))
			break;
		c[root] = c[child];
		root = child;
	}
	c[root] = moving;
}

// Heap sort: qsort() may allocate.
void pk_nms_sort(struct pk_candidate *c, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		pk_nms_sift(c, i, n);
	for (size_t end = n; end-- > 1;) {
		struct pk_candidate last = c[0];
		c[0] = c[end];
		c[end] = last;
		pk_nms_sift(c, 0, end);
	}
}

static float pk_box_area(const struct pk_candidate *c)
{
	return (c->x2 - c->x1) * (c->y2 - c->y1);
}

float pk_nms_iou(const struct pk_candidate *a, const struct pk_candidate *b)
{
	float w = PK_MIN(a->x2, b->x2) - PK_MAX(a->x1, b->x1);
	float h = PK_MIN(a->y2, b->y2) - PK_MAX(a->y1, b->y1);
	if (!(w > 0) || !(h > 0))
		return 0;
	float both = w * h, all = pk_box_area(a) + pk_box_area(b) - both;
	return all > 0 ? both / all : 0;
}

static bool pk_nms_suppressed(const struct pk_candidate *c, const struct pk_candidate *kept,
	size_t n_kept, float iou, bool class_agnostic)
{
	for (size_t i = 0; i < n_kept; i++) {
		if (!class_agnostic && kept[i].class_idx != c->class_idx)
			continue;
		if (pk_nms_iou(&kept[i], c) > iou)
			return true;
	}
	return false;
}

size_t pk_nms(struct pk_candidate *c, size_t n, double iou, bool class_agnostic, size_t max_out)
{
	pk_nms_sort(c, n);
	if (iou >= 1)
		return PK_MIN(n, max_out);
	n = PK_MIN(n, (size_t)PK_NMS_MAX);
	size_t n_kept = 0;
	for (size_t i = 0; i < n && n_kept < max_out; i++)
		if (!pk_nms_suppressed(&c[i], c, n_kept, (float)iou, class_agnostic))
			c[n_kept++] = c[i];
	return n_kept;
}
