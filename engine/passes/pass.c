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

static const struct pk_pass pk_pass_table[] = {
	{"remove_noop", 0, pk_pass_remove_noop,
		"drops identity, equal casts and moves that move nothing"},
	{"merge_move", 0, pk_pass_merge_move,
		"joins reshape after reshape, transpose after transpose, slice after slice"},
	{"sink_transpose", 0, pk_pass_sink_transpose,
		"moves transposes behind elementwise nodes, softmax, concat, reductions"},
	{"fold_const", 0, pk_pass_fold_const, "computes nodes of constants"},
	{"cse", 0, pk_pass_cse, "shares equal nodes and small equal constants"},
	{"dce", 0, pk_pass_dce, "drops nodes that nothing uses"},
	{"fuse_matmul", 1, pk_pass_fuse_matmul, "matmul + add becomes gemm"},
	{"fold_bn", 1, pk_pass_fold_bn, "batch norm goes into conv, conv_transpose, gemm weights"},
	{"fold_scale", 1, pk_pass_fold_scale, "per-channel mul/add goes into weights and bias"},
	{"fold_pad", 1, pk_pass_fold_pad, "pad goes into the pads of conv and pool"},
	{"fold_focus", 1, pk_pass_fold_focus, "pixel blocks in channels + conv becomes one conv"},
	{"lower_bn", 2, pk_pass_lower_bn, "batch norm alone becomes a depthwise conv"},
	{"lower_pool", 2, pk_pass_lower_pool, "pool of the whole plane becomes a reduction"},
	{"fold_scale", 2, pk_pass_fold_scale, "again, behind lowered batch norms"},
	{"fuse_act", 3, pk_pass_fuse_act, "silu, hard_swish, mish, gelu from their parts"},
	{"merge_act", 3, pk_pass_merge_act, "joins relu and clip chains; prelu of one slope"},
	{"fuse_epilogue", 4, pk_pass_fuse_epilogue, "activation goes into conv"},
	{"fold_qdq", 4, pk_pass_fold_qdq, "dequantize, conv or gemm, quantize become integer"},
	{"fuse_residual", 4, pk_pass_fuse_residual, "addition of another tensor goes into conv"},
	{"fold_const", 5, pk_pass_expand_const, "again, with quantised weights of float nodes"},
	{"cse", 5, pk_pass_cse, "again, after the rewrites"},
	{"dce", 5, pk_pass_dce, "again, after the rewrites"},
};
#define PK_N_PASSES PK_ARRAY_LEN(pk_pass_table)
_Static_assert(PK_N_PASSES <= PK_MAX_PASSES, "the report holds every pass");

// Rows in their order: the house's or the caller's.
struct pk_pass_rows {
	const struct pk_pass *rows;
	size_t n;
};
static const struct pk_pass_rows pk_pass_all = {pk_pass_table, PK_N_PASSES};

// First row of that name, or the number of rows. A pass that runs twice has two rows.
static size_t pk_pass_find(const struct pk_pass_rows *table, const char *name)
{
	size_t i = 0;
	while (i < table->n && strcmp(table->rows[i].name, name) != 0)
		i++;
	return i;
}

static bool pk_pass_is_repeat(const struct pk_pass_rows *table, size_t idx)
{
	return pk_pass_find(table, table->rows[idx].name) != idx;
}

const struct pk_pass *pk_passes_table(size_t *n)
{
	*n = PK_N_PASSES;
	return pk_pass_table;
}

void pk_passes_list(struct pk_buf *out)
{
	for (size_t i = 0; i < PK_N_PASSES; i++)
		if (!pk_pass_is_repeat(&pk_pass_all, i))
			pk_buf_printf(
				out, "%-14s %s\n", pk_pass_table[i].name, pk_pass_table[i].what);
}

static int pk_pass_unknown(const struct pk_pass_rows *table, const char *name, struct pk_err *err)
{
	char names[PK_ERR_TEXT_MAX / 2] = "";
	size_t len = 0;
	for (size_t i = 0; i < table->n; i++) {
		size_t n = strlen(table->rows[i].name);
		if (pk_pass_is_repeat(table, i))
			continue;
		if (len + n + 3 > sizeof(names))
			break;
		memcpy(names + len, i ? ", " : "", i ? 2 : 0);
		len += i ? 2 : 0;
		memcpy(names + len, table->rows[i].name, n + 1);
		len += n;
	}
	return pk_fail(err, -EINVAL, "no pass `%s`; there are %s", name, names);
}

