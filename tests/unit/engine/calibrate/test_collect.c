// SPDX-License-Identifier: Apache-2.0
// Collecting over samples, and going on from a saved state.
#include "engine/calibrate/collect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ir/text.h"

static const char text[] = "graph {\n  input %x: f32[4]\n  const %k: f32[] = {-3}\n"
			   "  %m: f32[4] = binary(%x, %k) {fn=mul}\n"
			   "  %y: f32[4] = unary(%m) {fn=relu}\n  output %y\n}\n";
static const float samples[3][4] = {{1, 2, 3, 4}, {-1, -0.5F, 0, 8}, {0.25F, -10, 2, 1}};

static struct pk_graph *parse(void)
{
	struct pk_graph *graph = NULL;
	assert_int_equal(pk_text_parse(text, strlen(text), NULL, 0, &graph, NULL), 0);
	return graph;
}

static void feed(struct pk_collector *c, int first, int end)
{
	for (int i = first; i < end; i++) {
		struct pk_digest digest;
		struct pk_err err = {0};
		assert_int_equal(pk_digest_bytes(samples[i], sizeof(samples[i]), &digest), 0);
		assert_false(pk_collector_has(c, &digest));
		assert_int_equal(pk_collector_run(c, samples[i], &digest, &err), 0);
		assert_true(pk_collector_has(c, &digest));
	}
}

static void test_ranges(void **state)
{
	pk_auto(pk_graph) graph = parse();
	struct pk_collector c;
	struct pk_calibration found;
	struct pk_digest model = {{1}};
	assert_int_equal(pk_collector_init(&c, graph, &model, NULL), 0);
	feed(&c, 0, 3);
	assert_int_equal(pk_collector_ranges(&c, PK_RANGE_MINMAX, 99.9, &found, NULL), 0);
	assert_int_equal(found.n_samples, 3);
	assert_true(pk_calibration_find(&found, "x") == 10);
	assert_true(pk_calibration_find(&found, "m") == 30);
	assert_true(pk_calibration_find(&found, "y") == 30); // of -10
	assert_true(pk_calibration_find(&found, "k") == 0);  // constants have none
	pk_calibration_finish(&found);
	pk_collector_finish(&c);
}

static void test_state(void **state)
{
	pk_auto(pk_graph) graph = parse();
	struct pk_collector whole, half, rest;
	struct pk_digest model = {{1}}, other = {{2}};
	struct pk_buf saved, want, have;
	pk_buf_init(&saved, 1 << 20);
	pk_buf_init(&want, 1 << 20);
	pk_buf_init(&have, 1 << 20);
	assert_int_equal(pk_collector_init(&whole, graph, &model, NULL), 0);
	assert_int_equal(pk_collector_init(&half, graph, &model, NULL), 0);
	assert_int_equal(pk_collector_init(&rest, graph, &model, NULL), 0);
	feed(&whole, 0, 3);
	feed(&half, 0, 2);
	assert_int_equal(pk_collector_save(&half, &saved, NULL), 0);
	assert_int_equal(pk_collector_restore(&rest, saved.data, saved.len, NULL), 0);
	feed(&rest, 2, 3);
	assert_int_equal(pk_collector_save(&whole, &want, NULL), 0);
	assert_int_equal(pk_collector_save(&rest, &have, NULL), 0);
	assert_string_equal(pk_buf_cstr(&have), pk_buf_cstr(&want));
	rest.model = other;
	assert_int_equal(pk_collector_restore(&rest, saved.data, saved.len, NULL), -ESTALE);
	assert_int_equal(rest.n_samples, 0);
	for (size_t n = 0; n < saved.len; n++) // every cut is noticed
		assert_int_equal(pk_collector_restore(&half, saved.data, n, NULL), -EINVAL);
	pk_collector_finish(&whole);
	pk_collector_finish(&half);
	pk_collector_finish(&rest);
	pk_buf_finish(&saved);
	pk_buf_finish(&want);
	pk_buf_finish(&have);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
