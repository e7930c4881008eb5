// SPDX-License-Identifier: Apache-2.0
// What gemm and matmul nodes ask for, as one strided batched product.
#include "engine/cpu/kernels/gemm.h"

#include <string.h>

#include "engine/cpu/kernels/check.h"

static bool set_c(struct pk_gemm *g, const struct pk_value *c)
{
	const struct pk_shape *s = &c->shape;
	int64_t rows = s->rank > 1 ? s->dims[s->rank - 2] : 1;
	int64_t columns = s->rank > 0 ? s->dims[s->rank - 1] : 1;
	if (s->rank > 2 || (rows != 1 && rows != g->m) || (columns != 1 && columns != g->n))
		return false;
	g->has_c = true;
	g->c_m = rows == 1 ? 0 : columns;
	g->c_n = columns == 1 ? 0 : 1;
	return true;
}

static void single_matrix(struct pk_walk *batch)
{
	struct pk_shape none = {0};
	pk_walk_init(batch, &none);
	for (int i = 0; i < 3; i++)
		pk_walk_add_shape(batch, &none);
}

static bool init_gemm(struct pk_gemm *g, const struct pk_node *node)
{
	const struct pk_shape *a = pk_check_in_shape(node, 0), *b = pk_check_in_shape(node, 1);
	const struct pk_shape *y = pk_check_out_shape(node);
	if (a->rank != 2 || b->rank != 2 || y->rank != 2)
		return false;
	bool ta = pk_node_int(node, PK_ATTR_TRANS_A) != 0,
	     tb = pk_node_int(node, PK_ATTR_TRANS_B) != 0;
	g->m = a->dims[ta];
	g->k = a->dims[!ta];
	g->n = b->dims[!tb];
	g->a_m = ta ? 1 : a->dims[1];
	g->a_k = ta ? a->dims[1] : 1;
	g->b_k = tb ? 1 : b->dims[1];
	g->b_n = tb ? b->dims[1] : 1;
	g->alpha = pk_node_float(node, PK_ATTR_ALPHA);
	g->beta = pk_node_float(node, PK_ATTR_BETA);
	single_matrix(&g->batch);
	const struct pk_value *c = pk_check_input(node, 2);
	return b->dims[tb] == g->k && y->dims[0] == g->m && y->dims[1] == g->n &&
	       (!c || set_c(g, c));
}

// Strides of the batch axes of an operand with `rank` axes, the last `n_matrix` of them its matrix.
static bool add_batch(struct pk_walk *walk, const struct pk_shape *shape, int n_matrix)
{
	int64_t dense[PK_MAX_RANK] = {0}, strides[PK_WALK_RANK] = {0};
	int n = shape->rank - n_matrix;
	if (n > walk->rank)
		return false;
	pk_walk_dense_strides(shape, dense);
	for (int i = 0; i < n; i++) {
		int to = walk->rank - n + i;
		if (shape->dims[i] != 1 && shape->dims[i] != walk->dims[to])
			return false;
		strides[to] = shape->dims[i] == 1 ? 0 : dense[i];
	}
	pk_walk_add(walk, strides);
	return true;
}

// Operands of one axis are a row (left) or a column (right) that the output does not keep.
static bool init_matmul(struct pk_gemm *g, const struct pk_node *node)
{
	const struct pk_shape *a = pk_check_in_shape(node, 0), *b = pk_check_in_shape(node, 1);
	const struct pk_shape *y = pk_check_out_shape(node);
	if (a->rank < 1 || b->rank < 1)
		return false;
	int a_axes = a->rank > 1 ? 2 : 1, b_axes = b->rank > 1 ? 2 : 1;
	struct pk_shape batch = *y;
	batch.rank = y->rank - (a_axes - 1) - (b_axes - 1);
	g->m = a_axes == 2 ? a->dims[a->rank - 2] : 1;
	g->k = a->dims[a->rank - 1];
	g->n = b_axes == 2 ? b->dims[b->rank - 1] : 1;
	g->a_m = g->k;
	g->a_k = 1;
	g->b_k = g->n;
	g->b_n = 1;
	g->alpha = 1;
	if (b->dims[b->rank - b_axes] != g->k || batch.rank < 0)
		return false;
	if (!batch.rank) {
		single_matrix(&g->batch);
		return a->rank == a_axes && b->rank == b_axes &&
		       pk_shape_elements(y) == g->m * g->n;
	}
	pk_walk_init(&g->batch, &batch);
	return pk_shape_elements(y) == g->batch.n * g->m * g->n &&
	       add_batch(&g->batch, y, y->rank - batch.rank) && add_batch(&g->batch, a, a_axes) &&
	       add_batch(&g->batch, b, b_axes);
}

bool pk_gemm_init(struct pk_gemm *g, const struct pk_node *node)
{
	memset(g, 0, sizeof(*g));
	g->dtype = node->outputs[0]->dtype;
	return node->op == PK_OP_GEMM ? init_gemm(g, node) : init_matmul(g, node);
}
