// SPDX-License-Identifier: Apache-2.0
// The ONNX messages become records: packed or not, merged, bounded in depth, number and memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "engine/onnx/model.h"
#include "tests/lib/onnx_writer.h"

#define MIB ((size_t)1 << 20)

static struct pk_buf new_buf(void)
{
	struct pk_buf buf;
	pk_buf_init(&buf, ONNX_WRITER_MAX);
	return buf;
}

static struct pk_onnx_model *parse(struct pk_arena *arena, const struct pk_buf *bytes)
{
	struct pk_onnx_model *model = NULL;
	struct pk_err err = {0};
	int rc = pk_onnx_parse(bytes->data, bytes->len, arena, &model, &err);
	if (rc)
		fail_msg("%s", err.text);
	return model;
}

static void expect_error(struct pk_buf *bytes, size_t max_bytes, int code, const char *text)
{
	pk_auto(pk_arena) arena = pk_arena_create(max_bytes);
	struct pk_onnx_model *model = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_onnx_parse(bytes->data, bytes->len, arena, &model, &err), code);
	assert_string_equal(err.text, text);
	pk_buf_finish(bytes);
}

static void test_small_model(void **state)
{
	struct pk_buf graph = new_buf(), attrs = new_buf(), bytes;
	static const int64_t pads[] = {1, -2};
	static const float weights[] = {1, 2};
	(void)state;
	onnx_attr_ints(&attrs, "pads", pads, 2);
	onnx_attr_float(&attrs, "value", 0.5f);
	onnx_attr_str(&attrs, "mode", "edge");
	onnx_node(&graph, "n", "Pad", "x,,w", "y", &attrs);
	onnx_input(&graph, "x", 1, "1,N,?");
	onnx_initializer(&graph, "w", 1, "2", weights, sizeof(weights));
	onnx_output(&graph, "y");
	onnx_model(&bytes, &graph, 11);
	pk_auto(pk_arena) arena = pk_arena_create(MIB);
	const struct pk_onnx_model *model = parse(arena, &bytes);
	const struct pk_onnx_graph *g = model->graph;
	assert_int_equal(model->opsets[0].version, 11);
	assert_int_equal(model->n_bytes, bytes.len);
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(g->nodes[0].n_inputs, 3);
	assert_int_equal(g->nodes[0].inputs[1].n, 0);
	assert_int_equal(g->nodes[0].n_attrs, 3);
	assert_int_equal(g->nodes[0].attrs[0].type, PK_ONNX_INTS);
	assert_int_equal(g->nodes[0].attrs[0].ints[1], -2);
	assert_true(g->nodes[0].attrs[1].f == 0.5f);
	assert_memory_equal(g->nodes[0].attrs[2].s.data, "edge", 4);
	assert_int_equal(g->inputs[0].elem_type, 1);
	assert_true(g->inputs[0].has_shape);
	assert_int_equal(g->inputs[0].n_dims, 3);
	assert_true(g->inputs[0].dims[0].has_value);
	assert_int_equal(g->inputs[0].dims[0].value, 1);
	assert_memory_equal(g->inputs[0].dims[1].param.data, "N", 1);
	assert_false(g->inputs[0].dims[2].has_value);
	assert_true(g->initializers[0].has_raw);
	assert_int_equal(g->initializers[0].raw.n, sizeof(weights));
	assert_false(g->outputs[0].has_shape);
	pk_buf_finish(&bytes);
}

// Field 8 (ints) of an attribute, packed in one part and unpacked in another.
static void test_packed_and_unpacked(void **state)
{
	struct pk_buf graph = new_buf(), node = new_buf(), attr = new_buf(), bytes;
	struct pk_buf tensor = new_buf();
	static const float floats[] = {1.5f, -2};
	(void)state;
	onnx_put_int(&attr, 8, 3);
	onnx_put_bytes(&attr, 8, "\x04\xac\x02", 3);
	onnx_put_int(&attr, 8, -1);
	onnx_put_bytes(&tensor, 4, floats, sizeof(floats));
	onnx_put_float(&tensor, 4, 7);
	onnx_put_sub(&attr, 5, &tensor);
	onnx_put_sub(&node, 5, &attr);
	onnx_put_sub(&graph, 1, &node);
	onnx_model(&bytes, &graph, 11);
	pk_auto(pk_arena) arena = pk_arena_create(MIB);
	const struct pk_onnx_attr *got = parse(arena, &bytes)->graph->nodes[0].attrs;
	static const int64_t want[] = {3, 4, 300, -1};
	assert_int_equal(got->n_ints, 4);
	assert_memory_equal(got->ints, want, sizeof(want));
	assert_int_equal(got->t->n_floats, 3);
	assert_true(got->t->floats[1] == -2 && got->t->floats[2] == 7);
	pk_buf_finish(&bytes);
}

