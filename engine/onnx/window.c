// SPDX-License-Identifier: Apache-2.0
// Kernel, stride, dilation and padding attributes of windowed operators, made explicit.
#include "engine/onnx/window.h"

#include <errno.h>

#include "base/checked.h"

// An attribute with one number per axis (n of them), or `absent` for each.
static void read_list(
	struct pk_importer *im, const char *name, int n, int64_t min, int64_t absent, int64_t *out)
{
	struct pk_ints list;
	pk_importer_ints(im, name, &list);
	for (int i = 0; i < n; i++)
		out[i] = absent;
	// Some exporters write an empty list where they mean none.
	if (im->rc || !list.present || list.n == 0)
		return;
	if (list.n != n) {
		pk_importer_fail(
			im, -EINVAL, "%s has %d items; the input needs %d", name, list.n, n);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (list.v[i] < min || list.v[i] > PK_MAX_ELEMENTS) {
			pk_importer_fail(im, -EINVAL, "%s holds %lld, which is out of range", name,
				(long long)list.v[i]);
			return;
		}
		out[i] = list.v[i];
	}
}

static void read_kernel(struct pk_importer *im, const struct pk_value *w, struct pk_window *window)
{
	read_list(im, "kernel_shape", window->n_axes, 1, 0, window->kernel);
	for (int i = 0; i < window->n_axes && !im->rc; i++) {
		int64_t given = w ? w->shape.dims[i + 2] : 0;
		if (!window->kernel[i])
			window->kernel[i] = given;
		if (w && window->kernel[i] != given)
			pk_importer_fail(im, -EINVAL,
				"kernel_shape says %lld on axis %d, the weights have %lld",
				(long long)window->kernel[i], i, (long long)given);
		else if (window->kernel[i] < 1)
			pk_importer_fail(im, -EINVAL, "the kernel is empty on axis %d", i);
	}
}

void pk_window_read(struct pk_importer *im, const struct pk_value *x, const struct pk_value *w,
	struct pk_window *window)
{
	static const char *const auto_pads[] = {
		"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
	*window = (struct pk_window){.n_axes = x->shape.rank - 2};
	if (window->n_axes < 1) {
		pk_importer_fail(
			im, -EINVAL, "the input has rank %d; 3 or more is needed", x->shape.rank);
		return;
	}
	if (w && w->shape.rank != x->shape.rank) {
		pk_importer_fail(im, -EINVAL, "the input has rank %d, the weights have rank %d",
			x->shape.rank, w->shape.rank);
		return;
	}
	int n = window->n_axes;
	for (int i = 0; i < n; i++)
		window->in[i] = x->shape.dims[i + 2];
	window->auto_pad = (enum pk_auto_pad)pk_importer_word(im, "auto_pad", auto_pads, 0);
	read_kernel(im, w, window);
	read_list(im, "strides", n, 1, 1, window->strides);
	read_list(im, "dilations", n, 1, 1, window->dilations);
	read_list(im, "pads", 2 * n, 0, 0, window->pads);
	for (int i = 0; i < n; i++)
		window->extent[i] = (window->kernel[i] - 1) * window->dilations[i] + 1;
	// auto_pad wins over pads: exporters that write both mean the former.
	for (int i = 0; i < 2 * n && window->auto_pad != PK_AUTO_PAD_NOTSET; i++)
		window->pads[i] = 0;
}

void pk_window_resolve_same(struct pk_window *window)
{
	int n = window->n_axes;
	if (window->auto_pad != PK_AUTO_PAD_SAME_UPPER &&
		window->auto_pad != PK_AUTO_PAD_SAME_LOWER)
		return;
	for (int i = 0; i < n; i++) {
		int64_t stride = window->strides[i], in = window->in[i];
		int64_t out = in / stride + (in % stride != 0);
		int64_t total = out ? (out - 1) * stride + window->extent[i] - in : 0;
		int64_t less = PK_MAX(total, 0) / 2, more = PK_MAX(total, 0) - less;
		bool upper = window->auto_pad == PK_AUTO_PAD_SAME_UPPER;
		window->pads[i] = upper ? less : more;
		window->pads[i + n] = upper ? more : less;
	}
}

void pk_window_set(struct pk_node *node, const struct pk_window *window)
{
	pk_node_set_ints(node, PK_ATTR_STRIDES, window->strides, window->n_axes);
	pk_node_set_ints(node, PK_ATTR_DILATIONS, window->dilations, window->n_axes);
	pk_node_set_ints(node, PK_ATTR_PADS, window->pads, 2 * window->n_axes);
}
