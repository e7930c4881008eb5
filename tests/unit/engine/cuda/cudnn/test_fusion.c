// SPDX-License-Identifier: Apache-2.0
// What a plan computes, its errata and its packing, without cuDNN: the chain of steps is worked out
// here and held against the reference kernels.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cpu/eval.h"
#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/cudnn_status.h"
#include "engine/cuda/cudnn/epilogue.h"
#include "engine/cuda/cudnn/errata.h"
#include "engine/cuda/cudnn/pack.h"
#include "engine/cuda/layout.h"
#include "engine/ir/text.h"

struct fixture {
	struct pk_graph *graph;
	struct pk_cuda_tensor inputs[8], outputs[1];
	struct pk_cuda_call call;
};

// The only node of a graph whose values lie as in an engine; the graph's own borders are left out.
static void setup(struct fixture *f, const char *text, enum pk_dtype float_type)
{
	struct pk_err err = {0};
	memset(f, 0, sizeof(*f));
	if (pk_text_parse(text, strlen(text), NULL, 0, &f->graph, &err) < 0)
		fail_msg("%s", err.text);
	const struct pk_node *node = pk_container_of(f->graph->nodes.next, struct pk_node, link);
	for (int i = 0; i < node->n_inputs; i++) {
		if (!node->inputs[i])
			continue;
		struct pk_value inner = *node->inputs[i];
		inner.is_input = false;
		pk_cuda_tensor_of(&inner, float_type, &f->inputs[i]);
	}
	struct pk_value inner = *node->outputs[0];
	inner.is_output = false;
	pk_cuda_tensor_of(&inner, float_type, &f->outputs[0]);
	f->call = (struct pk_cuda_call){
		.node = node,
		.inputs = f->inputs,
		.outputs = f->outputs,
		.float_type = float_type,
	};
}

#define CONV(attributes)                                                                           \
	"graph { input %x: f32[1,3,4,4] const %w: f32[2,3,1,1] = {1,2,3,4,5,6} "                   \
	"const %b: f32[2] = {7,8} "                                                                \
	"%y: f32[1,2,4,4] = conv(%x, %w, %b) {" attributes "} \"c\" output %y }"

static void test_conv_is_described(void **state)
{
	struct fixture f;
	struct pk_cudnn_fusion fusion;
	setup(&f, CONV("act=silu"), PK_F16);
	assert_int_equal(pk_cudnn_fusion_from(&f.call, &fusion, NULL), 0);
	assert_int_equal(fusion.core, PK_CUDNN_CONV);
	assert_int_equal(fusion.x.type, PK_CUDNN_DATA_HALF);
	assert_int_equal(fusion.x.dims[1], 8); // padded
	assert_int_equal(fusion.w.dims[0], 8);
	assert_int_equal(fusion.n_steps, 2);
	assert_int_equal(fusion.steps[0].operand, PK_CUDNN_BIAS);
	assert_int_equal(fusion.steps[1].mode, PK_CUDNN_SWISH);
	assert_false(fusion.strict);
	pk_graph_destroy(f.graph);
}

static void test_padded_channels_must_stay_zero(void **state)
{
	struct fixture f;
	struct pk_cudnn_fusion fusion;
	struct pk_err err = {0};
	setup(&f, CONV("act=sigmoid"), PK_F16);
	assert_int_equal(pk_cudnn_fusion_from(&f.call, &fusion, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "padded channels"));
	pk_graph_destroy(f.graph);
}

static void test_weights_are_packed_krsc(void **state)
{
	struct fixture f;
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	setup(&f, CONV("act=hard_swish"), PK_F32);
	assert_int_equal(pk_cudnn_fusion_from(&f.call, &fusion, NULL), 0);
	pk_cudnn_packing_of(&fusion, &packing);
	assert_int_equal(packing.bias % PK_CUDA_ALIGN, 0);
	float *out = malloc(packing.total);
	pk_cudnn_pack(&f.call, &fusion, &packing, out);
	const float expected[] = {1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0};
	assert_memory_equal(out, expected, sizeof(expected));
	const float bias[] = {7, 8, 0};
	assert_memory_equal((char *)out + packing.bias, bias, sizeof(bias));
	float three = 0;
	memcpy(&three, (char *)out + packing.scalars, sizeof(three));
	assert_true(three == 3);
	free(out);
	pk_graph_destroy(f.graph);
}

