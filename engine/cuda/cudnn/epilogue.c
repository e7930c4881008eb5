// SPDX-License-Identifier: Apache-2.0
// Activations as chains of cuDNN's pointwise modes.
#include "engine/cuda/cudnn/epilogue.h"

#include <assert.h>
#include <errno.h>

#include "engine/cuda/cudnn/constants.h"

#define MAX_ACT_STEPS 4

// A number of a step: given, or one of the activation's parameters.
enum parameter { ZERO, NUMBER, ALPHA, BETA };
struct number {
	enum parameter kind;
	double value;
};

struct act_step {
	int mode;
	enum pk_cudnn_operand operand; // PK_CUDNN_SCALAR: of value scalar
	struct number scalar, lower, upper, alpha;
	bool has_clip;
};

#define IS(v)                                                                                      \
	{                                                                                          \
		NUMBER, v                                                                          \
	}

// Source of the formulas: ONNX operator specifications; of the modes: cuDNN backend API reference.
static const struct {
	enum pk_fn fn;
	int n;
	struct act_step steps[MAX_ACT_STEPS];
} acts[] = {
	{PK_FN_NONE, 0, {{0}}},
	{PK_FN_RELU, 1, {{.mode = PK_CUDNN_RELU}}},
	{PK_FN_LEAKY_RELU, 1, {{.mode = PK_CUDNN_RELU, .alpha = {ALPHA}}}},
	{PK_FN_CLIP, 1,
		{{.mode = PK_CUDNN_RELU, .has_clip = true, .lower = {ALPHA}, .upper = {BETA}}}},
	{PK_FN_SIGMOID, 1, {{.mode = PK_CUDNN_SIGMOID}}},
	{PK_FN_TANH, 1, {{.mode = PK_CUDNN_TANH}}},
	{PK_FN_SILU, 1, {{.mode = PK_CUDNN_SWISH}}},
	{PK_FN_ELU, 1, {{.mode = PK_CUDNN_ELU, .alpha = {ALPHA}}}},
	{PK_FN_GELU, 1, {{.mode = PK_CUDNN_GELU}}},
	{PK_FN_GELU_TANH, 1, {{.mode = PK_CUDNN_GELU_TANH}}},
	{PK_FN_SOFTPLUS, 1, {{.mode = PK_CUDNN_SOFTPLUS}}},
	{PK_FN_HARD_SIGMOID, 3,
		{{.mode = PK_CUDNN_MUL, .operand = PK_CUDNN_SCALAR, .scalar = {ALPHA}},
			{.mode = PK_CUDNN_ADD, .operand = PK_CUDNN_SCALAR, .scalar = {BETA}},
			{.mode = PK_CUDNN_RELU, .has_clip = true, .upper = IS(1)}}},
	{PK_FN_HARD_SWISH, 4,
		{{.mode = PK_CUDNN_ADD, .operand = PK_CUDNN_SCALAR, .scalar = IS(3)},
			{.mode = PK_CUDNN_RELU, .has_clip = true, .upper = IS(6)},
			{.mode = PK_CUDNN_MUL, .operand = PK_CUDNN_SAVED},
			{.mode = PK_CUDNN_MUL,
				.operand = PK_CUDNN_SCALAR,
				.scalar = IS(1.0 / 6.0)}}},
	{PK_FN_MISH, 3,
		{{.mode = PK_CUDNN_SOFTPLUS}, {.mode = PK_CUDNN_TANH},
			{.mode = PK_CUDNN_MUL, .operand = PK_CUDNN_SAVED}}},
};

static double resolve(struct number number, double alpha, double beta)
{
	switch (number.kind) {
	case NUMBER:
		return number.value;
	case ALPHA:
		return alpha;
	case BETA:
		return beta;
	default:
		return 0;
	}
}

static struct pk_cudnn_step *add_step(struct pk_cudnn_fusion *fusion)
{
	assert(fusion->n_steps < PK_CUDNN_MAX_STEPS);
	return &fusion->steps[fusion->n_steps++];
}

void pk_cudnn_put_step(struct pk_cudnn_fusion *fusion, int mode, enum pk_cudnn_operand operand)
{
	*add_step(fusion) = (struct pk_cudnn_step){.mode = mode, .operand = operand};
}

void pk_cudnn_put_scalar(
	struct pk_cudnn_fusion *fusion, int mode, enum pk_cudnn_scalar_source source, float value)
{
	assert(fusion->n_scalars < PK_CUDNN_MAX_SCALARS);
	pk_cudnn_put_step(fusion, mode, PK_CUDNN_SCALAR);
	fusion->steps[fusion->n_steps - 1].scalar = fusion->n_scalars;
	fusion->scalars[fusion->n_scalars++] =
		(struct pk_cudnn_scalar){.source = source, .value = value};
}

static void put_act_step(
	struct pk_cudnn_fusion *fusion, const struct act_step *from, double alpha, double beta)
{
	if (from->operand == PK_CUDNN_SCALAR)
		pk_cudnn_put_scalar(fusion, from->mode, PK_CUDNN_VALUE,
			(float)resolve(from->scalar, alpha, beta));
	else
		pk_cudnn_put_step(fusion, from->mode, from->operand);
	struct pk_cudnn_step *step = &fusion->steps[fusion->n_steps - 1];
	step->has_clip = from->has_clip;
	step->lower = resolve(from->lower, alpha, beta);
	step->upper = resolve(from->upper, alpha, beta);
	step->alpha = resolve(from->alpha, alpha, beta);
}

int pk_cudnn_put_act(struct pk_cudnn_fusion *fusion, enum pk_fn fn, double alpha, double beta)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(acts); i++) {
		if (acts[i].fn != fn)
			continue;
		int first = fusion->n_steps;
		for (int k = 0; k < acts[i].n; k++)
			put_act_step(fusion, &acts[i].steps[k], alpha, beta);
		if (acts[i].n > 1)
			fusion->steps[first].saves = true;
		return 0;
	}
	return -ENOTSUP;
}

bool pk_cudnn_act_keeps_zero(enum pk_fn fn, double alpha, double beta)
{
	if (fn == PK_FN_CLIP)
		return alpha <= 0 && beta >= 0;
	return fn != PK_FN_SIGMOID && fn != PK_FN_HARD_SIGMOID && fn != PK_FN_SOFTPLUS &&
	       fn != PK_FN_EXP && fn != PK_FN_COS;
}
