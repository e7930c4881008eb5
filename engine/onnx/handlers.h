// SPDX-License-Identifier: Apache-2.0
// The handlers that rows of the operator table point to. Each emits the IR of one ONNX node.
#pragma once

#include "engine/onnx/importer.h"

// import_conv.c
int pk_import_conv(struct pk_importer *im);
int pk_import_conv_transpose(struct pk_importer *im);
// import_pool.c
int pk_import_pool(struct pk_importer *im);        // arg: pool function
int pk_import_global_pool(struct pk_importer *im); // arg: reduction
// import_norm.c
int pk_import_batch_norm(struct pk_importer *im);
int pk_import_instance_norm(struct pk_importer *im);
int pk_import_group_norm(struct pk_importer *im);
int pk_import_layer_norm(struct pk_importer *im);
int pk_import_lrn(struct pk_importer *im);
// import_linear.c
int pk_import_gemm(struct pk_importer *im);
int pk_import_matmul(struct pk_importer *im);
// import_elementwise.c
int pk_import_unary(struct pk_importer *im);      // arg: function
int pk_import_alpha_beta(struct pk_importer *im); // arg: function with parameters
int pk_import_gelu(struct pk_importer *im);
int pk_import_clip(struct pk_importer *im);
int pk_import_binary(struct pk_importer *im); // arg: function
int pk_import_mod(struct pk_importer *im);
int pk_import_pow(struct pk_importer *im);
int pk_import_variadic(struct pk_importer *im); // arg: function
int pk_import_mean(struct pk_importer *im);
int pk_import_prelu(struct pk_importer *im);
int pk_import_where(struct pk_importer *im);
int pk_import_cast(struct pk_importer *im);
int pk_import_cast_like(struct pk_importer *im);
// import_quant.c
int pk_import_quantize(struct pk_importer *im);
int pk_import_dequantize(struct pk_importer *im);
int pk_import_dynamic_quantize(struct pk_importer *im);
int pk_import_qlinear_conv(struct pk_importer *im);
int pk_import_conv_integer(struct pk_importer *im);
int pk_import_qlinear_matmul(struct pk_importer *im);
int pk_import_matmul_integer(struct pk_importer *im);
// import_reduce.c
int pk_import_softmax(struct pk_importer *im); // arg: function
int pk_import_reduce(struct pk_importer *im);  // arg: function
int pk_import_reduce_sum_square(struct pk_importer *im);
int pk_import_reduce_log_sum(struct pk_importer *im);
int pk_import_reduce_log_sum_exp(struct pk_importer *im);
int pk_import_arg_reduce(struct pk_importer *im); // arg: function
int pk_import_top_k(struct pk_importer *im);
// import_layout.c
int pk_import_reshape(struct pk_importer *im);
int pk_import_flatten(struct pk_importer *im);
int pk_import_squeeze(struct pk_importer *im);
int pk_import_unsqueeze(struct pk_importer *im);
int pk_import_transpose(struct pk_importer *im);
int pk_import_expand(struct pk_importer *im);
int pk_import_tile(struct pk_importer *im);
int pk_import_depth_to_space(struct pk_importer *im);
int pk_import_space_to_depth(struct pk_importer *im);
int pk_import_identity(struct pk_importer *im);
int pk_import_dropout(struct pk_importer *im);
// import_slice.c
int pk_import_concat(struct pk_importer *im);
int pk_import_split(struct pk_importer *im);
int pk_import_slice(struct pk_importer *im);
int pk_import_gather(struct pk_importer *im);
int pk_import_pad(struct pk_importer *im);
// import_resize.c
int pk_import_resize(struct pk_importer *im);
int pk_import_upsample(struct pk_importer *im); // Upsample, and Resize at opset 10
// import_constant.c
int pk_import_constant(struct pk_importer *im);
int pk_import_constant_of_shape(struct pk_importer *im);
int pk_import_shape(struct pk_importer *im);
int pk_import_size(struct pk_importer *im);
int pk_import_range(struct pk_importer *im);
// import_control.c
int pk_import_if(struct pk_importer *im);
int pk_import_loop(struct pk_importer *im);
// import_index.c
int pk_import_gather_elements(struct pk_importer *im);
int pk_import_gather_nd(struct pk_importer *im);
int pk_import_scatter_elements(struct pk_importer *im);
int pk_import_scatter_nd(struct pk_importer *im);
int pk_import_cum_sum(struct pk_importer *im);
int pk_import_one_hot(struct pk_importer *im);
int pk_import_hardmax(struct pk_importer *im);
int pk_import_trilu(struct pk_importer *im);
// import_select.c
int pk_import_non_zero(struct pk_importer *im);
int pk_import_compress(struct pk_importer *im);
int pk_import_eye_like(struct pk_importer *im);
int pk_import_non_max_suppression(struct pk_importer *im);
// import_sample.c
int pk_import_grid_sample(struct pk_importer *im);
int pk_import_roi_align(struct pk_importer *im);
// import_einsum.c
int pk_import_einsum(struct pk_importer *im);
// import_compose.c
int pk_import_is_nan(struct pk_importer *im);
int pk_import_is_inf(struct pk_importer *im);
int pk_import_celu(struct pk_importer *im);
int pk_import_thresholded_relu(struct pk_importer *im);
int pk_import_shrink(struct pk_importer *im);
int pk_import_mean_variance_norm(struct pk_importer *im);
int pk_import_lp_norm(struct pk_importer *im);
