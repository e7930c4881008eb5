// SPDX-License-Identifier: Apache-2.0
// Agreement of classifiers.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/gate/classify.h"

#define assert_near(a, b, eps) assert_true(fabs((double)(a) - (double)(b)) <= (eps))

static void test_top1_and_divergence(void **state)
{
	(void)state;
	const float reference[] = {0.5f, 0.25f, 0.25f, 0.1f, 0.1f, 0.8f};
	const float found[] = {0.25f, 0.5f, 0.25f, 0.1f, 0.1f, 0.8f};
	struct pk_class_agreement sum = {0};
	pk_class_agreement_add(&sum, found, reference, 2, 3, false);
	assert_int_equal(sum.n_rows, 2);
	assert_near(sum.top1, 0.5, 0);
	// 0.5 ln 2 + 0.25 ln 0.5 = 0.25 ln 2 for the first row, 0 for the second
	assert_near(sum.mean_kl, 0.125 * log(2), 1e-7);
	pk_class_agreement_add(&sum, reference, reference, 2, 3, false);
	assert_near(sum.top1, 0.75, 0);
	assert_near(sum.mean_kl, 0.0625 * log(2), 1e-7);
}

static void test_logits(void **state)
{
	(void)state;
	// softmax of (ln 2, 0, 0) is (1/2, 1/4, 1/4); a shift of logits changes nothing
	const float reference[] = {0.69314718f, 0, 0}, found[] = {1000.69314718f, 1000, 1000};
	struct pk_class_agreement sum = {0};
	pk_class_agreement_add(&sum, found, reference, 1, 3, true);
	assert_near(sum.top1, 1, 0);
	assert_near(sum.mean_kl, 0, 1e-4);
	const float other[] = {0, 0.69314718f, 0};
	sum = (struct pk_class_agreement){0};
	pk_class_agreement_add(&sum, other, reference, 1, 3, true);
	assert_near(sum.mean_kl, 0.25 * log(2), 1e-6);
}

static void test_hostile(void **state)
{
	(void)state;
	const float reference[] = {0.5f, 0.5f}, nan[] = {NAN, 0.5f}, zeros[] = {0, 0};
	struct pk_class_agreement sum = {0};
	pk_class_agreement_add(&sum, nan, reference, 1, 2, false);
	assert_near(sum.top1, 0, 0);
	assert_near(sum.mean_kl, 1e3, 0);
	sum = (struct pk_class_agreement){0};
	pk_class_agreement_add(&sum, zeros, reference, 1, 2, false);
	assert_true(isfinite(sum.mean_kl) && sum.mean_kl > 10);
	sum = (struct pk_class_agreement){0};
	pk_class_agreement_add(&sum, NULL, NULL, 0, 0, false);
	assert_true(sum.n_rows == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top1_and_divergence),
		cmocka_unit_test(test_logits),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
