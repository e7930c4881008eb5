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
