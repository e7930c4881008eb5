// SPDX-License-Identifier: Apache-2.0
// F23: drops nodes whose outputs nothing uses.
#include "engine/passes/pass_impl.h"

static bool pk_dce_is_dead(const struct pk_node *node)
{
	for (int i = 0; i < node->n_outputs; i++)
		if (node->outputs[i]->n_uses > 0 || node->outputs[i]->is_output)
			return false;
	return true;
}

// Backwards, so that one walk takes whole chains.
int pk_pass_dce(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_list *link = graph->nodes.prev;
	while (link != &graph->nodes) {
		struct pk_node *node = pk_list_entry(link, struct pk_node, link);
		link = link->prev;
		if (pk_dce_is_dead(node)) {
			pk_graph_remove_node(graph, node);
			n++;
		}
	}
	return n;
}
