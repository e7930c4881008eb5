// SPDX-License-Identifier: Apache-2.0
// What the quantised kernels share.
#include "engine/cpu/kernels/quant.h"

#include <string.h>

#include "engine/cpu/kernels/check.h"

void pk_quant_range(enum pk_dtype dtype, int32_t *low, int32_t *high)
{
	int bits = 8 * (int)pk_dtype_bytes(dtype);
	bool is_signed = dtype == PK_I8 || dtype == PK_I16;
	*low = is_signed ? -(1 << (bits - 1)) : 0;
	*high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

static bool is_byte(enum pk_dtype dtype)
{
	return dtype == PK_I8 || dtype == PK_U8;
}

// Types of the operands besides x and w, PK_DTYPE_NONE where n is not theirs to know.
static bool operand_ok(const struct pk_quant *q, const struct pk_value *value, int idx, int64_t n)
{
	const enum pk_dtype dtypes[PK_N_QUANT_OPERANDS] = {
		q->x, q->w, PK_I32, PK_F32, q->x, q->w, PK_F32, q->to};
	int64_t have = pk_shape_elements(&value->shape);
	bool whole = idx == PK_QUANT_X_ZERO || idx == PK_QUANT_Y_SCALE || idx == PK_QUANT_Y_ZERO;
	if (value->dtype != dtypes[idx])
		return false;
	if (idx == PK_QUANT_BIAS)
		return have == n;
	return have == 1 || (!whole && have == n);
}

bool pk_quant_init(struct pk_quant *q, const struct pk_node *node, int64_t n)
{
	*q = (struct pk_quant){
		.x = node->inputs[0]->dtype,
		.w = node->inputs[1]->dtype,
		.to = node->outputs[0]->dtype,
		.act = pk_node_fn(node, PK_ATTR_ACT),
		.alpha = (float)pk_node_float(node, PK_ATTR_ALPHA),
		.beta = (float)pk_node_float(node, PK_ATTR_BETA),
	};
	if (!is_byte(q->x) || !is_byte(q->w) || !pk_scalar_unary_fn(q->act) ||
		(!is_byte(q->to) && q->to != PK_I32 && q->to != PK_F32) ||
		node->n_inputs > PK_N_QUANT_OPERANDS)
		return false;
	for (int i = PK_QUANT_BIAS; i < node->n_inputs; i++) {
		const struct pk_value *value = node->inputs[i];
		q->has[i] = value != NULL;
		if (value &&
			(!operand_ok(q, value, i, n) || (i == PK_QUANT_Y_ZERO && !is_byte(q->to))))
			return false;
	}
	const struct pk_value *mult = pk_check_input(node, PK_QUANT_MULT);
	const struct pk_value *zero = pk_check_input(node, PK_QUANT_W_ZERO);
	q->mult_step = mult && pk_shape_elements(&mult->shape) > 1;
	q->w_zero_step = zero && pk_shape_elements(&zero->shape) > 1;
	return true;
}

// sum * mult through the activation.
static float real_of(
	const struct pk_quant *q, const struct pk_cpu_call *call, int32_t sum, int64_t channel)
{
	float v = (float)sum;
	if (q->has[PK_QUANT_MULT])
		v *= ((const float *)call->inputs[PK_QUANT_MULT])[channel * q->mult_step];
	if (q->act != PK_FN_NONE)
		v = (float)pk_scalar_unary_fn(q->act)((double)v, (double)q->alpha, (double)q->beta);
	return v;
}

void pk_quant_finish_ref(const struct pk_quant *q, const struct pk_cpu_call *call,
	const int32_t *sums, int64_t n, int64_t channel, int64_t step, int64_t y_idx)
{
	char *y = (char *)call->outputs[0] + (size_t)y_idx * pk_dtype_bytes(q->to);
	if (q->to == PK_I32) {
		memcpy(y, sums, (size_t)n * sizeof(*sums));
		return;
	}
	int32_t low = 0, high = 0, zero = pk_quant_zero(q, call, PK_QUANT_Y_ZERO);
	if (q->to != PK_F32)
		pk_quant_range(q->to, &low, &high);
	for (int64_t i = 0; i < n; i++) {
		float v = real_of(q, call, sums[i], channel + i * step);
		if (q->to == PK_F32) {
			((float *)y)[i] = v;
			continue;
		}
		if (q->has[PK_QUANT_Y_SCALE])
			v /= *(const float *)call->inputs[PK_QUANT_Y_SCALE];
		v = pk_quant_round(v, (float)(low - zero), (float)(high - zero));
		((uint8_t *)y)[i] = (uint8_t)((int32_t)v + zero);
	}
}
