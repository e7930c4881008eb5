// SPDX-License-Identifier: Apache-2.0
// Mean average precision over classes and overlaps, sampled at 101 recalls.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "engine/gate/detection.h"

#define N_RECALLS     101
#define RECALL_STEP   0.01
#define N_IOUS        10
#define MAX_PER_IMAGE 100 // detections per image and class

// One class: its truth and its detections by falling score.
struct ranking {
	const struct pk_gate_box *truth;
	size_t n_truth;
	int class_idx;
	const struct pk_gate_box **found;
	size_t n_found;
	size_t n_class_truth;
	bool *taken;       // per truth box
	double *precision; // per detection
};

static int compare_class(const void *pa, const void *pb)
{
	const struct pk_gate_box *const *a = pa, *const *b = pb;
	if ((*a)->class_idx != (*b)->class_idx)
		return (*a)->class_idx < (*b)->class_idx ? -1 : 1;
	if ((*a)->score != (*b)->score)
		return (*a)->score > (*b)->score ? -1 : 1;
	return *a < *b ? -1 : *a > *b; // as given: the order among equals is the caller's
}

static const struct pk_gate_box **sort_found(
	const struct pk_gate_box *found, size_t n_found, size_t *n)
{
	const struct pk_gate_box **sorted = calloc(n_found + 1, sizeof(const struct pk_gate_box *));
	*n = 0;
	for (size_t i = 0; sorted && i < n_found; i++) {
		if (isfinite(found[i].score)) // as if never found
			sorted[(*n)++] = &found[i];
	}
	if (sorted && *n)
		qsort(sorted, *n, sizeof(*sorted), compare_class);
	return sorted;
}

// The free truth box that a detection overlaps most, at least min_iou; n_truth: none.
static size_t best_truth(
	const struct ranking *ranking, const struct pk_gate_box *box, double min_iou)
{
	size_t best = ranking->n_truth;
	double best_iou = PK_MIN(min_iou, 1 - 1e-10);
	for (size_t i = 0; i < ranking->n_truth; i++) {
		const struct pk_gate_box *truth = &ranking->truth[i];
		if (ranking->taken[i] || truth->class_idx != ranking->class_idx ||
			truth->image_idx != box->image_idx)
			continue;
		double iou = pk_gate_box_iou(truth, box);
		if (iou >= best_iou) {
			best_iou = iou;
			best = i;
		}
	}
	return best;
}

// How many better detections of the same image there are.
static size_t rank_in_image(const struct ranking *ranking, size_t at)
{
	size_t n = 0;
	for (size_t i = 0; i < at; i++)
		n += ranking->found[i]->image_idx == ranking->found[at]->image_idx;
	return n;
}

static double class_precision(struct ranking *ranking, double min_iou)
{
	double sum = 0;
	size_t n_hits = 0, n_misses = 0;
	int reached = 0; // recalls below this index have their first detection
	size_t first[N_RECALLS];
	memset(ranking->taken, 0, ranking->n_truth * sizeof(*ranking->taken));
	for (size_t i = 0; i < ranking->n_found; i++) {
		ranking->precision[i] = 0;
		if (rank_in_image(ranking, i) >= MAX_PER_IMAGE) {
			ranking->precision[i] = i ? ranking->precision[i - 1] : 0;
			continue;
		}
		size_t truth = best_truth(ranking, ranking->found[i], min_iou);
		bool hit = truth < ranking->n_truth;
		if (hit)
			ranking->taken[truth] = true;
		n_hits += hit;
		n_misses += !hit;
		ranking->precision[i] = (double)n_hits / (double)(n_hits + n_misses);
		double at = (double)n_hits / (double)ranking->n_class_truth;
		while (reached < N_RECALLS && at >= RECALL_STEP * reached)
			first[reached++] = i;
	}
	for (size_t i = ranking->n_found; i-- > 1;)
		ranking->precision[i - 1] =
			PK_MAX(ranking->precision[i - 1], ranking->precision[i]);
	for (int i = 0; i < reached; i++)
		sum += ranking->precision[first[i]];
	return sum / N_RECALLS;
}

static size_t count_class(const struct pk_gate_box *boxes, size_t n, int class_idx)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += boxes[i].class_idx == class_idx;
	return count;
}

// True when no earlier truth box has the class of box i.
static bool is_new_class(const struct pk_gate_box *truth, size_t i)
{
	return count_class(truth, i, truth[i].class_idx) == 0;
}

static void add_class(struct ranking *ranking, struct pk_average_precision *out)
{
	double sum = 0;
	for (int i = 0; i < N_IOUS; i++) {
		double ap = class_precision(ranking, 0.5 + 0.05 * i);
		if (i == 0)
			out->ap50 += ap;
		sum += ap;
	}
	out->ap50_95 += sum / N_IOUS;
	out->n_classes++;
}

// The part of the sorted detections that is of one class.
static void select_class(struct ranking *ranking, const struct pk_gate_box **sorted, size_t n)
{
	size_t begin = 0;
	while (begin < n && sorted[begin]->class_idx != ranking->class_idx)
		begin++;
	size_t end = begin;
	while (end < n && sorted[end]->class_idx == ranking->class_idx)
		end++;
	ranking->found = sorted + begin;
	ranking->n_found = end - begin;
}

int pk_average_precision(const struct pk_gate_box *truth, size_t n_truth,
	const struct pk_gate_box *found, size_t n_found, struct pk_average_precision *out)
{
	*out = (struct pk_average_precision){.n_truth = n_truth};
	size_t n_sorted;
	pk_auto_free const struct pk_gate_box **sorted = sort_found(found, n_found, &n_sorted);
	pk_auto_free bool *taken = calloc(n_truth + 1, sizeof(*taken));
	pk_auto_free double *precision = calloc(n_found + 1, sizeof(*precision));
	if (!sorted || !taken || !precision)
		return -ENOMEM;
	struct ranking ranking = {
		.truth = truth, .n_truth = n_truth, .taken = taken, .precision = precision};
	for (size_t i = 0; i < n_truth; i++) {
		if (!is_new_class(truth, i))
			continue;
		ranking.class_idx = truth[i].class_idx;
		ranking.n_class_truth = count_class(truth, n_truth, ranking.class_idx);
		select_class(&ranking, sorted, n_sorted);
		add_class(&ranking, out);
	}
	if (out->n_classes == 0)
		out->ap50 = out->ap50_95 = -1;
	else {
		out->ap50 /= (double)out->n_classes;
		out->ap50_95 /= (double)out->n_classes;
	}
	return 0;
}
