// SPDX-License-Identifier: Apache-2.0
// Types of normalisations, matrix products and reductions.
#include <errno.h>

#include "base/checked.h"
#include "engine/ir/infer_impl.h"

static int pk_infer_epsilon(struct pk_infer *infer)
{
	double epsilon = pk_node_float(infer->node, PK_ATTR_EPSILON);
	if (!(epsilon >= 0 && epsilon < 1e30))
		return pk_fail(infer->err, -EINVAL, "epsilon: %g", epsilon);
	return 0;
}

// x and per-channel vectors named by what[] as operands 1, 2, …
static int pk_infer_channel_norm(struct pk_infer *infer, const char *const *what, int n_what)
{
	int r = pk_infer_same_dtype(infer, PK_DT_FLOAT);
	if (r == 0)
		r = pk_infer_rank(infer, 2, PK_MAX_RANK);
	if (r == 0)
		r = pk_infer_epsilon(infer);
	for (int i = 0; i < n_what && r == 0; i++)
		r = pk_infer_vector(infer, i + 1, infer->node->inputs[0]->shape.dims[1], what[i]);
	return r;
}

static const char *const pk_norm_operands[] = {"scale", "bias", "mean", "variance"};

int pk_infer_batch_norm(struct pk_infer *infer)
{
	return pk_infer_channel_norm(infer, pk_norm_operands, 4);
}

int pk_infer_instance_norm(struct pk_infer *infer)
{
	int r = pk_infer_channel_norm(infer, pk_norm_operands, 2);
	return r < 0 ? r : pk_infer_rank(infer, 3, PK_MAX_RANK);
}

int pk_infer_layer_norm(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_FLOAT);
	if (r == 0)
		r = pk_infer_epsilon(infer);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	const struct pk_shape *x = &infer->node->inputs[0]->shape;
	struct pk_shape inner = {.rank = x->rank - axis};
	for (int i = axis; i < x->rank; i++)
		inner.dims[i - axis] = x->dims[i];
	r = pk_infer_broadcasts_to(infer, 1, &inner, "scale");
	return r < 0 ? r : pk_infer_broadcasts_to(infer, 2, &inner, "bias");
}

int pk_infer_gemm(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_WIDE);
	if (r < 0)
		return r;
	const struct pk_shape *a = &infer->node->inputs[0]->shape;
	const struct pk_shape *b = &infer->node->inputs[1]->shape;
	if (a->rank != 2 || b->rank != 2)
		return pk_fail(infer->err, -EINVAL, "operands must be matrices");
	int ta = (int)pk_node_int(infer->node, PK_ATTR_TRANS_A);
	int tb = (int)pk_node_int(infer->node, PK_ATTR_TRANS_B);
	if (a->dims[1 - ta] != b->dims[tb])
		return pk_fail(infer->err, -EINVAL, "inner dims are %lld and %lld",
			(long long)a->dims[1 - ta], (long long)b->dims[tb]);
	infer->out[0].shape = (struct pk_shape){2, {a->dims[ta], b->dims[1 - tb]}};
	return pk_infer_broadcasts_to(infer, 2, &infer->out[0].shape, "addend");
}

// The leading (batch) dims of a matrix stack; none of a vector.
static struct pk_shape pk_matmul_batch(const struct pk_shape *s)
{
	struct pk_shape batch = *s;
	batch.rank = PK_MAX(s->rank - 2, 0);
	return batch;
}

// A vector on the left is a row, on the right a column; its dim is dropped from the result.
int pk_infer_matmul_shape(struct pk_infer *infer)
{
	const struct pk_shape *a = &infer->node->inputs[0]->shape;
	const struct pk_shape *b = &infer->node->inputs[1]->shape;
	if (a->rank < 1 || b->rank < 1)
		return pk_fail(infer->err, -EINVAL, "operands must not be scalars");
	int64_t ka = a->dims[a->rank - 1], kb = b->dims[b->rank == 1 ? 0 : b->rank - 2];
	if (ka != kb)
		return pk_fail(infer->err, -EINVAL, "inner dims are %lld and %lld", (long long)ka,
			(long long)kb);
	struct pk_shape batch_a = pk_matmul_batch(a), batch_b = pk_matmul_batch(b);
	struct pk_shape *out = &infer->out[0].shape;
	if (!pk_shape_broadcast(&batch_a, &batch_b, out))
		return pk_fail(infer->err, -EINVAL, "batch dims do not broadcast");
	if (a->rank > 1)
		out->dims[out->rank++] = a->dims[a->rank - 2];
	if (b->rank > 1)
		out->dims[out->rank++] = b->dims[b->rank - 1];
	return 0;
}

