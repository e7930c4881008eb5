// SPDX-License-Identifier: Apache-2.0
// The ordered table of passes and its interpreter.
#include "engine/passes/pass.h"

#include <errno.h>
#include <string.h>

#include "engine/ir/verify.h"
#include "engine/passes/pass_impl.h"

#define PK_DEFAULT_FOLDED_BYTES ((size_t)64 * 1024 * 1024)
// A group that still changes something after so many rounds is taken as it is: each state is right.
#define PK_MAX_ROUNDS 16

struct pk_pass {
	const char *name;
	int group; // passes of one group run in turn until none changes anything
	int (*run)(struct pk_graph *graph, struct pk_pass_ctx *ctx);
	const char *what;
};

static const struct pk_pass pk_pass_table[] = {
	{"remove_noop", 0, pk_pass_remove_noop,
		"drops identity, equal casts and moves that move nothing"},
	{"merge_move", 0, pk_pass_merge_move,
		"joins reshape after reshape, transpose after transpose"},
	{"fold_const", 0, pk_pass_fold_const, "computes nodes of constants"},
	{"cse", 0, pk_pass_cse, "shares equal nodes and small equal constants"},
	{"dce", 0, pk_pass_dce, "drops nodes that nothing uses"},
	{"fuse_matmul", 1, pk_pass_fuse_matmul, "matmul + add becomes gemm"},
	{"fold_bn", 1, pk_pass_fold_bn, "batch norm goes into conv, conv_transpose, gemm weights"},
	{"fold_scale", 1, pk_pass_fold_scale, "per-channel mul/add goes into weights and bias"},
	{"fold_pad", 1, pk_pass_fold_pad, "pad goes into the pads of conv and pool"},
	{"fuse_act", 2, pk_pass_fuse_act, "silu, hard_swish, mish, gelu from their parts"},
	{"merge_act", 2, pk_pass_merge_act, "joins relu and clip chains; prelu of one slope"},
	{"fuse_epilogue", 3, pk_pass_fuse_epilogue, "activation goes into conv"},
	{"fold_qdq", 3, pk_pass_fold_qdq, "dequantize, conv or gemm, quantize become integer"},
	{"fuse_residual", 3, pk_pass_fuse_residual, "addition of another tensor goes into conv"},
	{"fold_const", 4, pk_pass_expand_const, "again, with quantised weights of float nodes"},
	{"cse", 4, pk_pass_cse, "again, after the rewrites"},
	{"dce", 4, pk_pass_dce, "again, after the rewrites"},
};
#define PK_N_PASSES PK_ARRAY_LEN(pk_pass_table)
_Static_assert(PK_N_PASSES <= PK_MAX_PASSES, "the report holds every pass");

// First row of that name, or PK_N_PASSES. A pass that runs twice has two rows.
static size_t pk_pass_find(const char *name)
{
	size_t i = 0;
	while (i < PK_N_PASSES && strcmp(pk_pass_table[i].name, name) != 0)
		i++;
	return i;
}

static bool pk_pass_is_repeat(size_t idx)
{
	return pk_pass_find(pk_pass_table[idx].name) != idx;
}

void pk_passes_list(struct pk_buf *out)
{
	for (size_t i = 0; i < PK_N_PASSES; i++)
		if (!pk_pass_is_repeat(i))
			pk_buf_printf(
				out, "%-14s %s\n", pk_pass_table[i].name, pk_pass_table[i].what);
}

static int pk_pass_unknown(const char *name, struct pk_err *err)
{
	char names[PK_ERR_TEXT_MAX / 2] = "";
	size_t len = 0;
	for (size_t i = 0; i < PK_N_PASSES; i++) {
		size_t n = strlen(pk_pass_table[i].name);
		if (pk_pass_is_repeat(i))
			continue;
		if (len + n + 3 > sizeof(names))
			break;
		memcpy(names + len, i ? ", " : "", i ? 2 : 0);
		len += i ? 2 : 0;
		memcpy(names + len, pk_pass_table[i].name, n + 1);
		len += n;
	}
	return pk_fail(err, -EINVAL, "no pass `%s`; there are %s", name, names);
}

