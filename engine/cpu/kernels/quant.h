// SPDX-License-Identifier: Apache-2.0
// What the quantised kernels share: operands of qconv and qmatmul, rounding, the way from a sum to
// an output.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/scalar.h"

// Operands of qconv and qmatmul.
enum pk_quant_operand {
	PK_QUANT_X,
	PK_QUANT_W,
	PK_QUANT_BIAS,
	PK_QUANT_MULT,
	PK_QUANT_X_ZERO,
	PK_QUANT_W_ZERO,
	PK_QUANT_Y_SCALE,
	PK_QUANT_Y_ZERO,
	PK_N_QUANT_OPERANDS,
};

struct pk_quant {
	enum pk_dtype x, w, to;
	enum pk_fn act;
	float alpha, beta;
	bool has[PK_N_QUANT_OPERANDS];
	int64_t mult_step, w_zero_step; // 0: one number for all channels
};

// From a qconv or qmatmul node of n output channels (columns); false: not one these kernels do.
bool pk_quant_init(struct pk_quant *q, const struct pk_node *node, int64_t n);

// The range of an integer type that values are saturated to.
void pk_quant_range(enum pk_dtype dtype, int32_t *low, int32_t *high);

static inline int32_t pk_quant_get(enum pk_dtype dtype, const void *data, int64_t idx)
{
	return dtype == PK_I8 ? ((const int8_t *)data)[idx] : ((const uint8_t *)data)[idx];
}

// A zero point of one number, 0 when it is left out.
static inline int32_t pk_quant_zero(
	const struct pk_quant *q, const struct pk_cpu_call *call, enum pk_quant_operand operand)
{
	enum pk_dtype dtype = operand == PK_QUANT_X_ZERO ? q->x : q->to;
	return q->has[operand] ? pk_quant_get(dtype, call->inputs[operand], 0) : 0;
}

static inline int32_t pk_quant_w_zero(
	const struct pk_quant *q, const struct pk_cpu_call *call, int64_t channel)
{
	return q->has[PK_QUANT_W_ZERO]
		       ? pk_quant_get(q->w, call->inputs[PK_QUANT_W_ZERO], channel * q->w_zero_step)
		       : 0;
}

// v to the nearest integer, halves to even, kept within low..high (at most 2^21 in size); NaN gives
// low. Adding 1.5 * 2^23 leaves no bits for a fraction, so the addition itself rounds; limits are
// integers, so it is the same whether they come before or after.
static inline float pk_quant_round(float v, float low, float high)
{
	v = v > low ? v : low;
	v = v < high ? v : high;
	return (v + 0x1.8p23F) - 0x1.8p23F;
}

// Turns n sums of one channel (step 0) or of successive channels (step 1) into outputs from
// y_idx on.
void pk_quant_finish_ref(const struct pk_quant *q, const struct pk_cpu_call *call,
	const int32_t *sums, int64_t n, int64_t channel, int64_t step, int64_t y_idx);
