// SPDX-License-Identifier: Apache-2.0
// Operators that give the same elements another shape or order.
#include <errno.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

static bool to_shape(struct pk_importer *im, const struct pk_ints *dims, struct pk_shape *shape)
{
	if (im->rc)
		return false;
	if (dims->n > PK_MAX_RANK) {
		pk_importer_fail(
			im, -EINVAL, "%d dimensions; %d are possible", dims->n, PK_MAX_RANK);
		return false;
	}
	shape->rank = dims->n;
	for (int i = 0; i < dims->n; i++)
		shape->dims[i] = dims->v[i];
	return true;
}

// -1: what is left over. known: product of the other dims.
static void fill_wildcard(struct pk_importer *im, struct pk_shape *shape, int at, int64_t elements)
{
	struct pk_shape rest = *shape;
	rest.dims[at] = 1;
	int64_t known = pk_shape_elements(&rest);
	if (known <= 0 || elements % known) {
		char text[PK_SHAPE_TEXT_MAX];
		pk_shape_format(shape, text);
		pk_importer_fail(im, -EINVAL, "%lld elements do not fit the shape %s",
			(long long)elements, text);
		return;
	}
	shape->dims[at] = elements / known;
}

int pk_import_reshape(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints dims;
	struct pk_shape shape;
	bool allow_zero = pk_importer_int(im, "allowzero", 0) != 0;
	int wildcard = -1;
	if (pk_importer_attr(im, "shape"))
		pk_importer_ints(im, "shape", &dims);
	else
		pk_importer_const_ints(im, 1, "the target shape", &dims);
	if (!to_shape(im, &dims, &shape))
		return im->rc;
	for (int i = 0; i < shape.rank; i++) {
		if (shape.dims[i] == 0 && !allow_zero && i < x->shape.rank)
			shape.dims[i] = x->shape.dims[i];
		if (shape.dims[i] < -1 || (shape.dims[i] == -1 && wildcard >= 0))
			return pk_importer_fail(im, -EINVAL,
				"dimension %d of the target shape is %lld", i,
				(long long)shape.dims[i]);
		if (shape.dims[i] == -1)
			wildcard = i;
	}
	if (wildcard >= 0)
		fill_wildcard(im, &shape, wildcard, pk_shape_elements(&x->shape));
	pk_emit_reshape(im, 0, x, &shape);
	return im->rc;
}

int pk_import_flatten(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int rank = x->shape.rank;
	int64_t axis = pk_importer_int(im, "axis", 1);
	if (axis < -rank || axis > rank) // rank itself is allowed: [all, 1]
		return pk_importer_fail(im, -EINVAL, "axis %lld is outside a tensor of rank %d",
			(long long)axis, rank);
	axis = axis < 0 ? axis + rank : axis;
	struct pk_shape matrix = {2, {1, 1}};
	for (int i = 0; i < rank; i++)
		matrix.dims[i >= axis] *= x->shape.dims[i];
	pk_emit_reshape(im, 0, x, &matrix);
	return im->rc;
}

int pk_import_squeeze(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	struct pk_shape shape = {0};
	pk_importer_ints_from(im, "axes", 1, &axes);
	pk_importer_axes(im, &axes, x->shape.rank);
	if (im->rc)
		return im->rc;
	for (int i = 0, k = 0; i < x->shape.rank; i++) {
		bool named = k < axes.n && axes.v[k] == i;
		k += named;
		if (named && x->shape.dims[i] != 1)
			return pk_importer_fail(im, -EINVAL, "axis %d has the size %lld, not 1", i,
				(long long)x->shape.dims[i]);
		if (!named && (axes.present || x->shape.dims[i] != 1))
			shape.dims[shape.rank++] = x->shape.dims[i];
	}
	pk_emit_reshape(im, 0, x, &shape);
	return im->rc;
}

int pk_import_unsqueeze(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints axes;
	pk_importer_ints_from(im, "axes", 1, &axes);
	struct pk_shape shape = {.rank = x->shape.rank + axes.n};
	if (!im->rc && shape.rank > PK_MAX_RANK)
		pk_importer_fail(
			im, -EINVAL, "%d dimensions; %d are possible", shape.rank, PK_MAX_RANK);
	pk_importer_axes(im, &axes, shape.rank);
	if (im->rc)
		return im->rc;
	for (int i = 0, k = 0, from = 0; i < shape.rank; i++) {
		bool named = k < axes.n && axes.v[k] == i;
		k += named;
		shape.dims[i] = named ? 1 : x->shape.dims[from++];
	}
	pk_emit_reshape(im, 0, x, &shape);
	return im->rc;
}

