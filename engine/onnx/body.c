// SPDX-License-Identifier: Apache-2.0
// Imports the nodes of a graph body: the main graph, or an If branch that was chosen.
#include "engine/onnx/body.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/function.h"
#include "engine/onnx/order.h"
#include "engine/onnx/tensor_data.h"

int64_t pk_body_opset(const struct pk_onnx_model *model, struct pk_onnx_str domain)
{
	domain = pk_onnx_domain(domain);
	for (size_t i = 0; i < model->n_opsets; i++)
		if (pk_onnx_str_compare(pk_onnx_domain(model->opsets[i].domain), domain) == 0)
			return model->opsets[i].version;
	return 0;
}

// "node `x` (Conv-11)", with the domain when it is not ONNX's own.
static void locate(
	const struct pk_import_state *state, const struct pk_onnx_node *node, struct pk_err *err)
{
	struct pk_onnx_str name = node->name;
	struct pk_onnx_str domain = pk_onnx_domain(node->domain);
	long long opset = (long long)pk_body_opset(state->model, domain);
	if (!name.n && node->n_outputs)
		name = node->outputs[0];
	if (domain.n)
		pk_err_prefix(err, "node `%.*s` (%.*s-%lld, domain `%.*s`)", PK_STR_ARG(name),
			PK_STR_ARG(node->op_type), opset, PK_STR_ARG(domain));
	else
		pk_err_prefix(err, "node `%.*s` (%.*s-%lld)", PK_STR_ARG(name),
			PK_STR_ARG(node->op_type), opset);
}

static int make_const(struct pk_import_state *state, struct pk_name *name, struct pk_err *err)
{
	struct pk_tensor tensor;
	int rc = pk_tensor_data_read(
		name->initializer, state->graph->arena, &tensor, &state->n_denormals, err);
	if (rc)
		return rc;
	char *text = pk_onnx_str_dup(state->scratch, name->text);
	name->value = text ? pk_graph_add_const(
				     state->graph, text, tensor.dtype, &tensor.shape, tensor.data)
			   : NULL;
	return name->value ? 0 : pk_fail(err, -ENOMEM, "no memory for the constants");
}

int pk_body_resolve(struct pk_import_state *state, const struct pk_names *names,
	struct pk_onnx_str text, struct pk_value **value, struct pk_err *err)
{
	struct pk_name *name = pk_names_find_outer(names, text);
	*value = NULL;
	if (!name)
		return pk_fail(err, -EINVAL, "`%.*s` is not defined", PK_STR_ARG(text));
	if (name->poisoned)
		return 0;
	if (!name->value && name->initializer) {
		int rc = make_const(state, name, err);
		if (rc)
			return rc;
	}
	if (!name->value && name->node_idx >= 0)
		return pk_fail(err, -ENOTSUP,
			"`%.*s` is an optional output that Picket does not compute",
			PK_STR_ARG(text));
	if (!name->value)
		return pk_fail(err, -EINVAL, "`%.*s` has no value", PK_STR_ARG(text));
	*value = name->value;
	return 0;
}

