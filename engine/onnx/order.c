// SPDX-License-Identifier: Apache-2.0
// An execution order for the nodes of a graph body, whatever order the file has.
#include "engine/onnx/order.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum mark {
	MARK_NEW,
	MARK_OPEN, // its producers are being ordered
	MARK_DONE,
};

struct sorter {
	const struct pk_onnx_graph *body;
	const struct pk_names *names;
	int *deps;       // producers of all nodes, node after node
	size_t *deps_at; // first of each node; n_nodes + 1 entries
	size_t n_deps;
	uint8_t *marks;
	size_t *next; // progress in deps, of open nodes
	int *stack;
	int *order;
	size_t n_order;
};

// Notes the producer of one name, when it is a node of this body. deps NULL: counts only.
static size_t collect_name(
	const struct pk_names *names, struct pk_onnx_str text, int *deps, size_t n)
{
	const struct pk_name *name = text.n ? pk_names_find(names, text) : NULL;
	if (!name || name->node_idx < 0)
		return n;
	if (deps)
		deps[n] = name->node_idx;
	return n + 1;
}

// The producers that node needs in this body, those of nested bodies included: they see the names
// around them.
static size_t collect_deps(
	const struct pk_onnx_node *node, const struct pk_names *names, int *deps, size_t n)
{
	for (size_t i = 0; i < node->n_inputs; i++)
		n = collect_name(names, node->inputs[i], deps, n);
	for (size_t a = 0; a < node->n_attrs; a++) {
		const struct pk_onnx_graph *g = node->attrs[a].g;
		for (size_t i = 0; g && i < g->n_nodes; i++)
			n = collect_deps(&g->nodes[i], names, deps, n);
		for (size_t i = 0; g && i < g->n_outputs; i++)
			n = collect_name(names, g->outputs[i].name, deps, n);
	}
	return n;
}

static int alloc_sorter(struct sorter *s, struct pk_arena *arena, struct pk_err *err)
{
	size_t n = s->body->n_nodes;
	for (size_t i = 0; i < n; i++)
		s->n_deps = collect_deps(&s->body->nodes[i], s->names, NULL, s->n_deps);
	s->deps = pk_arena_array(arena, s->n_deps, sizeof(*s->deps));
	s->deps_at = pk_arena_array(arena, n + 1, sizeof(*s->deps_at));
	s->marks = pk_arena_array(arena, n, sizeof(*s->marks));
	s->next = pk_arena_array(arena, n, sizeof(*s->next));
	s->stack = pk_arena_array(arena, n, sizeof(*s->stack));
	s->order = pk_arena_array(arena, n, sizeof(*s->order));
	if (!s->deps || !s->deps_at || !s->marks || !s->next || !s->stack || !s->order)
		return pk_fail(err, -ENOMEM, "no memory to order %zu nodes", n);
	for (size_t i = 0; i < n; i++)
		s->deps_at[i + 1] =
			collect_deps(&s->body->nodes[i], s->names, s->deps, s->deps_at[i]);
	return 0;
}

// Depth first with a stack of its own: chains in hostile files are long.
static int visit(struct sorter *s, int root, struct pk_err *err)
{
	size_t depth = 0;
	s->stack[depth++] = root;
	s->marks[root] = MARK_OPEN;
	s->next[root] = s->deps_at[root];
	while (depth) {
		int at = s->stack[depth - 1];
		if (s->next[at] == s->deps_at[at + 1]) {
			s->marks[at] = MARK_DONE;
			s->order[s->n_order++] = at;
			depth--;
			continue;
		}
		int dep = s->deps[s->next[at]++];
		const struct pk_onnx_node *node = &s->body->nodes[dep];
		if (s->marks[dep] == MARK_OPEN)
			return pk_fail(err, -EINVAL,
				"node `%.*s` (%.*s): its output is needed for its own input",
				PK_STR_ARG(node->name.n ? node->name : node->outputs[0]),
				PK_STR_ARG(node->op_type));
		if (s->marks[dep] == MARK_DONE)
			continue;
		s->marks[dep] = MARK_OPEN;
		s->next[dep] = s->deps_at[dep];
		s->stack[depth++] = dep;
	}
	return 0;
}

static void keep_needed(struct sorter *s)
{
	size_t n = s->body->n_nodes;
	memset(s->marks, 0, n);
	for (size_t i = 0; i < s->body->n_outputs; i++) {
		const struct pk_name *name = pk_names_find(s->names, s->body->outputs[i].name);
		if (name && name->node_idx >= 0)
			s->marks[name->node_idx] = 1;
	}
	for (size_t i = s->n_order; i-- > 0;) {
		int at = s->order[i];
		for (size_t d = s->deps_at[at]; s->marks[at] && d < s->deps_at[at + 1]; d++)
			s->marks[s->deps[d]] = 1;
	}
	size_t kept = 0;
	for (size_t i = 0; i < s->n_order; i++) {
		if (s->marks[s->order[i]])
			s->order[kept++] = s->order[i];
	}
	s->n_order = kept;
}

int pk_order_nodes(const struct pk_onnx_graph *body, const struct pk_names *names,
	struct pk_arena *arena, int **order, size_t *n_order, struct pk_err *err)
{
	struct sorter s = {.body = body, .names = names};
	int rc = alloc_sorter(&s, arena, err);
	for (size_t i = 0; !rc && i < body->n_nodes; i++) {
		if (s.marks[i] == MARK_NEW)
			rc = visit(&s, (int)i, err);
	}
	if (rc)
		return rc;
	keep_needed(&s);
	*order = s.order;
	*n_order = s.n_order;
	return 0;
}