int pk_import_transpose(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int rank = x->shape.rank;
	struct pk_ints perm;
	bool identity = true;
	pk_importer_ints(im, "perm", &perm);
	if (!im->rc && perm.present && perm.n != rank)
		pk_importer_fail(
			im, -EINVAL, "perm has %d items, the input has rank %d", perm.n, rank);
	for (int i = 0; i < rank && !im->rc; i++) {
		perm.v[i] = perm.present ? pk_importer_axis(im, perm.v[i], rank) : rank - 1 - i;
		identity &= perm.v[i] == i;
	}
	if (identity) {
		pk_emit_alias(im, 0, x);
		return im->rc;
	}
	struct pk_node *node = pk_emit_begin(im, PK_OP_TRANSPOSE, &x, 1);
	if (node)
		pk_node_set_ints(node, PK_ATTR_PERM, perm.v, rank);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_expand(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints dims;
	struct pk_shape wanted, shape;
	pk_importer_const_ints(im, 1, "the target shape", &dims);
	if (!to_shape(im, &dims, &wanted))
		return im->rc;
	if (pk_shape_elements(&wanted) < 0 || !pk_shape_broadcast(&x->shape, &wanted, &shape)) {
		char from[PK_SHAPE_TEXT_MAX], to[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&x->shape, from);
		pk_shape_format(&wanted, to);
		return pk_importer_fail(im, -EINVAL, "%s does not expand to %s", from, to);
	}
	pk_emit_expand(im, 0, x, &shape);
	return im->rc;
}

int pk_import_tile(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	struct pk_ints repeats;
	struct pk_shape shape = x->shape;
	pk_importer_const_ints(im, 1, "repeats", &repeats);
	if (!im->rc && repeats.n != shape.rank)
		pk_importer_fail(im, -EINVAL, "repeats has %d items, the input has rank %d",
			repeats.n, shape.rank);
	for (int i = 0; i < shape.rank && !im->rc; i++)
		if (repeats.v[i] < 0 ||
			pk_mul_overflow(shape.dims[i], repeats.v[i], &shape.dims[i]))
			pk_importer_fail(
				im, -EINVAL, "repeats holds %lld", (long long)repeats.v[i]);
	if (im->rc)
		return im->rc;
	if (pk_shape_equal(&shape, &x->shape))
		pk_emit_alias(im, 0, x);
	else
		pk_emit_end(im, pk_emit_begin(im, PK_OP_TILE, &x, 1), 0, &shape);
	return im->rc;
}

static int64_t read_block(struct pk_importer *im)
{
	int64_t block = pk_importer_int(im, "blocksize", 0);
	if (block < 1 || block > INT16_MAX)
		pk_importer_fail(im, -EINVAL, "blocksize is %lld", (long long)block);
	return block;
}

int pk_import_depth_to_space(struct pk_importer *im)
{
	static const char *const words[] = {"DCR", "CRD", NULL};
	struct pk_value *x = im->inputs[0];
	int64_t block = read_block(im);
	int mode = pk_importer_word(im, "mode", words, 0);
	struct pk_node *node = pk_emit_begin(im, PK_OP_DEPTH_TO_SPACE, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_BLOCK, block);
		pk_node_set_int(node, PK_ATTR_MODE, mode ? PK_MODE_CRD : PK_MODE_DCR);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_space_to_depth(struct pk_importer *im)
{
	struct pk_value *x = im->inputs[0];
	int64_t block = read_block(im);
	struct pk_node *node = pk_emit_begin(im, PK_OP_SPACE_TO_DEPTH, &x, 1);
	if (node)
		pk_node_set_int(node, PK_ATTR_BLOCK, block);
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_identity(struct pk_importer *im)
{
	pk_emit_alias(im, 0, im->inputs[0]);
	return im->rc;
}

// At inference it passes its input on; the mask says that nothing was dropped.
int pk_import_dropout(struct pk_importer *im)
{
	double training = 0;
	struct pk_value *mode = pk_importer_input(im, 2);
	if (mode && (!pk_value_scalar(mode, &training) || training != 0))
		return pk_importer_fail(im, -ENOTSUP,
			"it is in training mode; export the model for inference (eval mode)");
	struct pk_value *x = pk_emit_alias(im, 0, im->inputs[0]);
	if (x && im->n_outputs > 1 && im->node->outputs[1].n) {
		enum pk_dtype dtype = im->opset < 10 ? x->dtype : PK_BOOL;
		struct pk_value *yes = pk_emit_scalar(im, PK_TEMP, dtype, 1);
		if (yes)
			pk_emit_expand(im, 1, yes, &x->shape);
	}
	return im->rc;
}