struct pk_pass_run {
	struct pk_graph *graph;
	const struct pk_pass_options *options;
	struct pk_pass_ctx ctx;
	struct pk_pass_rows table;
	int n_steps; // runs of passes that changed something
	bool disabled[PK_MAX_PASSES];
	int n_changes[PK_MAX_PASSES];
};

static int pk_pass_read_disabled(struct pk_pass_run *run, struct pk_err *err)
{
	const struct pk_pass_rows *table = &run->table;
	for (size_t i = 0; i < run->options->n_disabled; i++) {
		const char *name = run->options->disabled[i];
		if (pk_pass_find(table, name) == table->n)
			return pk_pass_unknown(table, name, err);
		for (size_t row = 0; row < table->n; row++)
			if (strcmp(table->rows[row].name, name) == 0)
				run->disabled[row] = true;
	}
	return 0;
}

// Number of rewrites, or an error that names the pass.
static int pk_pass_run_one(struct pk_pass_run *run, size_t idx)
{
	const struct pk_pass *pass = &run->table.rows[idx];
	struct pk_err *err = run->ctx.err;
	int n = pass->run(run->graph, &run->ctx);
	if (n == -ENOMEM)
		pk_fail(err, n, "no memory");
	if (n < 0) {
		pk_err_prefix(err, "pass %s", pass->name);
		return n;
	}
	run->n_changes[pk_pass_find(&run->table, pass->name)] += n;
	run->n_steps += n > 0;
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

static bool pk_pass_enough(const struct pk_pass_run *run)
{
	return run->options->max_steps > 0 && run->n_steps >= run->options->max_steps;
}

static int pk_pass_run_group(struct pk_pass_run *run, size_t first, size_t end)
{
	int changed = 1;
	for (int round = 0; round < PK_MAX_ROUNDS && changed; round++) {
		changed = 0;
		for (size_t i = first; i < end && !pk_pass_enough(run); i++) {
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
	const struct pk_pass_rows *table = &run->table;
	report->n_passes = 0;
	for (size_t i = 0; i < table->n; i++)
		if (!pk_pass_is_repeat(table, i))
			report->passes[report->n_passes++] =
				(struct pk_pass_count){table->rows[i].name, run->n_changes[i]};
}

// A loaded engine's graph may lack constants that its kernels have packed, and has layouts.
static int pk_pass_check_constants(const struct pk_graph *graph, struct pk_err *err)
{
	for (int i = 0; i < graph->n_values; i++) {
		const struct pk_value *value = graph->values[i];
		if (value->elided)
			return pk_fail(err, -EINVAL, "%%%s has no bytes", value->name);
		if (value->block)
			return pk_fail(err, -EINVAL, "%%%s has a layout already", value->name);
	}
	return 0;
}

int pk_passes_run(struct pk_graph *graph, const struct pk_pass_options *options,
	struct pk_pass_report *report, struct pk_err *err)
{
	struct pk_pass_run run = {
		.graph = graph,
		.options = options,
		.table = options->n_passes
				 ? (struct pk_pass_rows){options->passes, options->n_passes}
				 : pk_pass_all,
		.ctx = {.evaluator = options->evaluator,
			.folded_bytes_left = options->max_folded_bytes,
			.err = err},
	};
	const struct pk_pass_rows *table = &run.table;
	if (table->n > PK_MAX_PASSES)
		return pk_fail(err, -EINVAL, "more than %d passes", PK_MAX_PASSES);
	if (run.ctx.folded_bytes_left == 0)
		run.ctx.folded_bytes_left = PK_DEFAULT_FOLDED_BYTES;
	int r = pk_pass_check_constants(graph, err);
	if (r == 0)
		r = pk_pass_read_disabled(&run, err);
	for (size_t first = 0, end; r == 0 && first < table->n; first = end) {
		for (end = first; end < table->n; end++)
			if (table->rows[end].group != table->rows[first].group)
				break;
		r = pk_pass_run_group(&run, first, end);
	}
	if (report)
		pk_pass_fill_report(&run, report);
	return r;
}
