// SPDX-License-Identifier: Apache-2.0
// Loading an engine uses its weights where they lie in the map.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "engine/engine.h"
#include "tests/lib/onnx_writer.h"

#define WIDTH      2048
#define ONNX_FLOAT 1

// y = x · w with 16 MiB of weights, each 1/WIDTH.
static void write_model(const char *path)
{
	size_t n = (size_t)WIDTH * WIDTH;
	pk_auto_free float *weights = malloc(n * sizeof(*weights));
	assert_non_null(weights);
	for (size_t i = 0; i < n; i++)
		weights[i] = 1.0f / WIDTH;
	pk_auto_buf struct pk_buf graph, model;
	pk_buf_init(&graph, ONNX_WRITER_MAX);
	onnx_input(&graph, "x", ONNX_FLOAT, "1,2048");
	onnx_initializer(&graph, "w", ONNX_FLOAT, "2048,2048", weights, n * sizeof(*weights));
	onnx_node(&graph, "product", "MatMul", "x,w", "y", NULL);
	onnx_output(&graph, "y");
	onnx_model(&model, &graph, 13);
	assert_int_equal(pk_buf_error(&model), 0);
	assert_int_equal(pk_fs_write_atomic(path, model.data, model.len, 0600, NULL), 0);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void check_sum(struct pk_engine *engine)
{
	struct pk_err err = {0};
	pk_auto(pk_context) context = NULL;
	assert_int_equal(pk_context_create(engine, 1, &context, &err), 0);
	float *x = pk_context_input(context, 0, 0);
	for (int i = 0; i < WIDTH; i++)
		x[i] = 3;
	assert_int_equal(pk_context_submit(context, 0, &err), 0);
	assert_int_equal(pk_context_wait(context, 0, &err), 0);
	const float *y = pk_context_output(context, 0, 0);
	assert_true(y[0] == 3 && y[WIDTH - 1] == 3);
}

static void load_allocates_no_weights(void **state)
{
	(void)state;
	char folder[] = "/tmp/picket-load-XXXXXX";
	assert_non_null(mkdtemp(folder));
	pk_auto_free char *onnx = pk_fs_join(folder, "m.onnx");
	pk_auto_free char *path = pk_fs_join(folder, "m.engine");
	write_model(onnx);
	struct pk_build_options options = {
		.onnx_path = onnx, .runtime = "cpu", .engine_path = path};
	struct pk_build_report report;
	struct pk_err err = {0};
	assert_int_equal(pk_engine_build(&options, &report, &err), 0);
	assert_true(report.weight_bytes >= 16 << 20);

	pk_auto(pk_engine) engine = NULL;
	enum pk_mismatch mismatch;
	size_t before = heap_bytes();
	assert_int_equal(pk_engine_load(path, NULL, &engine, &mismatch, &err), 0);
	assert_in_range(heap_bytes() - before, 0, 2u << 20);
	check_sum(engine);
	unlink(onnx);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(load_allocates_no_weights)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
