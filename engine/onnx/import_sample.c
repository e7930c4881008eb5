// SPDX-License-Identifier: Apache-2.0
// GridSample and RoiAlign.
#include <errno.h>

#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

// Opset 20 renamed bilinear and bicubic.
static enum pk_enum_word read_mode(struct pk_importer *im)
{
	static const char *const old[] = {"bilinear", "nearest", "bicubic", NULL};
	static const char *const new[] = {"linear", "nearest", "cubic", NULL};
	static const enum pk_enum_word modes[] = {PK_MODE_LINEAR, PK_MODE_NEAREST, PK_MODE_CUBIC};
	return modes[pk_importer_word(im, "mode", im->opset < 20 ? old : new, 0)];
}

int pk_import_grid_sample(struct pk_importer *im)
{
	static const char *const words[] = {"zeros", "border", "reflection", NULL};
	static const enum pk_enum_word paddings[] = {
		PK_PADDING_ZEROS, PK_PADDING_BORDER, PK_PADDING_REFLECTION};
	enum pk_enum_word mode = read_mode(im);
	int padding = pk_importer_word(im, "padding_mode", words, 0);
	if (im->inputs[0]->shape.rank != 4)
		return pk_importer_fail(im, -ENOTSUP,
			"input of rank %d; only pictures [n,c,h,w] are supported",
			im->inputs[0]->shape.rank);
	struct pk_node *node = pk_emit_begin(im, PK_OP_GRID_SAMPLE, im->inputs, 2);
	if (node) {
		pk_node_set_int(node, PK_ATTR_MODE, mode);
		pk_node_set_int(node, PK_ATTR_PADDING, paddings[padding]);
		pk_node_set_int(
			node, PK_ATTR_ALIGN_CORNERS, pk_importer_int(im, "align_corners", 0) != 0);
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

// Before opset 16 there was no half pixel offset.
int pk_import_roi_align(struct pk_importer *im)
{
	static const char *const modes[] = {"avg", "max", NULL};
	static const char *const coords[] = {"half_pixel", "output_half_pixel", NULL};
	const struct pk_shape *x = &im->inputs[0]->shape, *rois = &im->inputs[1]->shape;
	int mode = pk_importer_word(im, "mode", modes, 0);
	int coord = pk_importer_word(
		im, "coordinate_transformation_mode", coords, im->opset < 16 ? 1 : 0);
	if (x->rank != 4 || rois->rank != 2)
		return pk_importer_fail(
			im, -EINVAL, "the input has rank %d, rois have %d", x->rank, rois->rank);
	struct pk_shape out = {
		4, {rois->dims[0], x->dims[1], pk_importer_int(im, "output_height", 1),
			   pk_importer_int(im, "output_width", 1)}};
	struct pk_value *operands[] = {
		im->inputs[0], im->inputs[1], pk_emit_cast(im, PK_TEMP, im->inputs[2], PK_I64)};
	struct pk_node *node = pk_emit_begin(im, PK_OP_ROI_ALIGN, operands, 3);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, mode ? PK_FN_POOL_MAX : PK_FN_POOL_AVG);
		pk_node_set_int(
			node, PK_ATTR_COORD, coord ? PK_COORD_ASYMMETRIC : PK_COORD_HALF_PIXEL);
		pk_node_set_int(node, PK_ATTR_SAMPLING, pk_importer_int(im, "sampling_ratio", 0));
		pk_node_set_float(
			node, PK_ATTR_SPATIAL_SCALE, pk_importer_float(im, "spatial_scale", 1));
	}
	pk_emit_end(im, node, 0, &out);
	return im->rc;
}
