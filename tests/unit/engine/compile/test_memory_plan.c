// SPDX-License-Identifier: Apache-2.0
// Buffers of graphs: views share, lifetimes hold, sections are checked.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/compile/memory_plan.h"
#include "engine/ir/text.h"

static const char chain[] = "graph {\n"
			    "  input %x: f32[1,4,8,8]\n"
			    "  %a: f32[1,4,8,8] = unary(%x) {fn=relu}\n"
			    "  %b: f32[1,4,64] = reshape(%a)\n"
			    "  %c: f32[1,4,64] = unary(%b) {fn=exp}\n"
			    "  %d: f32[1,4,64] = unary(%c) {fn=exp}\n"
			    "  output %d\n"
			    "}\n";

static const struct pk_memory_rules rules = {.align = 64};

static int read_plan(const struct pk_graph *graph, const void *data, size_t n,
	struct pk_memory_plan *out, struct pk_err *err)
{
	struct pk_section_bytes section = {data, n};
	return pk_memory_plan_read(graph, &rules, &section, out, err);
}

static struct pk_graph *parse(const char *text)
{
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

static size_t offset_of(
	const struct pk_graph *graph, const struct pk_memory_plan *plan, const char *name)
{
	return plan->offsets[pk_graph_find_value(graph, name)->id];
}

static void test_views_share_and_dead_memory_is_reused(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse(chain);
	struct pk_memory_plan plan;
	assert_int_equal(pk_memory_plan_make(graph, &rules, &plan, NULL), 0);
	assert_int_equal(offset_of(graph, &plan, "a"), offset_of(graph, &plan, "b"));
	assert_int_not_equal(offset_of(graph, &plan, "b"), offset_of(graph, &plan, "c"));
	assert_int_equal(plan.arena_bytes, 2 * 1024); // two of 1 KiB are live at once
	assert_int_equal(plan.lower_bound_bytes, 2 * 1024);
	pk_memory_plan_finish(&plan);
}

static void test_output_that_is_an_input(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse("graph {\n  input %x: f32[4]\n"
					"  %y: f32[2,2] = reshape(%x)\n"
					"  output %y\n  output %x\n}\n");
	struct pk_memory_plan plan;
	assert_int_equal(pk_memory_plan_make(graph, &rules, &plan, NULL), 0);
	assert_int_equal(offset_of(graph, &plan, "x"), offset_of(graph, &plan, "y"));
	pk_memory_plan_finish(&plan);
}

static void test_section_round_trip(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse(chain);
	struct pk_memory_plan plan, back;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 4096);
	assert_int_equal(pk_memory_plan_make(graph, &rules, &plan, NULL), 0);
	assert_int_equal(pk_memory_plan_write(&plan, &bytes), 0);
	assert_int_equal(read_plan(graph, bytes.data, bytes.len, &back, NULL), 0);
	assert_int_equal(back.arena_bytes, plan.arena_bytes);
	for (int i = 0; i < plan.n_values; i++)
		assert_int_equal(back.offsets[i], plan.offsets[i]);
	pk_memory_plan_finish(&plan);
	pk_memory_plan_finish(&back);
}

// Whatever a damaged section holds, a plan that is taken stays inside its arena without collisions.
static void test_damaged_sections_are_refused(void **state)
{
	(void)state;
	pk_auto(pk_graph) graph = parse(chain);
	struct pk_memory_plan plan, back;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 4096);
	assert_int_equal(pk_memory_plan_make(graph, &rules, &plan, NULL), 0);
	assert_int_equal(pk_memory_plan_write(&plan, &bytes), 0);
	struct pk_err err = {0};
	assert_int_equal(read_plan(graph, bytes.data, bytes.len - 8, &back, &err), -EBADMSG);
	assert_int_equal(read_plan(graph, bytes.data, 5, &back, &err), -EBADMSG);
	uint64_t *words = (uint64_t *)(void *)bytes.data;
	size_t c = 3 + (size_t)pk_graph_find_value(graph, "c")->id;
	uint64_t kept = words[c];
	static const uint64_t bad[] = {1, 8, UINT64_MAX - 63, 1u << 20};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		words[c] = bad[i];
		assert_int_equal(read_plan(graph, bytes.data, bytes.len, &back, &err), -EBADMSG);
	}
	words[c] = words[3 + (size_t)pk_graph_find_value(graph, "a")->id]; // collides with b
	assert_int_equal(read_plan(graph, bytes.data, bytes.len, &back, &err), -EBADMSG);
	words[c] = kept;
	words[0] = 64; // arena too small
	assert_int_equal(read_plan(graph, bytes.data, bytes.len, &back, &err), -EBADMSG);
	pk_memory_plan_finish(&plan);
}

static bool any_in_place(const struct pk_node *node)
{
	(void)node;
	return true;
}

// Only buffers have a say in the section; what lies in them is found from the graph.
static void test_offsets_inside_buffers_are_not_read(void **state)
{
	(void)state;
	static const struct pk_memory_rules in_place = {.align = 64, .in_place = any_in_place};
	pk_auto(pk_graph) graph = parse("graph {\n  input %x: f32[1,16]\n"
					"  %a: f32[1,16] = softmax(%x) {fn=softmax}\n"
					"  %b: f32[1,16] = softmax(%a) {fn=softmax}\n"
					"  %c: f32[1,32] = concat(%a, %b) {axis=1}\n"
					"  output %c\n}\n");
	struct pk_memory_plan plan, back;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 4096);
	assert_int_equal(pk_memory_plan_make(graph, &in_place, &plan, NULL), 0);
	assert_int_equal(pk_memory_plan_write(&plan, &bytes), 0);
	uint64_t *words = (uint64_t *)(void *)bytes.data;
	int a = pk_graph_find_value(graph, "a")->id, b = pk_graph_find_value(graph, "b")->id;
	words[3 + a] = words[3 + b] = UINT64_MAX;
	struct pk_section_bytes section = {bytes.data, bytes.len};
	assert_int_equal(pk_memory_plan_read(graph, &in_place, &section, &back, NULL), 0);
	assert_int_equal(back.offsets[a], plan.offsets[a]);
	assert_int_equal(back.offsets[b], plan.offsets[a] + 64);
	pk_memory_plan_finish(&back);
	// The same section where the kernels bear nothing in place is another plan: refused.
	assert_int_equal(pk_memory_plan_read(graph, &rules, &section, &back, NULL), -EBADMSG);
	pk_memory_plan_finish(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_share_and_dead_memory_is_reused),
		cmocka_unit_test(test_output_that_is_an_input),
		cmocka_unit_test(test_section_round_trip),
		cmocka_unit_test(test_damaged_sections_are_refused),
		cmocka_unit_test(test_offsets_inside_buffers_are_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