static void test_merge_and_last_wins(void **state)
{
	struct pk_buf first = new_buf(), second = new_buf(), bytes = new_buf();
	(void)state;
	onnx_node(&first, "a", "Relu", "x", "y", NULL);
	onnx_put_str(&first, 2, "one");
	onnx_node(&second, "b", "Relu", "y", "z", NULL);
	onnx_put_str(&second, 2, "two");
	onnx_put_int(&bytes, 1, 3);
	onnx_put_sub(&bytes, 7, &first);
	onnx_put_int(&bytes, 1, 8);
	onnx_put_int(&bytes, 999, 1); // unknown
	onnx_put_sub(&bytes, 7, &second);
	pk_auto(pk_arena) arena = pk_arena_create(MIB);
	const struct pk_onnx_model *model = parse(arena, &bytes);
	assert_int_equal(model->ir_version, 8);
	assert_int_equal(model->graph->n_nodes, 2);
	assert_memory_equal(model->graph->nodes[1].name.data, "b", 1);
	assert_memory_equal(model->graph->name.data, "two", 3);
	pk_buf_finish(&bytes);
}

static void test_no_graph(void **state)
{
	struct pk_buf empty = new_buf(), wrong = new_buf();
	(void)state;
	expect_error(&empty, MIB, -EINVAL, "offset 0: the file ends without a graph: not ONNX?");
	onnx_put_int(&wrong, 7, 1);
	expect_error(&wrong, MIB, -EINVAL, "offset 0: field 7 of ModelProto has wire type 0");
}

static void test_packed_cut_off(void **state)
{
	struct pk_buf graph = new_buf(), tensor = new_buf(), bytes;
	(void)state;
	onnx_put_bytes(&tensor, 1, "\x01\x80", 2);
	onnx_put_sub(&graph, 5, &tensor);
	onnx_model(&bytes, &graph, 11);
	expect_error(&bytes, MIB, -EINVAL, "offset 10: varint is cut off");
	graph = new_buf();
	tensor = new_buf();
	onnx_put_bytes(&tensor, 4, "\0\0\0\0\0", 5);
	onnx_put_sub(&graph, 5, &tensor);
	onnx_model(&bytes, &graph, 11);
	expect_error(&bytes, MIB, -EINVAL, "offset 12: 32 bit value is cut off");
}

static void test_depth(void **state)
{
	struct pk_buf graph = new_buf(), bytes;
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct pk_buf attrs = new_buf(), outer = new_buf();
		onnx_attr_graph(&attrs, "g", &graph);
		onnx_node(&outer, "n", "If", "c", "y", &attrs);
		graph = outer;
	}
	onnx_model(&bytes, &graph, 11);
	pk_auto(pk_arena) arena = pk_arena_create(MIB);
	struct pk_onnx_model *model = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_onnx_parse(bytes.data, bytes.len, arena, &model, &err), -EINVAL);
	assert_non_null(strstr(err.text, ": nested deeper than 64 messages"));
	pk_buf_finish(&bytes);
}

static struct pk_buf many_nodes(size_t n)
{
	struct pk_buf graph = new_buf(), bytes;
	char *at = pk_buf_reserve(&graph, 2 * n); // an empty NodeProto is 0a 00
	assert_non_null(at);
	for (size_t i = 0; i < n; i++)
		at[2 * i] = 0x0a;
	onnx_model(&bytes, &graph, 11);
	return bytes;
}

static void test_number_and_memory(void **state)
{
	struct pk_buf bytes = many_nodes(1000001);
	(void)state;
	expect_error(&bytes, 0, -EINVAL, "offset 2000008: more than 1000000 NodeProto records");
	bytes = many_nodes(100000);
	expect_error(&bytes, MIB, -ENOMEM, "no memory for the NodeProto records of the model");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_model),
		cmocka_unit_test(test_packed_and_unpacked),
		cmocka_unit_test(test_merge_and_last_wins),
		cmocka_unit_test(test_no_graph),
		cmocka_unit_test(test_packed_cut_off),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_number_and_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
