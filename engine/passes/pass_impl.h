// SPDX-License-Identifier: Apache-2.0
// What the passes see of a run; private to engine/passes.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "engine/ir/evaluator.h"
#include "engine/ir/graph.h"

struct pk_pass_ctx {
	const struct pk_evaluator *evaluator;
	size_t folded_bytes_left;
	struct pk_err *err;
	bool expand_quantized; // fold_const may compute dequantize of constants
};

// Each walks the graph once: number of rewrites, or -ENOMEM or what else stops the build.
int pk_pass_cse(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_dce(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_bn(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_const(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_focus(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_pad(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_qdq(struct pk_graph *graph, struct pk_pass_ctx *ctx);
// fold_const that computes dequantize too: after it no weights are left quantised for float nodes.
int pk_pass_expand_const(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fold_scale(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fuse_act(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fuse_epilogue(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fuse_matmul(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_fuse_residual(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_lower_bn(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_lower_pool(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_merge_act(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_merge_move(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_remove_noop(struct pk_graph *graph, struct pk_pass_ctx *ctx);
int pk_pass_sink_transpose(struct pk_graph *graph, struct pk_pass_ctx *ctx);
