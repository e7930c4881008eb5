// SPDX-License-Identifier: Apache-2.0
// The names of one graph body and what each stands for.
#include "engine/onnx/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

int pk_onnx_str_compare(struct pk_onnx_str a, struct pk_onnx_str b)
{
	size_t n = PK_MIN(a.n, b.n);
	int order = n ? memcmp(a.data, b.data, n) : 0;
	return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool pk_onnx_str_is(struct pk_onnx_str str, const char *text)
{
	size_t n = strlen(text);
	return str.n == n && (n == 0 || memcmp(str.data, text, n) == 0);
}

char *pk_onnx_str_dup(struct pk_arena *arena, struct pk_onnx_str str)
{
	char *text = pk_arena_alloc(arena, str.n + 1);
	for (size_t i = 0; text && i < str.n; i++)
		text[i] = (unsigned char)str.data[i] < 0x20 ? '?' : str.data[i];
	return text;
}

static int compare_names(const void *a, const void *b)
{
	return pk_onnx_str_compare(
		((const struct pk_name *)a)->text, ((const struct pk_name *)b)->text);
}

static size_t count_names(const struct pk_onnx_graph *body)
{
	size_t n = body->n_inputs + body->n_initializers;
	for (size_t i = 0; i < body->n_nodes; i++)
		n += body->nodes[i].n_outputs;
	return n;
}

static void collect_names(struct pk_names *names, const struct pk_onnx_graph *body)
{
	for (size_t i = 0; i < body->n_inputs; i++)
		names->items[names->n++] = (struct pk_name){
			.text = body->inputs[i].name, .input = &body->inputs[i], .node_idx = -1};
	for (size_t i = 0; i < body->n_initializers; i++)
		names->items[names->n++] = (struct pk_name){.text = body->initializers[i].name,
			.initializer = &body->initializers[i],
			.node_idx = -1};
	for (size_t i = 0; i < body->n_nodes; i++) {
		const struct pk_onnx_node *node = &body->nodes[i];
		for (size_t k = 0; k < node->n_outputs; k++) {
			if (node->outputs[k].n)
				names->items[names->n++] = (struct pk_name){
					.text = node->outputs[k], .node_idx = (int)i};
		}
	}
}

// An initialiser may also be listed as an input (before IR version 4 it had to be): it is a
// constant. Everything else is defined once.
static bool may_merge(const struct pk_name *a, const struct pk_name *b)
{
	return (a->input && !a->initializer && b->initializer) ||
	       (b->input && !b->initializer && a->initializer);
}

static int merge_names(struct pk_names *names, struct pk_err *err)
{
	size_t kept = 0;
	for (size_t i = 0; i < names->n; i++) {
		struct pk_name *name = &names->items[i];
		struct pk_name *last = kept ? &names->items[kept - 1] : NULL;
		if (!last || pk_onnx_str_compare(last->text, name->text) != 0) {
			names->items[kept++] = *name;
			continue;
		}
		if (!may_merge(last, name))
			return pk_fail(err, -EINVAL, "the name `%.*s` is defined twice",
				PK_STR_ARG(name->text));
		if (name->initializer)
			last->initializer = name->initializer;
		else
			last->input = name->input;
	}
	names->n = kept;
	return 0;
}

int pk_names_build(struct pk_names *names, const struct pk_onnx_graph *body, struct pk_arena *arena,
	struct pk_err *err)
{
	names->n = 0;
	names->items = pk_arena_array(arena, count_names(body), sizeof(*names->items));
	if (!names->items)
		return pk_fail(err, -ENOMEM, "no memory for the names of the graph");
	collect_names(names, body);
	qsort(names->items, names->n, sizeof(*names->items), compare_names);
	return merge_names(names, err);
}

struct pk_name *pk_names_find(const struct pk_names *names, struct pk_onnx_str text)
{
	struct pk_name key = {.text = text};
	if (!names->n)
		return NULL;
	return bsearch(&key, names->items, names->n, sizeof(key), compare_names);
}

struct pk_name *pk_names_find_outer(const struct pk_names *names, struct pk_onnx_str text)
{
	for (; names; names = names->outer) {
		struct pk_name *name = pk_names_find(names, text);
		if (name)
			return name;
	}
	return NULL;
}
