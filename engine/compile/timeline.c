// SPDX-License-Identifier: Apache-2.0
// First and last step of each tensor, then a running sum.
#include "engine/compile/timeline.h"
#include "engine/ir/layout.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"

struct span {
	int first, last; // steps; last < first: not an activation
};

struct spans {
	struct span *of; // by value id
	int *roots;      // by value id: what a view shares its bytes with
};

static void reach(struct spans *spans, const struct pk_value *value, int step)
{
	struct span *span = &spans->of[spans->roots[value->id]];
	if (value->data || (!value->producer && !value->is_input))
		return;
	span->first = PK_MIN(span->first, step);
	span->last = PK_MAX(span->last, step);
}

static void find_spans(const struct pk_graph *graph, struct spans *spans)
{
	int step = 0;
	for (int i = 0; i < graph->n_values; i++) {
		spans->of[i] = (struct span){INT32_MAX, -1};
		spans->roots[i] = i;
	}
	for (int i = 0; i < graph->n_inputs; i++)
		reach(spans, graph->inputs[i], 0);
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		bool view = pk_op_info(node->op)->flags & PK_OP_VIEW;
		if (view && !node->inputs[0]->data)
			spans->roots[node->outputs[0]->id] = spans->roots[node->inputs[0]->id];
		for (int i = 0; i < node->n_inputs; i++) {
			if (node->inputs[i])
				reach(spans, node->inputs[i], step);
		}
		for (int i = 0; i < node->n_outputs; i++)
			reach(spans, node->outputs[i], step);
		step++;
	}
	for (int i = 0; i < graph->n_outputs; i++)
		reach(spans, graph->outputs[i], PK_MAX(step - 1, 0));
}

int64_t pk_timeline_make(const struct pk_graph *graph, int64_t *live)
{
	size_t n = (size_t)graph->n_values + 1;
	pk_auto_free struct span *of = calloc(n, sizeof(*of));
	pk_auto_free int *roots = calloc(n, sizeof(*roots));
	int64_t peak = 0;
	if (!of || !roots)
		return -ENOMEM;
	struct spans spans = {of, roots};
	find_spans(graph, &spans);
	for (int i = 0; i < graph->n_nodes; i++)
		live[i] = 0;
	for (int v = 0; v < graph->n_values; v++) {
		const struct pk_value *value = graph->values[v];
		for (int i = of[v].first; i <= of[v].last && i < graph->n_nodes; i++) {
			live[i] += (int64_t)pk_layout_bytes(value);
			peak = PK_MAX(peak, live[i]);
		}
	}
	return peak;
}
