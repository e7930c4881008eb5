// SPDX-License-Identifier: Apache-2.0
// Steps that passes take on a graph.
#include "engine/passes/rewrite.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "engine/passes/match.h"

#define PK_REWRITE_MAX_DEPTH 32

int pk_rewrite_join_name(
	struct pk_graph *graph, struct pk_node *node, const struct pk_node *other, bool first)
{
	size_t n = strlen(node->name), n_other = strlen(other->name);
	if (n_other == 0 || n + n_other >= PK_REWRITE_NAME_MAX)
		return 0;
	const char *a = first ? other->name : node->name, *b = first ? node->name : other->name;
	char *name = pk_arena_printf(graph->arena, "%s%s%s", a, n ? "+" : "", b);
	if (!name)
		return -ENOMEM;
	node->name = name;
	return 0;
}

static bool pk_rewrite_is_dead(const struct pk_node *node)
{
	for (int i = 0; i < node->n_outputs; i++)
		if (node->outputs[i]->n_uses > 0 || node->outputs[i]->is_output)
			return false;
	return true;
}

static int pk_rewrite_drop(
	struct pk_graph *graph, struct pk_value *value, struct pk_node *into, int depth)
{
	struct pk_node *node = value->producer;
	if (!node || !pk_rewrite_is_dead(node) || depth == PK_REWRITE_MAX_DEPTH)
		return 0;
	int n_inputs = node->n_inputs;
	struct pk_value **inputs =
		pk_arena_array(graph->arena, (size_t)n_inputs + 1, sizeof(*inputs));
	if (!inputs || (into && pk_rewrite_join_name(graph, into, node, true) < 0))
		return -ENOMEM;
	memcpy(inputs, node->inputs, (size_t)n_inputs * sizeof(*inputs));
	pk_graph_remove_node(graph, node);
	int r = 0;
	for (int i = 0; i < n_inputs && r == 0; i++)
		if (inputs[i])
			r = pk_rewrite_drop(graph, inputs[i], into, depth + 1);
	return r;
}

int pk_rewrite_drop_dead(struct pk_graph *graph, struct pk_value *value, struct pk_node *into)
{
	return pk_rewrite_drop(graph, value, into, 0);
}

int pk_rewrite_replace(
	struct pk_graph *graph, struct pk_value *old, struct pk_value *value, struct pk_node *into)
{
	pk_graph_replace_uses(graph, old, value);
	return pk_rewrite_drop_dead(graph, old, into);
}

int pk_rewrite_absorb_user(struct pk_graph *graph, struct pk_node *node, struct pk_node *user)
{
	assert(pk_match_same_type(node->outputs[0], user->outputs[0]));
	int r = pk_rewrite_join_name(graph, node, user, false);
	if (r < 0)
		return r;
	struct pk_value *out = user->outputs[0];
	// The user's own use of the output must not become a use of itself.
	for (int i = 0; i < user->n_inputs; i++)
		pk_graph_set_input(user, i, NULL);
	pk_graph_replace_uses(graph, out, node->outputs[0]);
	pk_graph_remove_node(graph, user);
	return 0;
}

void pk_rewrite_move(struct pk_node *node, struct pk_node *before)
{
	pk_list_remove(&node->link);
	pk_list_insert(&before->link, &node->link);
}

struct pk_node *pk_rewrite_new_unary(struct pk_graph *graph, enum pk_fn fn, struct pk_value *x,
	struct pk_node *before, struct pk_err *err)
{
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_UNARY, "", &x, 1, before);
	if (!node) {
		pk_fail(err, -ENOMEM, "no memory");
		return NULL;
	}
	pk_node_set_int(node, PK_ATTR_FN, fn);
	const char *name = before->outputs[0]->name;
	return pk_graph_finish_node(graph, node, &name, 1, NULL, err) < 0 ? NULL : node;
}
