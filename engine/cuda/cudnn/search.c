// SPDX-License-Identifier: Apache-2.0
// The search for plans.
#include "engine/cuda/cudnn/search.h"

#include <errno.h>
#include <string.h>

#define MAX_SEEN     (PK_CUDNN_N_MODES * PK_CUDNN_MAX_CANDIDATES)
#define MAX_REFUSALS 4 // of one mode: each may have cost seconds of compiling

struct run {
	const struct pk_cudnn_search *search;
	const struct pk_cudnn_device *device;
	char seen[MAX_SEEN][PK_CUDNN_MAX_TAG];
	int n_seen, n_visited;
	struct pk_err *err;
};

static bool is_new(struct run *run, const char *tag)
{
	for (int i = 0; i < run->n_seen; i++) {
		if (strcmp(run->seen[i], tag) == 0)
			return false;
	}
	if (run->n_seen < MAX_SEEN)
		memcpy(run->seen[run->n_seen++], tag, PK_CUDNN_MAX_TAG);
	return true;
}

// Refusals of one plan leave their reason and are no failure.
static int try_one(struct run *run, const struct pk_cudnn_candidate *candidate, int *n_made)
{
	const struct pk_cudnn_search *search = run->search;
	pk_auto(pk_cudnn_plan) plan = NULL;
	int r = pk_cudnn_plan_create(run->device, candidate, &plan, run->err);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	size_t workspace = pk_cudnn_plan_workspace(plan);
	if (search->max_workspace && workspace > search->max_workspace) {
		(void)pk_fail(run->err, -ENOTSUP, "it wants %zu bytes of workspace", workspace);
		return 0;
	}
	++*n_made;
	run->n_visited++;
	return search->visit(search->ctx, &plan, candidate->tag);
}

static int try_mode(struct run *run, const struct pk_cudnn_graph *graph,
	const struct pk_cudnn_fusion *fusion, enum pk_cudnn_mode mode)
{
	pk_cleanup(pk_cudnn_candidates_finish) struct pk_cudnn_candidates list = {0};
	int n_made = 0, max = run->search->max_per_mode;
	int r = pk_cudnn_candidates_init(&list, run->device, graph, fusion, mode, run->err);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	int n_tried = 0;
	for (int i = 0; r == 0 && i < list.n && (!max || n_made < max); i++) {
		if (n_tried - n_made >= MAX_REFUSALS)
			break;
		if (!is_new(run, list.items[i].tag))
			continue;
		n_tried++;
		r = try_one(run, &list.items[i], &n_made);
	}
	return r;
}

int pk_cudnn_search_run(const struct pk_cudnn_search *search, const struct pk_cudnn_device *device,
	const struct pk_cudnn_fusion *fusion, int *n, struct pk_err *err)
{
	struct run run = {.search = search, .device = device, .err = err};
	pk_cleanup(pk_cudnn_graph_finish) struct pk_cudnn_graph graph = {0};
	int r = pk_cudnn_graph_init(&graph, device, fusion, err);
	for (int mode = 0; r == 0 && mode < PK_CUDNN_N_MODES; mode++)
		r = try_mode(&run, &graph, fusion, mode);
	*n = run.n_visited;
	if (r == 0 && run.n_visited == 0) {
		if (err && !err->text[0])
			(void)pk_fail(err, -ENOTSUP, "heuristics name no engine");
		pk_err_prefix(err, "cuDNN has no plan");
		return -ENOTSUP;
	}
	return r < 0 ? r : 0;
}

struct first {
	struct pk_cudnn_plan **out;
	char *tag;
};

static int take_first(void *ctx, struct pk_cudnn_plan **plan, const char *tag)
{
	struct first *first = ctx;
	*first->out = pk_steal(*plan);
	if (first->tag)
		memcpy(first->tag, tag, PK_CUDNN_MAX_TAG);
	return 1;
}

int pk_cudnn_find(const struct pk_cudnn_device *device, const struct pk_cudnn_fusion *fusion,
	size_t max_workspace, struct pk_cudnn_plan **out, char *tag, struct pk_err *err)
{
	struct first first = {.out = out, .tag = tag};
	struct pk_cudnn_search search = {
		.max_workspace = max_workspace, .visit = take_first, .ctx = &first};
	int n = 0;
	return pk_cudnn_search_run(&search, device, fusion, &n, err);
}
