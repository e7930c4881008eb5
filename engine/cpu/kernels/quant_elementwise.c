// SPDX-License-Identifier: Apache-2.0
// Element by element operators on bytes: qbinary and lookup, by reference and by vectors.
#include <errno.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/kernel_list.h"
#include "engine/cpu/kernels/quant_fast.h"
#include "engine/cpu/kernels/tile.h"

static bool is_byte(const struct pk_value *value)
{
	return value && (value->dtype == PK_I8 || value->dtype == PK_U8);
}

// One number of that type, or left out.
static bool whole_ok(const struct pk_node *node, int idx, enum pk_dtype dtype)
{
	const struct pk_value *value = pk_check_input(node, idx);
	return !value || (value->dtype == dtype && pk_shape_elements(&value->shape) == 1);
}

// Both scales, and the zero points that are there.
static bool numbers_ok(const struct pk_node *node)
{
	return node->inputs[2] && node->inputs[3] && whole_ok(node, 2, PK_F32) &&
	       whole_ok(node, 3, PK_F32) && whole_ok(node, 4, node->inputs[0]->dtype) &&
	       whole_ok(node, 5, node->inputs[1]->dtype) &&
	       whole_ok(node, 6, node->outputs[0]->dtype);
}

static bool qbinary_init(struct pk_qbinary *s, const struct pk_node *node)
{
	*s = (struct pk_qbinary){
		.fn = pk_node_fn(node, PK_ATTR_FN),
		.quant = {.x = node->inputs[0]->dtype,
			.w = node->inputs[1]->dtype,
			.to = node->outputs[0]->dtype,
			.act = pk_node_fn(node, PK_ATTR_ACT),
			.alpha = (float)pk_node_float(node, PK_ATTR_ALPHA),
			.beta = (float)pk_node_float(node, PK_ATTR_BETA)},
	};
	for (int i = 0; i < 3; i++)
		s->has_zero[i] = pk_check_input(node, 4 + i) != NULL;
	return is_byte(node->inputs[0]) && is_byte(node->inputs[1]) && is_byte(node->outputs[0]) &&
	       pk_scalar_unary_fn(s->quant.act) && numbers_ok(node) &&
	       (s->fn == PK_FN_ADD || s->fn == PK_FN_SUB || s->fn == PK_FN_MUL);
}

static bool shapes_ok(const struct pk_node *node)
{
	struct pk_shape joint;
	return pk_shape_broadcast(pk_check_in_shape(node, 0), pk_check_in_shape(node, 1), &joint) &&
	       pk_shape_equal(&joint, pk_check_out_shape(node));
}

static bool qbinary_supports(const struct pk_node *node)
{
	struct pk_qbinary s;
	return qbinary_init(&s, node) && shapes_ok(node);
}

static int qbinary_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	struct pk_qbinary *s = pk_arena_new(arena, struct pk_qbinary);
	if (!s)
		return -ENOMEM;
	qbinary_init(s, node);
	pk_walk_init(&s->walk, pk_check_out_shape(node));
	pk_walk_add_shape(&s->walk, pk_check_out_shape(node));
	pk_walk_add_shape(&s->walk, pk_check_in_shape(node, 0));
	pk_walk_add_shape(&s->walk, pk_check_in_shape(node, 1));
	pk_walk_fold(&s->walk);
	*state = s;
	return 0;
}

static int32_t zero_of(const struct pk_cpu_call *call, int idx, enum pk_dtype dtype)
{
	const struct pk_qbinary *s = call->state;
	return s->has_zero[idx] ? pk_quant_get(dtype, call->inputs[4 + idx], 0) : 0;
}