static void test_zero_point_of_x_moves_into_the_bias(void **state)
{
	struct fixture f;
	struct pk_cudnn_fusion fusion;
	struct pk_cudnn_packing packing;
	setup(&f,
		"graph { input %x: i8[1,2,2,2] const %w: i8[8,2,1,1] = "
		"{1,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1} const %b: i32[8] = {10,0,0,0,0,0,0,0} "
		"const %m: f32[1] = {0.5} const %z: i8[] = {4} const %s: f32[] = {0.25} "
		"%y: i8[1,8,2,2] = qconv(%x, %w, %b, %m, %z, _, %s) {act=relu, to=i8} \"q\" "
		"output %y }",
		PK_F16);
	assert_int_equal(pk_cudnn_fusion_from(&f.call, &fusion, NULL), 0);
	assert_int_equal(fusion.compute_type, PK_CUDNN_DATA_INT32);
	pk_cudnn_packing_of(&fusion, &packing);
	char *out = malloc(packing.total);
	pk_cudnn_pack(&f.call, &fusion, &packing, out);
	float bias[2], inverse;
	memcpy(bias, out + packing.bias, sizeof(bias));
	memcpy(&inverse, out + packing.scalars, sizeof(inverse));
	assert_true(bias[0] == (10 - 4 * 3) * 0.5f);
	assert_true(bias[1] == -4 * 2 * 0.5f);
	assert_true(inverse == 4);
	free(out);
	pk_graph_destroy(f.graph);
}

// The meaning of the modes, from cuDNN's documentation.
static double apply(
	const struct pk_cudnn_fusion *f, const struct pk_cudnn_step *s, double x, double saved)
{
	double operand = s->operand == PK_CUDNN_SAVED ? saved : f->scalars[s->scalar].value;
	double low = s->has_clip ? s->lower : 0, high = s->has_clip ? s->upper : INFINITY;
	switch (s->mode) {
	case PK_CUDNN_ADD:
		return x + operand;
	case PK_CUDNN_MUL:
		return x * operand;
	case PK_CUDNN_RELU:
		return x < low ? low + s->alpha * (x - low) : fmin(x, high);
	case PK_CUDNN_TANH:
		return tanh(x);
	case PK_CUDNN_SIGMOID:
		return 1 / (1 + exp(-x));
	case PK_CUDNN_SWISH:
		return x / (1 + exp(-x));
	case PK_CUDNN_ELU:
		return x < 0 ? s->alpha * (exp(x) - 1) : x;
	case PK_CUDNN_GELU:
		return x * 0.5 * (1 + erf(x / sqrt(2)));
	case PK_CUDNN_GELU_TANH:
		return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	case PK_CUDNN_SOFTPLUS:
		return log1p(exp(x));
	default:
		fail_msg("no mode %d", s->mode);
		return 0;
	}
}

static float by_steps(const struct pk_cudnn_fusion *f, float x)
{
	double v = x, saved = 0;
	for (int i = 0; i < f->n_steps; i++) {
		if (f->steps[i].saves)
			saved = v;
		v = apply(f, &f->steps[i], v, saved);
	}
	return (float)v;
}

