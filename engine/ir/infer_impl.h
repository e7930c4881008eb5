// SPDX-License-Identifier: Apache-2.0
// What the inference families share; private to engine/ir.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"

#define PK_INFER_MAX_OUTPUTS 2

struct pk_infer_type {
	enum pk_dtype dtype;
	struct pk_shape shape;
};

// One inference. Before a family function runs: arity, required operands, their types and the
// attributes' counts and ranges have been checked, and out[] holds operand 0's type.
struct pk_infer {
	const struct pk_node *node;
	const struct pk_shape *given; // wanted output shape or NULL
	struct pk_infer_type out[PK_INFER_MAX_OUTPUTS];
	struct pk_err *err;
};

// Sets of element types.
#define PK_DT(id)      (1u << PK_##id)
#define PK_DT_FLOAT    (PK_DT(F16) | PK_DT(BF16) | PK_DT(F32) | PK_DT(F64))
#define PK_DT_SIGNED   (PK_DT(I8) | PK_DT(I16) | PK_DT(I32) | PK_DT(I64))
#define PK_DT_UNSIGNED (PK_DT(U8) | PK_DT(U16) | PK_DT(U32) | PK_DT(U64))
#define PK_DT_NUMBER   (PK_DT_FLOAT | PK_DT_SIGNED | PK_DT_UNSIGNED)
#define PK_DT_WIDE     (PK_DT_FLOAT | PK_DT(I32) | PK_DT(I64) | PK_DT(U32) | PK_DT(U64))
#define PK_DT_ANY      (PK_DT_NUMBER | PK_DT(BOOL))

// Operand or NULL when left out.
const struct pk_value *pk_infer_operand(const struct pk_infer *infer, int input_idx);
// -EINVAL unless operand 0 is in the set and all operands that are there have its type.
int pk_infer_same_dtype(struct pk_infer *infer, unsigned set) pk_must_check;
int pk_infer_dtype_in(struct pk_infer *infer, int input_idx, unsigned set) pk_must_check;
// -EINVAL unless the operand (when there) is a vector of n elements.
int pk_infer_vector(struct pk_infer *infer, int input_idx, int64_t n, const char *what)
	pk_must_check;
// -EINVAL unless the operand's shape broadcasts to shape without enlarging it.
int pk_infer_broadcasts_to(struct pk_infer *infer, int input_idx, const struct pk_shape *shape,
	const char *what) pk_must_check;
int pk_infer_rank(struct pk_infer *infer, int min, int max) pk_must_check;
// The AXIS attribute, checked against operand 0's rank; or -EINVAL.
int pk_infer_axis(struct pk_infer *infer) pk_must_check;
// Takes the given shape as output 0's (rank must be that of the operand when same_rank).
int pk_infer_take_given(struct pk_infer *infer, bool same_rank) pk_must_check;

int pk_infer_conv(struct pk_infer *infer);
int pk_infer_conv_transpose(struct pk_infer *infer);
int pk_infer_pool(struct pk_infer *infer);
int pk_infer_pool_index(struct pk_infer *infer);

int pk_infer_batch_norm(struct pk_infer *infer);
int pk_infer_instance_norm(struct pk_infer *infer);
int pk_infer_layer_norm(struct pk_infer *infer);
int pk_infer_gemm(struct pk_infer *infer);
int pk_infer_matmul(struct pk_infer *infer);
int pk_infer_softmax(struct pk_infer *infer);
int pk_infer_reduce(struct pk_infer *infer);
int pk_infer_arg_reduce(struct pk_infer *infer);
int pk_infer_top_k(struct pk_infer *infer);

int pk_infer_unary(struct pk_infer *infer);
int pk_infer_binary(struct pk_infer *infer);
int pk_infer_prelu(struct pk_infer *infer);
int pk_infer_where(struct pk_infer *infer);
int pk_infer_cast(struct pk_infer *infer);

int pk_infer_concat(struct pk_infer *infer);
int pk_infer_slice(struct pk_infer *infer);
int pk_infer_reshape(struct pk_infer *infer);
int pk_infer_transpose(struct pk_infer *infer);
int pk_infer_pad(struct pk_infer *infer);
int pk_infer_resize(struct pk_infer *infer);
int pk_infer_expand(struct pk_infer *infer);
int pk_infer_tile(struct pk_infer *infer);
int pk_infer_gather(struct pk_infer *infer);
int pk_infer_gather_elements(struct pk_infer *infer);
int pk_infer_gather_nd(struct pk_infer *infer);
int pk_infer_scatter_elements(struct pk_infer *infer);
int pk_infer_scatter_nd(struct pk_infer *infer);
int pk_infer_cum_sum(struct pk_infer *infer);
int pk_infer_grid_sample(struct pk_infer *infer);
int pk_infer_roi_align(struct pk_infer *infer);
int pk_infer_depth_to_space(struct pk_infer *infer);
int pk_infer_space_to_depth(struct pk_infer *infer);
int pk_infer_identity(struct pk_infer *infer);

int pk_infer_quantize(struct pk_infer *infer);
int pk_infer_dequantize(struct pk_infer *infer);
int pk_infer_qconv(struct pk_infer *infer);
int pk_infer_qmatmul(struct pk_infer *infer);
int pk_infer_qbinary(struct pk_infer *infer);
int pk_infer_lookup(struct pk_infer *infer);
// Shapes that conv and qconv, matmul and qmatmul share; operands' types are the caller's.
int pk_infer_conv_shape(struct pk_infer *infer) pk_must_check;
int pk_infer_matmul_shape(struct pk_infer *infer) pk_must_check;
int pk_infer_act(struct pk_infer *infer) pk_must_check;