// The type letter of `name` in a row's list, 0 when it is not there.
static char attr_letter(const char *list, struct pk_onnx_str name)
{
	for (const char *at = list; *at;) {
		size_t n = strcspn(at, ":");
		if (n == name.n && memcmp(at, name.data, n) == 0)
			return at[n + 1];
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return 0;
}

static int check_attr(struct pk_importer *im, const struct pk_onnx_attr *attr)
{
	static const char letters[] = "?fistgFIS";
	static const char *const words[] = {"?", "a float", "an int", "a string", "a tensor",
		"a graph", "a list of floats", "a list of ints", "a list of strings"};
	char want = attr_letter(im->row->attrs, attr->name);
	if (!want)
		return pk_importer_fail(im, -EINVAL, "attribute `%.*s` is not one of this operator",
			PK_STR_ARG(attr->name));
	if (want == 'x')
		return pk_importer_fail(
			im, -ENOTSUP, "attribute `%.*s` is not supported", PK_STR_ARG(attr->name));
	const char *at = strchr(letters, want);
	if (attr->type != at - letters || (want == 't' && !attr->t) || (want == 'g' && !attr->g))
		return pk_importer_fail(im, -EINVAL, "attribute `%.*s` must be %s",
			PK_STR_ARG(attr->name), words[at - letters]);
	for (const struct pk_onnx_attr *other = im->node->attrs; other < attr; other++)
		if (pk_onnx_str_compare(other->name, attr->name) == 0)
			return pk_importer_fail(im, -EINVAL, "attribute `%.*s` is given twice",
				PK_STR_ARG(attr->name));
	return 0;
}

static void check_attrs(struct pk_importer *im)
{
	char name[64];
	for (size_t i = 0; i < im->node->n_attrs && !im->rc; i++)
		check_attr(im, &im->node->attrs[i]);
	for (const char *at = im->row->attrs; *at && !im->rc;) {
		size_t n = strcspn(at, ":");
		assert(n < sizeof(name)); // the table's own text
		memcpy(name, at, n);
		name[n] = '\0';
		if (at[n + 2] == '!' && !pk_importer_attr(im, name))
			pk_importer_fail(im, -EINVAL, "attribute `%s` is missing", name);
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
}

static void find_row(struct pk_importer *im)
{
	const struct pk_onnx_node *node = im->node;
	int64_t opset = pk_body_opset(im->state->model, node->domain);
	const struct pk_op_row *other = NULL;
	if (opset == 0) {
		struct pk_onnx_str domain = pk_onnx_domain(node->domain);
		if (!domain.n)
			domain = (struct pk_onnx_str){"ai.onnx", 7};
		pk_importer_fail(im, -EINVAL,
			"the model does not say which opset of `%.*s` it uses", PK_STR_ARG(domain));
		return;
	}
	im->row = pk_op_table_find(node->op_type, node->domain, opset, &other);
	im->opset = (int)PK_MIN(opset, INT64_C(1000000));
	if (im->row)
		return;
	if (other)
		pk_importer_fail(im, -ENOTSUP,
			"not supported by Picket at this opset, only at %d to %d; export the model "
			"with another opset",
			other->since, other->until);
	else
		pk_importer_fail(im, -ENOTSUP,
			"not supported by Picket; replace the operator in the model, or cut the "
			"model before it (`picketctl engine check` lists every such node)");
}

static void check_arity(struct pk_importer *im)
{
	const struct pk_op_row *row = im->row;
	size_t n = im->node->n_inputs;
	while (n > 0 && !im->node->inputs[n - 1].n) // trailing ones that are left out
		n--;
	size_t max = row->n_inputs_max < 0 ? INT16_MAX : (size_t)row->n_inputs_max;
	size_t required = row->n_inputs_max < 0 ? n : (size_t)row->n_inputs_min;
	if (n > max)
		pk_importer_fail(im, -EINVAL, "%zu inputs; it takes at most %zu", n, max);
	if (n < (size_t)row->n_inputs_min)
		pk_importer_fail(
			im, -EINVAL, "%zu inputs; it takes at least %d", n, row->n_inputs_min);
	for (size_t i = 0; i < required && !im->rc; i++)
		if (!im->node->inputs[i].n)
			pk_importer_fail(im, -EINVAL, "input %zu is left out but required", i);
	im->n_inputs = im->rc ? 0 : (int)n;
}

static void resolve_inputs(struct pk_importer *im)
{
	struct pk_arena *scratch = im->state->scratch;
	im->n_outputs = (int)PK_MIN(im->node->n_outputs, (size_t)INT16_MAX);
	im->inputs = pk_arena_array(scratch, (size_t)im->n_inputs, sizeof(*im->inputs));
	im->outputs = pk_arena_array(scratch, (size_t)im->n_outputs, sizeof(*im->outputs));
	if (!im->inputs || !im->outputs) {
		pk_importer_fail(im, -ENOMEM, "no memory");
		return;
	}
	for (int i = 0; i < im->n_inputs && !im->rc; i++) {
		struct pk_err why = {0};
		if (!im->node->inputs[i].n)
			continue;
		int rc = pk_body_resolve(
			im->state, im->names, im->node->inputs[i], &im->inputs[i], &why);
		if (rc)
			pk_importer_fail(im, rc, "input %d: %s", i, why.text);
		else if (!im->inputs[i])
			im->poisoned = true;
	}
}

static void bind_outputs(struct pk_importer *im)
{
	for (size_t i = 0; i < im->node->n_outputs; i++) {
		struct pk_onnx_str text = im->node->outputs[i];
		struct pk_name *name = text.n ? pk_names_find(im->names, text) : NULL;
		if (!name)
			continue;
		name->poisoned = im->poisoned;
		name->value = im->poisoned || i >= (size_t)im->n_outputs ? NULL : im->outputs[i];
	}
}

static int report_node(struct pk_importer *im)
{
	struct pk_import_state *state = im->state;
	locate(state, im->node, im->err);
	if (im->rc != -ENOTSUP || !state->options->report)
		return im->rc;
	pk_buf_printf(state->options->report, "%s\n", im->err->text);
	state->n_unsupported++;
	im->poisoned = true;
	im->rc = 0;
	return 0;
}

static int import_node(struct pk_import_state *state, const struct pk_onnx_node *node,
	struct pk_names *names, struct pk_err *err)
{
	struct pk_importer im = {
		.state = state, .graph = state->graph, .names = names, .node = node, .err = err};
	const struct pk_onnx_function *function =
		pk_function_find(state->model, node->op_type, node->domain);
	if (function) {
		im.n_inputs = (int)PK_MIN(node->n_inputs, (size_t)INT16_MAX);
	} else {
		find_row(&im);
		if (!im.rc)
			check_arity(&im);
		if (!im.rc)
			check_attrs(&im);
	}
	if (!im.rc)
		resolve_inputs(&im);
	if (!im.rc && !im.poisoned)
		function ? pk_function_import(&im, function) : im.row->import(&im);
	if (im.rc) {
		int rc = report_node(&im);
		if (rc)
			return rc;
	}
	bind_outputs(&im);
	return 0;
}

int pk_body_import(struct pk_import_state *state, const struct pk_onnx_graph *body,
	struct pk_names *names, struct pk_err *err)
{
	int *order;
	size_t n;
	struct pk_err local = {0};
	if (!err) // the texts go into the report as well
		err = &local;
	int rc = pk_order_nodes(body, names, state->scratch, &order, &n, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = import_node(state, &body->nodes[order[i]], names, err);
	return rc;
}
