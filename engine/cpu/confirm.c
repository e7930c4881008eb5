// SPDX-License-Identifier: Apache-2.0
// Times of kernels at their place in the graph: what the caches hold then, an isolated run cannot
// know.
#include "engine/cpu/confirm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "engine/compile/op_key.h"
#include "engine/compile/timing_cache.h"
#include "engine/cpu/exec.h"
#include "engine/cpu/kernel.h"
#include "engine/cpu/tune.h"
#include "engine/cpu/write.h"

#define CLOSE         1.6  // times the winner's time alone
#define CLEAR         0.98 // a runner-up must need less than this part of the winner's time
#define GRAPH_RUNS    5
#define MAX_KEY_BYTES 8192
#define MAX_PLAN      (size_t)(UINT64_C(4) << 30)

// A node whose runner-up came close.
struct call {
	struct pk_node *node;
	int step;                               // place in the graph
	const struct pk_cpu_kernel *tactics[2]; // winner and runner-up alone
	char *key;
	double us[2]; // within the graph; negative: not known yet
};

struct confirm {
	struct pk_runtime_build *build;
	struct call *calls;
	int n_calls;
	struct pk_buf key;
};

static void confirm_finish(struct confirm *c)
{
	for (int i = 0; i < c->n_calls; i++)
		free(c->calls[i].key);
	free(c->calls);
	pk_buf_finish(&c->key);
}

// The name of a tactic's time within graphs.
static void place_name(const struct pk_cpu_kernel *kernel, char out[96])
{
	snprintf(out, 96, "%s in graph", kernel->name);
}

// Winner and runner-up by their times alone; false when there is no close runner-up.
static bool find_rivals(const struct confirm *c, struct call *call)
{
	const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS];
	int n = pk_cpu_tactics(call->node, tactics);
	double best[2] = {-1, -1};
	for (int i = 0; i < n; i++) {
		double us = pk_timing_cache_get(c->build->timing, call->key, tactics[i]->name);
		bool wins = best[0] < 0 || us < best[0];
		if (us < 0 || (!wins && best[1] >= 0 && us >= best[1]))
			continue;
		if (wins) {
			best[1] = best[0];
			call->tactics[1] = call->tactics[0];
		}
		best[!wins] = us;
		call->tactics[!wins] = tactics[i];
	}
	return best[1] >= 0 && best[1] < CLOSE * best[0];
}

static int add_call(struct confirm *c, struct pk_node *node, int step)
{
	struct call *call = &c->calls[c->n_calls];
	*call = (struct call){.node = node, .step = step};
	pk_buf_clear(&c->key);
	int r = pk_op_key(node, &c->key);
	if (r < 0)
		return r;
	call->key = strdup(pk_buf_cstr(&c->key));
	if (!call->key)
		return -ENOMEM;
	if (!find_rivals(c, call)) {
		free(call->key);
		return 0;
	}
	c->n_calls++;
	return 0;
}

static int collect_calls(struct confirm *c)
{
	struct pk_node *node;
	int step = 0, r = 0;
	c->calls = calloc((size_t)c->build->graph->n_nodes + 1, sizeof(*c->calls));
	if (!c->calls)
		return -ENOMEM;
	pk_graph_each_node (node, c->build->graph) {
		if (r == 0)
			r = add_call(c, node, step);
		step++;
	}
	return r;
}

// What the cache knows of all calls with the winner (0) or the runner-up (1); false: not all.
static bool recall(struct confirm *c, int rival)
{
	char name[96];
	bool all = true;
	for (int i = 0; i < c->n_calls; i++) {
		struct call *call = &c->calls[i];
		place_name(call->tactics[rival], name);
		call->us[rival] = pk_timing_cache_get(c->build->timing, call->key, name);
		all = all && call->us[rival] >= 0;
	}
	return all;
}

// Least time of each step over some runs.
static int time_steps(void *loaded, int64_t *ns, int n, struct pk_err *err)
{
	void *context = NULL;
	int64_t *once = calloc((size_t)n + 1, sizeof(*once));
	int r = once ? pk_cpu_context_create(loaded, 1, &context, err) : -ENOMEM;
	for (int run = 0; r == 0 && run <= GRAPH_RUNS; run++) { // the first warms up
		r = pk_cpu_profile(context, 0, once, n, err);
		for (int i = 0; r == 0 && run > 0 && i < n; i++)
			ns[i] = run == 1 ? once[i] : PK_MIN(ns[i], once[i]);
	}
	pk_cpu_context_destroy(context);
	free(once);
	return r;
}