int pk_infer_matmul(struct pk_infer *infer)
{
	int r = pk_infer_same_dtype(infer, PK_DT_WIDE);
	return r < 0 ? r : pk_infer_matmul_shape(infer);
}

int pk_infer_softmax(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	if (fn != PK_FN_SOFTMAX && fn != PK_FN_LOG_SOFTMAX)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` is no softmax", pk_fn_name(fn));
	int r = pk_infer_dtype_in(infer, 0, PK_DT_FLOAT);
	if (r < 0)
		return r;
	int axis = pk_infer_axis(infer);
	return axis < 0 ? axis : 0;
}

static void pk_infer_drop_axis(struct pk_shape *shape, int axis)
{
	for (int i = axis; i + 1 < shape->rank; i++)
		shape->dims[i] = shape->dims[i + 1];
	shape->rank--;
}

int pk_infer_reduce(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	if (pk_fn_class(fn) != PK_FN_CLASS_R)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` is no reduction", pk_fn_name(fn));
	bool order = fn == PK_FN_REDUCE_MAX || fn == PK_FN_REDUCE_MIN;
	int r = pk_infer_dtype_in(infer, 0, order ? PK_DT_ANY : PK_DT_NUMBER);
	if (r < 0)
		return r;
	const struct pk_attr_value *axes = pk_node_attr(infer->node, PK_ATTR_AXES);
	bool keep = pk_node_int(infer->node, PK_ATTR_KEEPDIMS);
	struct pk_shape *out = &infer->out[0].shape;
	for (int i = 0; i < axes->n; i++)
		if (axes->i[i] >= out->rank || (i > 0 && axes->i[i] <= axes->i[i - 1]))
			return pk_fail(infer->err, -EINVAL,
				"axes must be sorted, unique and below %d", out->rank);
	for (int i = axes->n - 1; i >= 0; i--) {
		if (order && out->dims[axes->i[i]] == 0)
			return pk_fail(
				infer->err, -EINVAL, "axis %lld is empty", (long long)axes->i[i]);
		out->dims[axes->i[i]] = 1;
		if (!keep)
			pk_infer_drop_axis(out, (int)axes->i[i]);
	}
	return 0;
}

int pk_infer_arg_reduce(struct pk_infer *infer)
{
	enum pk_fn fn = pk_node_fn(infer->node, PK_ATTR_FN);
	if (fn != PK_FN_REDUCE_MAX && fn != PK_FN_REDUCE_MIN)
		return pk_fail(infer->err, -EINVAL, "fn: `%s` has no index", pk_fn_name(fn));
	int r = pk_infer_dtype_in(infer, 0, PK_DT_NUMBER);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	struct pk_shape *out = &infer->out[0].shape;
	if (out->dims[axis] == 0)
		return pk_fail(infer->err, -EINVAL, "axis %d is empty", axis);
	infer->out[0].dtype = PK_I64;
	out->dims[axis] = 1;
	if (!pk_node_int(infer->node, PK_ATTR_KEEPDIMS))
		pk_infer_drop_axis(out, axis);
	return 0;
}

int pk_infer_top_k(struct pk_infer *infer)
{
	int r = pk_infer_dtype_in(infer, 0, PK_DT_NUMBER);
	int axis = r < 0 ? r : pk_infer_axis(infer);
	if (axis < 0)
		return axis;
	int64_t k = pk_node_int(infer->node, PK_ATTR_K);
	if (k > infer->out[0].shape.dims[axis])
		return pk_fail(infer->err, -EINVAL, "k %lld of %lld", (long long)k,
			(long long)infer->out[0].shape.dims[axis]);
	infer->out[0].shape.dims[axis] = infer->out[1].shape.dims[axis] = k;
	infer->out[1].dtype = PK_I64;
	return 0;
}
