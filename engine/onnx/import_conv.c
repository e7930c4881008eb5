// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"
#include "engine/onnx/window.h"

static int64_t read_group(struct pk_importer *im)
{
	int64_t group = pk_importer_int(im, "group", 1);
	if (group < 1 || group > PK_MAX_ELEMENTS)
		pk_importer_fail(im, -EINVAL, "group is %lld", (long long)group);
	return group;
}

int pk_import_conv(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0], *w = im->inputs[1];
	struct pk_value *operands[] = {x, w, pk_importer_input(im, 2)};
	struct pk_window window;
	pk_window_read(im, x, w, &window);
	pk_window_resolve_same(&window);
	int64_t group = read_group(im);
	struct pk_node *node = pk_emit_begin(im, PK_OP_CONV, operands, 3);
	if (node) {
		pk_window_set(node, &window);
		pk_node_set_int(node, PK_ATTR_GROUP, group);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// pads such that the output has the wanted size: total = stride * (in - 1) + output_padding +
// extent - wanted; the odd cell goes to the begin unless auto_pad is SAME_UPPER. When nothing is to
// be cut off, output_padding makes up for what is missing.
static void fit_output(struct pk_importer *im, struct pk_window *window, int64_t *output_padding,
	const int64_t *wanted)
{
	int n = window->n_axes;
	for (int i = 0; i < n; i++) {
		int64_t full, total;
		if (pk_mul_overflow(window->strides[i], PK_MAX(window->in[i] - 1, 0), &full) ||
			pk_add_overflow(full, output_padding[i] + window->extent[i], &full) ||
			pk_sub_overflow(full, wanted[i], &total)) {
			pk_importer_fail(im, -EFBIG, "the output is too large");
			return;
		}
		if (total < 0)
			output_padding[i] -= total;
		total = PK_MAX(total, 0);
		int64_t less = total / 2, more = total - less;
		bool upper = window->auto_pad == PK_AUTO_PAD_SAME_UPPER;
		window->pads[i] = upper ? less : more;
		window->pads[i + n] = upper ? more : less;
	}
}

static void read_output_padding(struct pk_importer *im, int n, int64_t *out)
{
	struct pk_ints list;
	pk_importer_ints(im, "output_padding", &list);
	for (int i = 0; i < n; i++)
		out[i] = 0;
	if (im->rc || list.n == 0)
		return;
	if (list.n != n) {
		pk_importer_fail(
			im, -EINVAL, "output_padding has %d items; the input needs %d", list.n, n);
		return;
	}
	for (int i = 0; i < n; i++) {
		out[i] = list.v[i];
		if (out[i] < 0 || out[i] > PK_MAX_ELEMENTS)
			pk_importer_fail(
				im, -EINVAL, "output_padding holds %lld", (long long)out[i]);
	}
}

// output_shape holds the spatial dims; some exporters write all dims.
static void read_output_shape(
	struct pk_importer *im, const struct pk_window *window, struct pk_ints *out)
{
	int n = window->n_axes;
	pk_importer_ints(im, "output_shape", out);
	if (!im->rc && out->n == n + 2) {
		for (int i = 0; i < n; i++)
			out->v[i] = out->v[i + 2];
		out->n = n;
	}
	if (!im->rc && out->n && out->n != n)
		pk_importer_fail(
			im, -EINVAL, "output_shape has %d items; the input needs %d", out->n, n);
	for (int i = 0; i < out->n && !im->rc; i++)
		if (out->v[i] < 1 || out->v[i] > PK_MAX_ELEMENTS)
			pk_importer_fail(
				im, -EINVAL, "output_shape holds %lld", (long long)out->v[i]);
}

int pk_import_conv_transpose(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0], *w = im->inputs[1];
	struct pk_value *operands[] = {x, w, pk_importer_input(im, 2)};
	struct pk_window window;
	struct pk_ints wanted = {0};
	int64_t output_padding[PK_WINDOW_MAX_AXES];
	pk_window_read(im, x, w, &window);
	if (im->rc)
		return im->rc;
	read_output_padding(im, window.n_axes, output_padding);
	read_output_shape(im, &window, &wanted);
	bool same = window.auto_pad == PK_AUTO_PAD_SAME_UPPER ||
		    window.auto_pad == PK_AUTO_PAD_SAME_LOWER;
	for (int i = 0; same && !wanted.n && i < window.n_axes; i++)
		wanted.v[i] = window.in[i] * window.strides[i]; // each below 2^31
	if (!im->rc && (wanted.n || same))
		fit_output(im, &window, output_padding, wanted.v);
	int64_t group = read_group(im);
	struct pk_node *node = pk_emit_begin(im, PK_OP_CONV_TRANSPOSE, operands, 3);
	if (node) {
		pk_window_set(node, &window);
		pk_node_set_ints(node, PK_ATTR_OUTPUT_PADDING, output_padding, window.n_axes);
		pk_node_set_int(node, PK_ATTR_GROUP, group);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}
