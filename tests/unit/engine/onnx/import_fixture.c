// SPDX-License-Identifier: Apache-2.0
// Imports a graph that a test wrote, and looks at the result as text.
#include "tests/unit/engine/onnx/import_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/cpu/eval.h"
#include "engine/ir/text.h"
#include "engine/ir/verify.h"

struct pk_buf new_buf(void)
{
	struct pk_buf buf;
	pk_buf_init(&buf, ONNX_WRITER_MAX);
	return buf;
}

struct imported import_bytes(struct pk_buf *model, const struct pk_import_options *options)
{
	struct imported got = {.text = new_buf()};
	struct pk_import_options all = options ? *options : (struct pk_import_options){0};
	struct pk_onnx_model *parsed = NULL;
	pk_auto(pk_graph) graph = NULL;
	pk_auto(pk_arena) arena = pk_arena_create(64 << 20);
	assert_non_null(arena);
	all.evaluator = &pk_cpu_evaluator;
	got.rc = pk_onnx_parse(model->data, model->len, arena, &parsed, &got.err);
	if (!got.rc)
		got.rc = pk_onnx_import(parsed, &all, &graph, &got.err);
	if (!got.rc) {
		struct pk_err err = {0};
		if (pk_verify_graph(graph, &err))
			fail_msg("%s", err.text);
		assert_int_equal(pk_text_print(graph, NULL, &got.text), 0);
		got.n_nodes = graph->n_nodes;
	}
	pk_buf_finish(model);
	return got;
}

struct imported import_graph(
	struct pk_buf *graph, int64_t opset, const struct pk_import_options *options)
{
	struct pk_buf model;
	onnx_model(&model, graph, opset);
	return import_bytes(&model, options);
}

void expect_text(struct imported got, const char *part)
{
	if (got.rc)
		fail_msg("%s", got.err.text);
	if (!strstr(pk_buf_cstr(&got.text), part))
		fail_msg("`%s` is not in:\n%s", part, pk_buf_cstr(&got.text));
	pk_buf_finish(&got.text);
}

void expect_nodes(struct imported got, int n_nodes)
{
	if (got.rc)
		fail_msg("%s", got.err.text);
	if (got.n_nodes != n_nodes)
		fail_msg("%d nodes, %d wanted:\n%s", got.n_nodes, n_nodes, pk_buf_cstr(&got.text));
	pk_buf_finish(&got.text);
}

void expect_error(struct imported got, int code, const char *text)
{
	assert_string_equal(got.err.text, text);
	assert_int_equal(got.rc, code);
	pk_buf_finish(&got.text);
}
