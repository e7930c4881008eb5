// SPDX-License-Identifier: Apache-2.0
// One-to-one matching of two lists of detections.
#include "engine/gate/detection.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"

double pk_gate_box_iou(const struct pk_gate_box *a, const struct pk_gate_box *b)
{
	double w = (double)PK_MIN(a->x2, b->x2) - (double)PK_MAX(a->x1, b->x1);
	double h = (double)PK_MIN(a->y2, b->y2) - (double)PK_MAX(a->y1, b->y1);
	double area_a = ((double)a->x2 - (double)a->x1) * ((double)a->y2 - (double)a->y1);
	double area_b = ((double)b->x2 - (double)b->x1) * ((double)b->y2 - (double)b->y1);
	if (!(w > 0 && h > 0) || !isfinite(area_a) || !isfinite(area_b))
		return 0;
	double both = area_a + area_b - w * h;
	return both > 0 ? PK_MIN(1.0, w * h / both) : 0;
}

struct pair {
	double iou;
	size_t reference, found;
};

static int compare_pair(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;
	if (a->iou != b->iou)
		return a->iou > b->iou ? -1 : 1;
	if (a->reference != b->reference)
		return a->reference < b->reference ? -1 : 1;
	return a->found < b->found ? -1 : a->found > b->found;
}

struct pairing {
	struct pair *pairs;
	size_t n_pairs, cap;
	bool *reference_taken, *found_taken;
};

static void pairing_finish(struct pairing *pairing)
{
	free(pairing->pairs);
	free(pairing->reference_taken);
	free(pairing->found_taken);
}

static int add_pair(struct pairing *pairing, double iou, size_t reference, size_t found)
{
	if (pairing->n_pairs == pairing->cap) {
		size_t cap = pairing->cap ? pairing->cap * 2 : 64;
		struct pair *pairs = reallocarray(pairing->pairs, cap, sizeof(*pairs));
		if (!pairs)
			return -ENOMEM;
		pairing->pairs = pairs;
		pairing->cap = cap;
	}
	pairing->pairs[pairing->n_pairs++] = (struct pair){iou, reference, found};
	return 0;
}

static int collect_pairs(struct pairing *pairing, const struct pk_gate_box *reference,
	size_t n_reference, const struct pk_gate_box *found, size_t n_found, double min_iou)
{
	for (size_t i = 0; i < n_reference; i++) {
		for (size_t k = 0; k < n_found; k++) {
			if (reference[i].image_idx != found[k].image_idx ||
				reference[i].class_idx != found[k].class_idx ||
				!isfinite(found[k].score) || !isfinite(reference[i].score))
				continue;
			double iou = pk_gate_box_iou(&reference[i], &found[k]);
			if (iou > 0 && iou >= min_iou && add_pair(pairing, iou, i, k) < 0)
				return -ENOMEM;
		}
	}
	if (pairing->n_pairs)
		qsort(pairing->pairs, pairing->n_pairs, sizeof(*pairing->pairs), compare_pair);
	return 0;
}

static void take_pairs(struct pairing *pairing, const struct pk_gate_box *reference,
	const struct pk_gate_box *found, struct pk_match *out)
{
	double sum = 0, signed_sum = 0;
	for (size_t i = 0; i < pairing->n_pairs; i++) {
		const struct pair *pair = &pairing->pairs[i];
		if (pairing->reference_taken[pair->reference] || pairing->found_taken[pair->found])
			continue;
		pairing->reference_taken[pair->reference] = true;
		pairing->found_taken[pair->found] = true;
		double diff =
			(double)found[pair->found].score - (double)reference[pair->reference].score;
		out->n_pairs++;
		sum += fabs(diff);
		signed_sum += diff;
		out->max_score_diff = PK_MAX(out->max_score_diff, fabs(diff));
	}
	if (out->n_pairs) {
		out->mean_score_diff = sum / (double)out->n_pairs;
		out->signed_score_diff = signed_sum / (double)out->n_pairs;
	}
}

struct side {
	size_t n_clear, n_matched, n_over;
	int first_alone;
};

static struct side count_side(const struct pk_gate_box *boxes, size_t n, const bool *taken,
	const struct pk_match_options *options)
{
	struct side side = {.first_alone = -1};
	for (size_t i = 0; i < n; i++) {
		// A score that is no number stands above every threshold: it must not hide.
		double score = isfinite(boxes[i].score) ? (double)boxes[i].score : INFINITY;
		side.n_over += score >= options->threshold;
		if (score <= options->threshold + options->margin)
			continue;
		side.n_clear++;
		side.n_matched += taken[i];
		if (!taken[i] && side.first_alone < 0)
			side.first_alone = (int)i;
	}
	return side;
}

static double part(size_t n, size_t of)
{
	return of ? (double)n / (double)of : 1;
}

int pk_match_boxes(const struct pk_gate_box *reference, size_t n_reference,
	const struct pk_gate_box *found, size_t n_found, const struct pk_match_options *options,
	struct pk_match *out)
{
	*out = (struct pk_match){0};
	pk_cleanup(pairing_finish) struct pairing pairing = {
		.reference_taken = calloc(n_reference + 1, sizeof(bool)),
		.found_taken = calloc(n_found + 1, sizeof(bool)),
	};
	if (!pairing.reference_taken || !pairing.found_taken ||
		collect_pairs(&pairing, reference, n_reference, found, n_found, options->iou) < 0)
		return -ENOMEM;
	take_pairs(&pairing, reference, found, out);
	struct side a = count_side(reference, n_reference, pairing.reference_taken, options);
	struct side b = count_side(found, n_found, pairing.found_taken, options);
	out->n_reference = a.n_clear;
	out->n_found = b.n_clear;
	out->n_over_reference = a.n_over;
	out->n_over_found = b.n_over;
	out->recall = part(a.n_matched, a.n_clear);
	out->precision = part(b.n_matched, b.n_clear);
	out->first_missing = a.first_alone;
	out->first_extra = b.first_alone;
	double change = fabs((double)b.n_over - (double)a.n_over);
	out->count_change = change > 0 ? change / (double)PK_MAX(a.n_over, (size_t)1) : 0;
	return 0;
}