static void check_act(const char *name, double alpha, double beta)
{
	enum { N = 64 };
	char text[512];
	float in[N], out[N];
	void *outputs[] = {out};
	const void *inputs[] = {in};
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	struct pk_cudnn_fusion fusion = {0};
	snprintf(text, sizeof(text),
		"graph { input %%x: f32[%d] %%y: f32[%d] = unary(%%x) {fn=%s, alpha=%.9g, "
		"beta=%.9g} \"a\" output %%y }",
		N, N, name, alpha, beta);
	for (int i = 0; i < N; i++)
		in[i] = (float)(i - N / 2) / 4;
	if (pk_text_parse(text, strlen(text), NULL, 0, &graph, &err) < 0 ||
		pk_cpu_eval_graph(graph, inputs, outputs, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	assert_int_equal(pk_cudnn_put_act(&fusion, pk_fn_from_name(name), alpha, beta), 0);
	for (int i = 0; i < N; i++) {
		float got = by_steps(&fusion, in[i]);
		if (fabsf(got - out[i]) > 1e-5f * fmaxf(1, fabsf(out[i])))
			fail_msg("%s(%g) = %g by steps, %g by the reference", name, in[i], got,
				out[i]);
	}
	assert_int_equal(
		pk_cudnn_act_keeps_zero(pk_fn_from_name(name), alpha, beta), out[N / 2] == 0);
	pk_graph_destroy(graph);
}

static void test_steps_compute_the_activation(void **state)
{
	static const struct {
		const char *name;
		double alpha, beta;
	} acts[] = {{"relu", 0, 0}, {"leaky_relu", 0.1, 0}, {"clip", 0, 6}, {"clip", -1, 1},
		{"clip", 0.5, 3}, {"sigmoid", 0, 0}, {"tanh", 0, 0}, {"silu", 0, 0},
		{"hard_sigmoid", 0.2, 0.5}, {"hard_swish", 0, 0}, {"elu", 1.5, 0}, {"gelu", 0, 0},
		{"gelu_tanh", 0, 0}, {"mish", 0, 0}, {"softplus", 0, 0}};
	for (size_t i = 0; i < PK_ARRAY_LEN(acts); i++)
		check_act(acts[i].name, acts[i].alpha, acts[i].beta);
}

static void test_unknown_act_is_refused(void **state)
{
	struct pk_cudnn_fusion fusion = {0};
	assert_int_equal(pk_cudnn_put_act(&fusion, PK_FN_SIN, 0, 0), -ENOTSUP);
}

static void test_errata(void **state)
{
	static const struct pk_cudnn_erratum table[] = {
		{90000, 90299, 87, 12, PK_CUDNN_CONV, PK_CUDNN_DATA_HALF, "wrong sums"},
		{0},
	};
	struct pk_cudnn_fusion fusion = {.core = PK_CUDNN_CONV, .x.type = PK_CUDNN_DATA_HALF};
	struct pk_cudnn_offer offer = {.version = 90100, .sm = 87, .engine = 12};
	assert_string_equal(pk_cudnn_refusal(table, &offer, &fusion), "wrong sums");
	offer.version = 90300;
	assert_null(pk_cudnn_refusal(table, &offer, &fusion));
	offer.version = 90100;
	offer.engine = 13;
	assert_null(pk_cudnn_refusal(table, &offer, &fusion));
	offer.notes = 1u << PK_CUDNN_NOTE_TENSOR_CORE;
	assert_null(pk_cudnn_refusal(table, &offer, &fusion));
	fusion.x.type = PK_CUDNN_DATA_FLOAT;
	assert_null(pk_cudnn_refusal(table, &offer, &fusion));
	fusion.strict = true;
	assert_non_null(pk_cudnn_refusal(table, &offer, &fusion));
	offer.notes = 1u << PK_CUDNN_NOTE_NONDETERMINISTIC;
	assert_non_null(pk_cudnn_refusal(table, &offer, &fusion));
}

static void test_classes(void **state)
{
	static const struct {
		int status, error;
	} cases[] = {{0, 0}, {1002, -ESTALE}, {1003, -ESTALE}, {3007, -ESTALE}, {14, -ESTALE},
		{6, -ESTALE}, {2000, -EINVAL}, {2008, -EINVAL}, {3, -EINVAL}, {3000, -ENOTSUP},
		{3002, -ENOTSUP}, {9, -ENOTSUP}, {3008, -ENODEV}, {11, -ENODEV}, {1001, -ENODEV},
		{4004, -ENOMEM}, {2, -ENOMEM}, {5000, -EIO}, {4000, -EIO}, {123456, -EIO}};
	const struct pk_cudnn_functions none = {0};
	for (size_t i = 0; i < PK_ARRAY_LEN(cases); i++)
		assert_int_equal(
			pk_cudnn_result(&none, cases[i].status, "call", NULL), cases[i].error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv_is_described),
		cmocka_unit_test(test_padded_channels_must_stay_zero),
		cmocka_unit_test(test_weights_are_packed_krsc),
		cmocka_unit_test(test_zero_point_of_x_moves_into_the_bias),
		cmocka_unit_test(test_steps_compute_the_activation),
		cmocka_unit_test(test_unknown_act_is_refused),
		cmocka_unit_test(test_errata),
		cmocka_unit_test(test_classes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
