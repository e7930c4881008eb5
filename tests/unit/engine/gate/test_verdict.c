// SPDX-License-Identifier: Apache-2.0
// Rows, reasons, the exact table and the way into JSON and back.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/gate/profile.h"
#include "engine/gate/verdict.h"

static void take(struct pk_gate_verdict *v, enum pk_gate_check check, const char *name,
	double value, double limit, bool at_least)
{
	struct pk_gate_figure figure = {check, name, value, limit, at_least};
	pk_gate_verdict_take(v, &figure, "output `y` on noise");
}

static void test_worst_finding_stays(void **state)
{
	(void)state;
	struct pk_gate_verdict v;
	struct pk_err err = {0};
	pk_gate_verdict_init(&v, PK_PRECISION_FP32);
	assert_int_equal(pk_gate_verdict_result(&v, &err), 0);
	take(&v, PK_GATE_COSINE, "cosine", 0.99999, 0.9999, true);
	take(&v, PK_GATE_COSINE, "cosine", 0.99995, 0.9999, true);
	take(&v, PK_GATE_COSINE, "cosine", 1, 0.9999, true);
	assert_true(v.rows[PK_GATE_COSINE].value == 0.99995);
	assert_int_equal(v.rows[PK_GATE_COSINE].state, PK_GATE_PASSED);
	take(&v, PK_GATE_ERROR, "max error", 0.5, 0.001, false);
	take(&v, PK_GATE_ERROR, "max error", 0.2, 0.001, false);
	take(&v, PK_GATE_NOISE, "SQNR dB", 10, 60, true);
	assert_int_equal(pk_gate_verdict_reason(&v), PK_GATE_ERROR);
	assert_int_equal(pk_gate_verdict_result(&v, &err), -EBADE);
	assert_string_equal(
		err.text, "gate: G2 error: max error 0.5, limit <= 0.001 (output `y` on noise)");
}

static void test_not_a_number_fails(void **state)
{
	(void)state;
	struct pk_gate_verdict v;
	pk_gate_verdict_init(&v, PK_PRECISION_INT8);
	take(&v, PK_GATE_COSINE, "cosine", NAN, 0.99, true);
	assert_int_equal(pk_gate_verdict_reason(&v), PK_GATE_COSINE);
	take(&v, PK_GATE_COSINE, "cosine", 1, 0.99, true); // does not heal it
	assert_int_equal(v.rows[PK_GATE_COSINE].state, PK_GATE_FAILED);
	pk_auto_json json = pk_gate_verdict_json(&v);
	pk_auto_free char *text = pk_json_canonical(json);
	assert_non_null(text);
	assert_non_null(strstr(text, "\"value\":null"));
}

static void test_emptiness_never_passes(void **state)
{
	(void)state;
	struct pk_gate_verdict v;
	struct pk_err err = {0};
	pk_gate_verdict_init(&v, PK_PRECISION_FP32);
	pk_gate_verdict_skip(&v, PK_GATE_POISON, PK_GATE_NOT_RUN, "no poison mode");
	assert_int_equal(pk_gate_verdict_result(&v, &err), 0);
	pk_gate_verdict_skip(&v, PK_GATE_MATCH, PK_GATE_INCONCLUSIVE, "no boxes to match");
	assert_int_equal(pk_gate_verdict_result(&v, &err), -EBADE);
	assert_string_equal(err.text, "gate: G4 match: inconclusive: no boxes to match");
	take(&v, PK_GATE_NOISE, "SQNR dB", 10, 60, true); // a failure is the better reason
	assert_int_equal(pk_gate_verdict_reason(&v), PK_GATE_NOISE);
	take(&v, PK_GATE_MATCH, "recall", 1, 0.999, true);
	pk_gate_verdict_skip(&v, PK_GATE_MATCH, PK_GATE_INCONCLUSIVE, "too late");
	assert_int_equal(v.rows[PK_GATE_MATCH].state, PK_GATE_PASSED);
}

static void fill(struct pk_gate_verdict *v)
{
	pk_gate_verdict_init(v, PK_PRECISION_FP16);
	v->n_inputs = 4;
	v->compared = true;
	take(v, PK_GATE_SANITY, "NaN or Inf", 0, 0, false);
	take(v, PK_GATE_COSINE, "cosine", 0.9, 0.999, true);
	pk_gate_verdict_skip(v, PK_GATE_POISON, PK_GATE_NOT_RUN, "no poison mode");
}