// The graph's sections as they would lie in a file, aligned as a map of it; NULL: no memory.
static void *engine_image(const struct pk_graph *graph, size_t *size, struct pk_err *err)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_PLAN);
	if (!writer || pk_cpu_write(graph, writer, err) < 0 ||
		pk_plan_writer_to_buf(writer, &bytes) < 0)
		return NULL;
	void *image =
		aligned_alloc(PK_PLAN_WEIGHT_ALIGN, pk_align_up(bytes.len, PK_PLAN_WEIGHT_ALIGN));
	if (image)
		memcpy(image, bytes.data, bytes.len);
	*size = bytes.len;
	return image;
}

static int time_graph(const struct pk_graph *graph, int64_t *ns, struct pk_err *err)
{
	size_t size = 0;
	pk_auto_free void *image = engine_image(graph, &size, err);
	if (!image)
		return pk_fail(err, -ENOMEM, "out of memory for a trial of the whole graph");
	pk_auto(pk_plan) plan = NULL;
	enum pk_mismatch mismatch;
	void *loaded = NULL;
	int r = pk_plan_from_bytes(image, size, &plan, &mismatch, err);
	if (r == 0)
		r = pk_cpu_load(plan, &loaded, err);
	if (r == 0)
		r = time_steps(loaded, ns, graph->n_nodes, err);
	pk_cpu_unload(loaded);
	return r;
}

// Nodes with one key are one operation: their mean counts.
static double mean_us(const struct confirm *c, const struct call *of, const int64_t *ns)
{
	double sum = 0;
	int n = 0;
	for (int i = 0; i < c->n_calls; i++) {
		if (strcmp(c->calls[i].key, of->key) != 0)
			continue;
		sum += (double)ns[c->calls[i].step] / (double)PK_NS_PER_US;
		n++;
	}
	return sum / n;
}

static int use_tactics(struct confirm *c, int rival, struct pk_err *err)
{
	int r = 0;
	for (int i = 0; r == 0 && i < c->n_calls; i++)
		r = pk_cpu_use(c->build->graph, c->calls[i].node, c->calls[i].tactics[rival], err);
	return r;
}

static int measure(struct confirm *c, int rival, struct pk_err *err)
{
	char name[96];
	pk_auto_free int64_t *ns = calloc((size_t)c->build->graph->n_nodes + 1, sizeof(*ns));
	if (!ns)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = use_tactics(c, rival, err);
	if (r == 0)
		r = time_graph(c->build->graph, ns, err);
	for (int i = 0; r == 0 && i < c->n_calls; i++) {
		struct call *call = &c->calls[i];
		place_name(call->tactics[rival], name);
		if (call->us[rival] < 0)
			c->build->n_measured++;
		call->us[rival] = mean_us(c, call, ns);
		r = pk_timing_cache_put(c->build->timing, call->key, name, call->us[rival]);
	}
	return r;
}

static int decide(struct confirm *c, struct pk_err *err)
{
	int r = 0;
	for (int i = 0; r == 0 && i < c->n_calls; i++) {
		const struct call *call = &c->calls[i];
		bool rival = call->us[1] < CLEAR * call->us[0];
		r = pk_cpu_use(c->build->graph, call->node, call->tactics[rival], err);
	}
	return r;
}

int pk_cpu_confirm(struct pk_runtime_build *build, struct pk_err *err)
{
	pk_cleanup(confirm_finish) struct confirm c = {.build = build};
	pk_buf_init(&c.key, MAX_KEY_BYTES);
	if (collect_calls(&c) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = 0;
	for (int rival = 0; r == 0 && c.n_calls > 0 && rival < 2; rival++) {
		if (!recall(&c, rival))
			r = measure(&c, rival, err);
		if (r == 0 && build->progress &&
			build->progress(build->ctx, build->graph->n_nodes, build->graph->n_nodes,
				"the whole graph"))
			r = pk_fail(err, -ECANCELED, "canceled");
	}
	return r < 0 ? r : decide(&c, err);
}