struct pk_pass_run {
	struct pk_graph *graph;
	const struct pk_pass_options *options;
	struct pk_pass_ctx ctx;
	bool disabled[PK_N_PASSES];
	int n_changes[PK_N_PASSES];
};

static int pk_pass_read_disabled(struct pk_pass_run *run, struct pk_err *err)
{
	for (size_t i = 0; i < run->options->n_disabled; i++) {
		const char *name = run->options->disabled[i];
		if (pk_pass_find(name) == PK_N_PASSES)
			return pk_pass_unknown(name, err);
		for (size_t row = 0; row < PK_N_PASSES; row++)
			if (strcmp(pk_pass_table[row].name, name) == 0)
				run->disabled[row] = true;
	}
	return 0;
}

// Number of rewrites, or an error that names the pass.
static int pk_pass_run_one(struct pk_pass_run *run, size_t idx)
{
	const struct pk_pass *pass = &pk_pass_table[idx];
	struct pk_err *err = run->ctx.err;
	int n = pass->run(run->graph, &run->ctx);
	if (n == -ENOMEM)
		pk_fail(err, n, "no memory");
	if (n < 0) {
		pk_err_prefix(err, "pass %s", pass->name);
		return n;
	}
	run->n_changes[pk_pass_find(pass->name)] += n;
	if (n > 0 && run->options->trace)
		run->options->trace(run->options->ctx, pass->name, n, run->graph);
	if (run->options->verify) {
		int r = pk_verify_graph(run->graph, err);
		if (r < 0) {
			pk_err_prefix(err, "after pass %s", pass->name);
			return r;
		}
	}
	return n;
}

static int pk_pass_run_group(struct pk_pass_run *run, size_t first, size_t end)
{
	int changed = 1;
	for (int round = 0; round < PK_MAX_ROUNDS && changed; round++) {
		changed = 0;
		for (size_t i = first; i < end; i++) {
			int n = run->disabled[i] ? 0 : pk_pass_run_one(run, i);
			if (n < 0)
				return n;
			changed += n > 0;
		}
	}
	return 0;
}

static void pk_pass_fill_report(const struct pk_pass_run *run, struct pk_pass_report *report)
{
	report->n_passes = 0;
	for (size_t i = 0; i < PK_N_PASSES; i++)
		if (!pk_pass_is_repeat(i))
			report->passes[report->n_passes++] =
				(struct pk_pass_count){pk_pass_table[i].name, run->n_changes[i]};
}

// A loaded engine's graph may lack constants that its kernels have packed.
static int pk_pass_check_constants(const struct pk_graph *graph, struct pk_err *err)
{
	for (int i = 0; i < graph->n_values; i++)
		if (graph->values[i]->elided)
			return pk_fail(err, -EINVAL, "%%%s has no bytes", graph->values[i]->name);
	return 0;
}

int pk_passes_run(struct pk_graph *graph, const struct pk_pass_options *options,
	struct pk_pass_report *report, struct pk_err *err)
{
	struct pk_pass_run run = {
		.graph = graph,
		.options = options,
		.ctx = {.evaluator = options->evaluator,
			.folded_bytes_left = options->max_folded_bytes,
			.err = err},
	};
	if (run.ctx.folded_bytes_left == 0)
		run.ctx.folded_bytes_left = PK_DEFAULT_FOLDED_BYTES;
	int r = pk_pass_check_constants(graph, err);
	if (r == 0)
		r = pk_pass_read_disabled(&run, err);
	for (size_t first = 0, end; r == 0 && first < PK_N_PASSES; first = end) {
		for (end = first; end < PK_N_PASSES; end++)
			if (pk_pass_table[end].group != pk_pass_table[first].group)
				break;
		r = pk_pass_run_group(&run, first, end);
	}
	if (report)
		pk_pass_fill_report(&run, report);
	return r;
}
