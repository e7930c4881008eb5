// SPDX-License-Identifier: Apache-2.0
// Reference quantize and dequantize.
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/number.h"
#include "engine/cpu/kernels/quant.h"

struct quant_line {
	enum pk_dtype stored;
	bool has_zero;
	int64_t n, inner, channels; // element i has scale i / inner % channels
};

static bool is_stored(enum pk_dtype dtype)
{
	return dtype == PK_I8 || dtype == PK_U8 || dtype == PK_I16 || dtype == PK_U16;
}

static bool line_init(struct quant_line *s, const struct pk_node *node, enum pk_dtype stored)
{
	const struct pk_shape *x = pk_check_in_shape(node, 0);
	const struct pk_value *scale = node->inputs[1], *zero = pk_check_input(node, 2);
	int64_t axis = pk_node_int(node, PK_ATTR_AXIS), n = pk_shape_elements(&scale->shape);
	*s = (struct quant_line){
		.stored = stored,
		.has_zero = zero != NULL,
		.n = pk_shape_elements(x),
		.inner = 1,
		.channels = n,
	};
	if (scale->dtype != PK_F32 || !pk_shape_equal(x, pk_check_out_shape(node)) ||
		(zero && (zero->dtype != stored || pk_shape_elements(&zero->shape) != n)))
		return false;
	if (n == 1)
		return true;
	if (axis < 0 || axis >= x->rank || x->dims[axis] != n)
		return n == 0 && s->n == 0;
	for (int i = (int)axis + 1; i < x->rank; i++)
		s->inner *= x->dims[i];
	return true;
}

static bool quantize_supports(const struct pk_node *node)
{
	struct quant_line s;
	enum pk_dtype to = node->outputs[0]->dtype;
	return node->inputs[0]->dtype == PK_F32 && is_stored(to) && line_init(&s, node, to);
}

static bool dequantize_supports(const struct pk_node *node)
{
	struct quant_line s;
	enum pk_dtype from = node->inputs[0]->dtype;
	return node->outputs[0]->dtype == PK_F32 && (is_stored(from) || from == PK_I32) &&
	       line_init(&s, node, from);
}

static int setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct quant_line *s = pk_arena_new(arena, struct quant_line);
	if (!s)
		return -ENOMEM;
	bool quantize = node->op == PK_OP_QUANTIZE;
	line_init(s, node, quantize ? node->outputs[0]->dtype : node->inputs[0]->dtype);
	*state = s;
	return 0;
}

static void quantize_run(const struct pk_cpu_call *call)
{
	const struct quant_line *s = call->state;
	const float *x = call->inputs[0], *scale = call->inputs[1];
	int32_t low, high;
	pk_quant_range(s->stored, &low, &high);
	for (int64_t i = 0; i < s->n; i++) {
		int64_t channel = i / s->inner % s->channels;
		int64_t zero = s->has_zero ? pk_number_i(s->stored, call->inputs[2], channel) : 0;
		float v = pk_quant_round(
			x[i] / scale[channel], (float)(low - zero), (float)(high - zero));
		pk_number_set_i(s->stored, call->outputs[0], i, (int64_t)v + zero);
	}
}

// The difference is exact before it becomes a float.
static void dequantize_run(const struct pk_cpu_call *call)
{
	const struct quant_line *s = call->state;
	const float *scale = call->inputs[1];
	float *y = call->outputs[0];
	for (int64_t i = 0; i < s->n; i++) {
		int64_t channel = i / s->inner % s->channels;
		int64_t zero = s->has_zero ? pk_number_i(s->stored, call->inputs[2], channel) : 0;
		y[i] = (float)(pk_number_i(s->stored, call->inputs[0], i) - zero) * scale[channel];
	}
}

const struct pk_cpu_kernel pk_kernel_quantize_ref = {
	.op = PK_OP_QUANTIZE,
	.name = "quantize_ref",
	.supports = quantize_supports,
	.setup = setup,
	.run = quantize_run,
};

const struct pk_cpu_kernel pk_kernel_dequantize_ref = {
	.op = PK_OP_DEQUANTIZE,
	.name = "dequantize_ref",
	.supports = dequantize_supports,
	.setup = setup,
	.run = dequantize_run,
};
