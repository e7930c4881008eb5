// SPDX-License-Identifier: Apache-2.0
// Top-1 agreement and Kullback-Leibler divergence.
#include "engine/gate/classify.h"

#include <math.h>

#include "base/checked.h"

#define BROKEN_KL   1e3
#define PROBABILITY 1e-9 // floor: a class never seen must not make the divergence infinite

static bool row_finite(const float *row, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(row[i]))
			return false;
	}
	return true;
}

static int64_t arg_max(const float *row, int64_t n)
{
	int64_t best = 0;
	for (int64_t i = 1; i < n; i++) {
		if (row[i] > row[best])
			best = i;
	}
	return best;
}

// What a row is divided by to make it a distribution, in logarithm for logits.
static double normaliser(const float *row, int64_t n, bool is_logits)
{
	double sum = 0, top = (double)row[arg_max(row, n)];
	for (int64_t i = 0; i < n; i++)
		sum += is_logits ? exp((double)row[i] - top) : PK_MAX((double)row[i], 0.0);
	return is_logits ? top + log(sum) : sum;
}

static double probability(float value, double by, bool is_logits)
{
	double p = is_logits ? exp((double)value - by) : by > 0 ? (double)value / by : 0;
	return PK_MAX(p, PROBABILITY);
}

static double divergence(const float *found, const float *reference, int64_t n, bool is_logits)
{
	double by_found = normaliser(found, n, is_logits);
	double by_reference = normaliser(reference, n, is_logits);
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double p = probability(reference[i], by_reference, is_logits);
		double q = probability(found[i], by_found, is_logits);
		sum += p * log(p / q);
	}
	return PK_MAX(sum, 0.0);
}

void pk_class_agreement_add(struct pk_class_agreement *sum, const float *found,
	const float *reference, int64_t n_rows, int64_t n_classes, bool is_logits)
{
	double kl = sum->mean_kl * (double)sum->n_rows;
	for (int64_t i = 0; n_classes > 0 && i < n_rows; i++) {
		const float *a = found + i * n_classes, *b = reference + i * n_classes;
		bool sound = row_finite(a, n_classes) && row_finite(b, n_classes);
		sum->n_rows++;
		sum->n_same_top1 += sound && arg_max(a, n_classes) == arg_max(b, n_classes);
		kl += sound ? divergence(a, b, n_classes, is_logits) : BROKEN_KL;
	}
	sum->top1 = sum->n_rows ? (double)sum->n_same_top1 / (double)sum->n_rows : 1;
	sum->mean_kl = sum->n_rows ? kl / (double)sum->n_rows : 0;
}
