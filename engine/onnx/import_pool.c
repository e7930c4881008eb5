// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and the global pools.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/window.h"

// Windows per axis. ceil_mode rounds up, but a window that would start in the padding at the end is
// left out (opset 22 says so; frameworks did it before).
static void output_shape(const struct pk_value *x, const struct pk_window *window, bool ceil_mode,
	struct pk_shape *out)
{
	int n = window->n_axes;
	*out = x->shape;
	for (int i = 0; i < n; i++) {
		int64_t stride = window->strides[i];
		int64_t room = window->in[i] + window->pads[i] + window->pads[i + n];
		int64_t left = room - window->extent[i];
		if (left < 0)
			continue; // inference tells
		int64_t windows = left / stride + 1;
		if (ceil_mode && left % stride != 0 &&
			windows * stride < window->in[i] + window->pads[i])
			windows++;
		out->dims[i + 2] = windows;
	}
}

// Where column-major order puts what stands at a row-major place: the last axis is the slowest
// then.
static struct pk_value *to_column_major(
	struct pk_importer *im, struct pk_value *at, const struct pk_shape *x)
{
	struct pk_value *sum = NULL;
	int64_t row_step = 1, column_step = 1, column_steps[PK_MAX_RANK] = {0};
	for (int axis = 2; axis < x->rank; axis++) {
		column_steps[axis] = column_step;
		column_step *= x->dims[axis];
	}
	for (int axis = x->rank - 1; axis >= 1 && !im->rc; axis--) {
		bool planes = axis == 1; // batch and channels stay as they are
		double dim = (double)(planes ? PK_MAX_ELEMENTS : x->dims[axis]);
		struct pk_value *v = pk_emit_binary(im, PK_TEMP, PK_FN_DIV, at,
			pk_emit_scalar(im, PK_TEMP, PK_I64, (double)row_step));
		v = pk_emit_binary(
			im, PK_TEMP, PK_FN_MOD, v, pk_emit_scalar(im, PK_TEMP, PK_I64, dim));
		v = pk_emit_binary(im, PK_TEMP, PK_FN_MUL, v,
			pk_emit_scalar(im, PK_TEMP, PK_I64,
				(double)(planes ? column_step : column_steps[axis])));
		sum = sum ? pk_emit_binary(im, PK_TEMP, PK_FN_ADD, sum, v) : v;
		row_step *= x->dims[axis];
	}
	return sum;
}

// The second output of MaxPool, when somebody asked for it.
static void emit_indices(struct pk_importer *im, struct pk_value *x, const struct pk_window *window,
	const struct pk_shape *shape)
{
	if (im->row->arg != PK_FN_POOL_MAX || im->node->n_outputs < 2 || !im->node->outputs[1].n)
		return;
	bool columns = pk_importer_int(im, "storage_order", 0) != 0;
	struct pk_node *node = pk_emit_begin(im, PK_OP_POOL_INDEX, &x, 1);
	if (node) {
		pk_window_set(node, window);
		pk_node_set_ints(node, PK_ATTR_KERNEL, window->kernel, window->n_axes);
	}
	struct pk_value *at = pk_emit_end(im, node, columns ? PK_TEMP : 1, shape);
	if (columns)
		pk_emit_alias(im, 1, to_column_major(im, at, &x->shape));
}

int pk_import_pool(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_window window;
	struct pk_shape shape;
	pk_window_read(im, x, NULL, &window);
	if (im->rc)
		return im->rc;
	pk_window_resolve_same(&window);
	bool ceil_mode = pk_importer_int(im, "ceil_mode", 0) != 0;
	output_shape(x, &window, ceil_mode, &shape);
	struct pk_node *node = pk_emit_begin(im, PK_OP_POOL, &x, 1);
	if (node) {
		pk_window_set(node, &window);
		pk_node_set_ints(node, PK_ATTR_KERNEL, window.kernel, window.n_axes);
		pk_node_set_int(node, PK_ATTR_FN, im->row->arg);
		if (im->row->arg == PK_FN_POOL_AVG)
			pk_node_set_int(node, PK_ATTR_COUNT_PAD,
				pk_importer_int(im, "count_include_pad", 0) != 0);
	}
	pk_emit_end(im, node, 0, ceil_mode ? &shape : NULL);
	emit_indices(im, x, &window, ceil_mode ? &shape : NULL);
	return im->rc;
}

int pk_import_global_pool(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes = {0};
	if (x->shape.rank < 3)
		return pk_importer_fail(
			im, -EINVAL, "the input has rank %d; 3 or more is needed", x->shape.rank);
	for (int axis = 2; axis < x->shape.rank; axis++)
		axes.v[axes.n++] = axis;
	pk_emit_reduce(im, 0, (enum pk_fn)im->row->arg, x, &axes, true);
	return im->rc;
}
