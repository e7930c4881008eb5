// SPDX-License-Identifier: Apache-2.0
// Building, running and comparing cuda engines on the test double.
#include "tests/gpu/runtime/cuda_case.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/eval.h"
#include "engine/ir/text.h"

const struct pk_fake_cuda *cuda_case_begin(void)
{
	static const char *const libraries[] = {"libcuda.so.1", "libnvrtc.so.13", "libcudnn.so.9"};
	const struct pk_fake_cuda *fake = NULL;
	setenv("PICKET_FAKE_KERNELS", FAKE_KERNELS, 1);
	for (size_t i = 0; i < PK_ARRAY_LEN(libraries); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", FAKE_CUDA_DIR, libraries[i]);
		void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
		if (!handle)
			fail_msg("%s", dlerror());
		if (i == 0)
			fake = dlsym(handle, "pk_fake_cuda");
	}
	assert_non_null(fake);
	return fake;
}

static int build(
	struct pk_graph *graph, enum pk_dtype float_type, struct pk_buf *bytes, struct pk_err *err)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	pk_auto(pk_timing_cache) timing = pk_timing_cache_open(NULL, "");
	struct pk_runtime_build job = {.graph = graph, .timing = timing, .float_type = float_type};
	int r = pk_cuda_runtime.build(&job, writer, err);
	return r < 0 ? r : pk_plan_writer_to_buf(writer, bytes);
}

int cuda_engine_make(struct pk_graph *graph, enum pk_dtype float_type, struct cuda_engine *engine,
	struct pk_err *err)
{
	enum pk_mismatch mismatch;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, 1u << 30);
	*engine = (struct cuda_engine){0};
	int r = build(graph, float_type, &bytes, err);
	if (r < 0)
		return r;
	engine->image =
		aligned_alloc(PK_PLAN_WEIGHT_ALIGN, pk_align_up(bytes.len, PK_PLAN_WEIGHT_ALIGN));
	memcpy(engine->image, bytes.data, bytes.len);
	r = pk_plan_from_bytes(engine->image, bytes.len, &engine->plan, &mismatch, err);
	if (r == 0)
		r = pk_cuda_runtime.load(engine->plan, &engine->loaded, err);
	if (r < 0)
		cuda_engine_finish(engine);
	return r;
}

void cuda_engine_finish(struct cuda_engine *engine)
{
	pk_cuda_runtime.unload(engine->loaded);
	pk_plan_close(engine->plan);
	free(engine->image);
	*engine = (struct cuda_engine){0};
}

struct pk_graph *cuda_case_graph(const char *text)
{
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

void cuda_case_fill(const struct pk_value *value, int idx, void *data)
{
	uint32_t seed = 77u + (uint32_t)idx;
	int64_t n = pk_shape_elements(&value->shape);
	if (value->dtype != PK_F32) {
		memset(data, 1, pk_tensor_bytes(value->dtype, &value->shape));
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		((float *)data)[i] = (float)(seed >> 8) / 4194304.0f - 2.0f;
	}
}

static double compare(const struct pk_value *value, const void *found, const void *expected)
{
	size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
	const float *a = found, *b = expected;
	double low = INFINITY, high = -INFINITY, worst = 0;
	if (value->dtype != PK_F32)
		return memcmp(found, expected, bytes) != 0;
	for (size_t i = 0; i < bytes / sizeof(float); i++) {
		double difference = fabs((double)a[i] - (double)b[i]);
		low = fmin(low, (double)b[i]);
		high = fmax(high, (double)b[i]);
		worst = isnan(difference) ? INFINITY : fmax(worst, difference);
	}
	return worst == 0 ? 0 : worst / fmax(high - low, 1e-6);
}

static void run_reference(const struct pk_graph *graph, void **inputs, void **outputs)
{
	struct pk_err err = {0};
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct pk_value *value = graph->inputs[i];
		inputs[i] = calloc(1, pk_tensor_bytes(value->dtype, &value->shape) + 1);
		cuda_case_fill(value, i, inputs[i]);
	}
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		outputs[i] = calloc(1, pk_tensor_bytes(value->dtype, &value->shape) + 1);
	}
	if (pk_cpu_eval_graph(graph, (const void *const *)inputs, outputs, &err) < 0)
		fail_msg("%s", err.text);
}

static void run_engine(void *context, const struct pk_graph *graph)
{
	struct pk_err err = {0};
	for (int i = 0; i < graph->n_inputs; i++)
		cuda_case_fill(graph->inputs[i], i, pk_cuda_runtime.input(context, 0, i));
	int r = pk_cuda_runtime.submit(context, 0, &err);
	if (r == 0)
		r = pk_cuda_runtime.wait(context, 0, &err);
	if (r < 0)
		fail_msg("%s", err.text);
}

double cuda_case_difference(const struct cuda_engine *engine, const struct pk_graph *reference)
{
	enum { MAX_IO = 16 };
	void *inputs[MAX_IO] = {NULL}, *outputs[MAX_IO] = {NULL}, *context = NULL;
	struct pk_err err = {0};
	double worst = 0;
	run_reference(reference, inputs, outputs);
	if (pk_cuda_runtime.context_create(engine->loaded, 1, &context, &err) < 0)
		fail_msg("%s", err.text);
	run_engine(context, reference);
	for (int i = 0; i < reference->n_outputs; i++)
		worst = fmax(worst, compare(reference->outputs[i],
					    pk_cuda_runtime.output(context, 0, i), outputs[i]));
	pk_cuda_runtime.context_destroy(context);
	for (int i = 0; i < MAX_IO; i++) {
		free(inputs[i]);
		free(outputs[i]);
	}
	return worst;
}

int cuda_case_count(const struct cuda_engine *engine, const char *kernel)
{
	const struct pk_graph *graph = pk_cuda_runtime.describe(engine->loaded, NULL);
	const struct pk_node *node;
	int n = 0;
	pk_graph_each_node (node, graph)
		n += node->kernel && strcmp(node->kernel, kernel) == 0;
	return n;
}