static uint8_t qbinary_element(const struct pk_cpu_call *call, int64_t a, int64_t b)
{
	const struct pk_qbinary *s = call->state;
	const struct pk_quant *q = &s->quant;
	int32_t low, high, zero = zero_of(call, 2, q->to);
	float u = (float)(pk_quant_get(q->x, call->inputs[0], a) - zero_of(call, 0, q->x)) *
		  *(const float *)call->inputs[2];
	float v = (float)(pk_quant_get(q->w, call->inputs[1], b) - zero_of(call, 1, q->w)) *
		  *(const float *)call->inputs[3];
	float y = s->fn == PK_FN_ADD ? u + v : s->fn == PK_FN_SUB ? u - v : u * v;
	y = (float)pk_scalar_unary_fn(q->act)((double)y, (double)q->alpha, (double)q->beta);
	pk_quant_range(q->to, &low, &high);
	return (uint8_t)((int32_t)pk_quant_round(y, (float)(low - zero), (float)(high - zero)) +
			 zero);
}

static void qbinary_run(const struct pk_cpu_call *call)
{
	const struct pk_qbinary *s = call->state;
	const struct pk_walk *w = &s->walk;
	struct pk_walk_pos pos = {0};
	uint8_t *y = call->outputs[0];
	if (!w->n)
		return;
	do {
		for (int64_t i = 0; i < pk_walk_inner(w); i++)
			y[pos.off[0] + i * pk_walk_stride(w, 0)] =
				qbinary_element(call, pos.off[1] + i * pk_walk_stride(w, 1),
					pos.off[2] + i * pk_walk_stride(w, 2));
	} while (pk_walk_next(w, &pos));
}

static bool lookup_supports(const struct pk_node *node)
{
	const struct pk_value *table = node->inputs[1];
	// A table that is made at run time could lie where the output does.
	return is_byte(node->inputs[0]) && is_byte(table) && table->data &&
	       pk_shape_elements(&table->shape) == 256 && node->outputs[0]->dtype == table->dtype &&
	       pk_shape_equal(pk_check_in_shape(node, 0), pk_check_out_shape(node));
}

static int lookup_setup(const struct pk_node *node, struct pk_arena *arena, const void **state)
{
	int64_t *n = pk_arena_new(arena, int64_t);
	if (!n)
		return -ENOMEM;
	*n = pk_shape_elements(pk_check_out_shape(node));
	*state = n;
	return 0;
}

static void lookup_run(const struct pk_cpu_call *call)
{
	const int64_t *n = call->state;
	const uint8_t *x = call->inputs[0], *table = call->inputs[1];
	uint8_t *y = call->outputs[0];
	for (int64_t i = 0; i < *n; i++)
		y[i] = table[x[i]];
}

#define ROW(op_, name_, rank_, supports_, setup_, run_)                                            \
	const struct pk_cpu_kernel pk_kernel_##name_ = {                                           \
		.op = op_,                                                                         \
		.name = #name_,                                                                    \
		.rank = rank_,                                                                     \
		.in_place = true,                                                                  \
		.supports = supports_,                                                             \
		.setup = setup_,                                                                   \
		.run = run_,                                                                       \
	};
ROW(PK_OP_QBINARY, qbinary_ref, 0, qbinary_supports, qbinary_setup, qbinary_run)
ROW(PK_OP_LOOKUP, lookup_ref, 0, lookup_supports, lookup_setup, lookup_run)
ROW(PK_OP_QBINARY, qbinary_line, 10, qbinary_supports, qbinary_setup, pk_qbinary_line_run_plain)

#if defined(__x86_64__)
static bool qbinary_supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && qbinary_supports(node);
}
static bool lookup_supports_avx2(const struct pk_node *node)
{
	return pk_tile_has_avx2() && lookup_supports(node);
}
ROW(PK_OP_QBINARY, qbinary_line_avx2, 110, qbinary_supports_avx2, qbinary_setup,
	pk_qbinary_line_run_avx2)
ROW(PK_OP_LOOKUP, lookup_line_avx2, 110, lookup_supports_avx2, lookup_setup,
	pk_lookup_line_run_avx2)
#endif
