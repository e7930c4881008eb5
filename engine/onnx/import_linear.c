// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul.
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

int pk_import_gemm(struct pk_importer *im)
{
	struct pk_value *operands[] = {im->inputs[0], im->inputs[1], pk_importer_input(im, 2)};
	struct pk_node *node = pk_emit_begin(im, PK_OP_GEMM, operands, 3);
	if (node) {
		pk_node_set_int(node, PK_ATTR_TRANS_A, pk_importer_int(im, "transA", 0) != 0);
		pk_node_set_int(node, PK_ATTR_TRANS_B, pk_importer_int(im, "transB", 0) != 0);
		pk_node_set_float(node, PK_ATTR_ALPHA, pk_importer_float(im, "alpha", 1));
		pk_node_set_float(node, PK_ATTR_BETA, pk_importer_float(im, "beta", 1));
	}
	pk_emit_end(im, node, 0, NULL);
	return im->rc;
}

int pk_import_matmul(struct pk_importer *im)
{
	pk_emit_end(im, pk_emit_begin(im, PK_OP_MATMUL, im->inputs, 2), 0, NULL);
	return im->rc;
}
