// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines itself: a call is replaced by the function's nodes.
#include "engine/onnx/function.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/body.h"
#include "engine/onnx/emit.h"

#define MAX_DEPTH 16
#define MAX_CALLS 4096

const struct pk_onnx_function *pk_function_find(
	const struct pk_onnx_model *model, struct pk_onnx_str op_type, struct pk_onnx_str domain)
{
	domain = pk_onnx_domain(domain);
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct pk_onnx_function *f = &model->functions[i];
		if (pk_onnx_str_compare(f->name, op_type) == 0 &&
			pk_onnx_str_compare(pk_onnx_domain(f->domain), domain) == 0)
			return f;
	}
	return NULL;
}

// One call while it is copied: the body, with the caller's attributes put in.
struct call {
	struct pk_importer *im;
	const struct pk_onnx_function *function;
};

static void *copy_array(struct call *c, const void *from, size_t n, size_t item)
{
	void *to = pk_arena_array(c->im->state->scratch, n, item);
	if (!to)
		pk_importer_fail(c->im, -ENOMEM, "no memory to inline a function");
	else if (n)
		memcpy(to, from, n * item);
	return to;
}

// What an attribute that refers to one of the function's stands for; NULL: the caller gives none.
static const struct pk_onnx_attr *referred(const struct call *c, struct pk_onnx_str name)
{
	const struct pk_onnx_node *node = c->im->node;
	for (size_t i = 0; i < node->n_attrs; i++)
		if (pk_onnx_str_compare(node->attrs[i].name, name) == 0)
			return &node->attrs[i];
	for (size_t i = 0; i < c->function->n_defaults; i++)
		if (pk_onnx_str_compare(c->function->defaults[i].name, name) == 0)
			return &c->function->defaults[i];
	return NULL;
}

// Inputs that the caller leaves out are left out by the nodes that would read them.
static bool is_left_out(const struct call *c, struct pk_onnx_str name)
{
	for (size_t i = 0; i < c->function->n_inputs; i++)
		if (pk_onnx_str_compare(c->function->inputs[i], name) == 0)
			return !pk_importer_input(c->im, (int)i);
	return false;
}

static void copy_nodes(struct call *c, struct pk_onnx_node **nodes, size_t n);

static void copy_body(struct call *c, struct pk_onnx_graph **body)
{
	*body = copy_array(c, *body, 1, sizeof(**body));
	if (*body)
		copy_nodes(c, &(*body)->nodes, (*body)->n_nodes);
}

static void copy_attrs(struct call *c, struct pk_onnx_node *node)
{
	size_t kept = 0;
	node->attrs = copy_array(c, node->attrs, node->n_attrs, sizeof(*node->attrs));
	for (size_t i = 0; i < node->n_attrs && !c->im->rc; i++) {
		struct pk_onnx_attr attr = node->attrs[i];
		if (attr.ref.n) {
			const struct pk_onnx_attr *value = referred(c, attr.ref);
			if (!value)
				continue;
			struct pk_onnx_str name = attr.name;
			attr = *value;
			attr.name = name;
		} else if (attr.g) {
			copy_body(c, &attr.g);
		}
		node->attrs[kept++] = attr;
	}
	node->n_attrs = kept;
}

static void copy_nodes(struct call *c, struct pk_onnx_node **nodes, size_t n)
{
	*nodes = copy_array(c, *nodes, n, sizeof(**nodes));
	for (size_t i = 0; i < n && !c->im->rc; i++) {
		struct pk_onnx_node *node = &(*nodes)[i];
		node->inputs = copy_array(c, node->inputs, node->n_inputs, sizeof(*node->inputs));
		for (size_t k = 0; k < node->n_inputs && !c->im->rc; k++)
			if (is_left_out(c, node->inputs[k]))
				node->inputs[k].n = 0;
		copy_attrs(c, node);
	}
}

static void list_values(
	struct call *c, const struct pk_onnx_str *names, size_t n, struct pk_onnx_value_info **out)
{
	*out = pk_arena_array(c->im->state->scratch, n, sizeof(**out));
	if (!*out)
		pk_importer_fail(c->im, -ENOMEM, "no memory to inline a function");
	for (size_t i = 0; i < n && *out; i++)
		(*out)[i].name = names[i];
}

static void bind_inputs(struct call *c, struct pk_names *names)
{
	for (size_t i = 0; i < c->function->n_inputs && !c->im->rc; i++) {
		struct pk_name *name = pk_names_find(names, c->function->inputs[i]);
		if (!name || !name->input)
			pk_importer_fail(
				c->im, -EINVAL, "the function's input %zu has no place", i);
		else
			name->value = pk_importer_input(c->im, (int)i);
	}
}

static void bind_results(struct call *c, const struct pk_names *names)
{
	struct pk_importer *im = c->im;
	for (int i = 0; i < im->n_outputs && !im->rc; i++) {
		struct pk_value *value;
		struct pk_err why = {0};
		if (!im->node->outputs[i].n)
			continue;
		int rc = pk_body_resolve(im->state, names, c->function->outputs[i], &value, &why);
		if (rc)
			pk_importer_fail(im, rc, "%s", why.text);
		else if (!value)
			im->poisoned = true;
		else
			pk_emit_alias(im, i, value);
	}
}

// The body sees its own inputs only, and has opsets of its own.
static void import_body(struct call *c, const struct pk_onnx_graph *body)
{
	struct pk_import_state *state = c->im->state;
	const struct pk_onnx_model *outer = state->model;
	struct pk_onnx_model inner = *outer;
	struct pk_names names = {0};
	struct pk_err why = {0};
	if (c->function->n_opsets) {
		inner.opsets = c->function->opsets;
		inner.n_opsets = c->function->n_opsets;
	}
	int rc = pk_names_build(&names, body, state->scratch, &why);
	if (!rc)
		bind_inputs(c, &names);
	state->model = &inner;
	state->depth++;
	if (!rc && !c->im->rc)
		rc = pk_body_import(state, body, &names, &why);
	state->depth--;
	state->model = outer;
	if (rc)
		pk_importer_fail(c->im, rc, "%s", why.text);
	else
		bind_results(c, &names);
}

int pk_function_import(struct pk_importer *im, const struct pk_onnx_function *function)
{
	struct call c = {im, function};
	struct pk_onnx_graph body = {.nodes = function->nodes,
		.n_nodes = function->n_nodes,
		.n_inputs = function->n_inputs,
		.n_outputs = function->n_outputs};
	if (im->state->depth >= MAX_DEPTH || ++im->state->n_calls > MAX_CALLS)
		return pk_importer_fail(im, -ENOTSUP,
			"functions that call functions are not supported beyond a depth of %d and "
			"%d calls",
			MAX_DEPTH, MAX_CALLS);
	if ((size_t)im->n_inputs > function->n_inputs ||
		(size_t)im->n_outputs > function->n_outputs)
		return pk_importer_fail(im, -EINVAL, "the function has %zu inputs and %zu outputs",
			function->n_inputs, function->n_outputs);
	copy_nodes(&c, &body.nodes, body.n_nodes);
	list_values(&c, function->inputs, function->n_inputs, &body.inputs);
	list_values(&c, function->outputs, function->n_outputs, &body.outputs);
	if (!im->rc)
		import_body(&c, &body);
	return im->rc;
}