static const char table[] =
	"gate fp16: REFUSED, 4 inputs\n"
	"  G0   sanity   passed       NaN or Inf                0  <= 0          output `y` on "
	"noise\n"
	"  G1   cosine   FAILED       cosine                  0.9  >= 0.999      output `y` on "
	"noise\n"
	"  G2   error    not run\n"
	"  G3   noise    not run\n"
	"  G4   match    not run\n"
	"  G5   score    not run\n"
	"  G6   count    not run\n"
	"  G7   map      not run\n"
	"  G8   repeat   not run\n"
	"  G9   poison   not run                                                 no poison mode\n"
	"  G10  budget   not run\n";

static void test_table(void **state)
{
	(void)state;
	struct pk_gate_verdict v;
	fill(&v);
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 16);
	pk_gate_verdict_print(&v, &out);
	assert_string_equal(pk_buf_cstr(&out), table);
}

static void test_through_json(void **state)
{
	(void)state;
	struct pk_gate_verdict v, back;
	fill(&v);
	pk_auto_json json = pk_gate_verdict_json(&v);
	assert_true(json_is_false(json_object_get(json, "passed")));
	assert_int_equal(json_array_size(json_object_get(json, "checks")), 11);
	struct pk_err err = {0};
	assert_int_equal(pk_gate_verdict_from_json(json, &back, &err), 0);
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 16);
	pk_gate_verdict_print(&back, &out);
	assert_string_equal(pk_buf_cstr(&out), table);
	static const char *const broken[] = {"{}", "[]", "{\"precision\":\"fp32\",\"checks\":[]}",
		"{\"precision\":\"fp64\"}", "{\"precision\":7}"};
	for (size_t i = 0; i < PK_ARRAY_LEN(broken); i++) {
		pk_auto_json other = json_loads(broken[i], 0, NULL);
		assert_int_equal(pk_gate_verdict_from_json(other, &back, &err), -EBADMSG);
	}
}

// Each precision is looser than the one above it, and nothing is unlimited by oversight.
static void test_profiles(void **state)
{
	(void)state;
	for (int i = PK_PRECISION_FP32; i <= PK_PRECISION_INT8; i++) {
		const struct pk_gate_profile *p = pk_gate_profile_of((enum pk_precision)i);
		assert_int_equal(p->precision, i);
		assert_true(p->max_rel_err > 0 || p->rel_err_q99 > 0);
		assert_true(p->min_cosine > 0.9 && p->min_sqnr_db > 0 && p->min_match > 0.9);
		assert_true(p->match_iou > 0 && p->score_mean > 0 && p->score_signed > 0);
		assert_true(p->count_change > 0 && p->map_retention > 0.9 && p->top1 > 0.9);
		if (i == PK_PRECISION_FP32)
			continue;
		const struct pk_gate_profile *above =
			pk_gate_profile_of((enum pk_precision)(i - 1));
		assert_true(p->min_cosine < above->min_cosine);
		assert_true(p->min_sqnr_db < above->min_sqnr_db);
		assert_true(p->min_match < above->min_match);
	}
	struct pk_gate_profile fp32 = *pk_gate_profile_of(PK_PRECISION_FP32);
	struct pk_gate_profile int8 = *pk_gate_profile_of(PK_PRECISION_INT8);
	pk_gate_profile_limit(&fp32, 2e-5, 0.99999);
	assert_true(fp32.max_rel_err == 2e-5 && fp32.min_cosine == 0.99999);
	pk_gate_profile_limit(&fp32, 0, 0);
	assert_true(fp32.max_rel_err == 2e-5 && fp32.min_cosine == 0.99999);
	pk_gate_profile_limit(&int8, 2e-5, 0.99999); // a limit for fp32: would refuse every int8
	assert_true(int8.max_rel_err == 0 && int8.min_cosine == 0.99);
	pk_gate_profile_limit(&int8, 0.5, 0.9); // but what it forgives is forgiven
	assert_true(int8.min_cosine == 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worst_finding_stays),
		cmocka_unit_test(test_not_a_number_fails),
		cmocka_unit_test(test_emptiness_never_passes),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_through_json),
		cmocka_unit_test(test_profiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
