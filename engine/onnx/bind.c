// SPDX-License-Identifier: Apache-2.0
// Static shapes for the inputs of a model, from its own dims and the caller's bindings.
#include "engine/onnx/bind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/tensor_data.h"

struct symbol {
	struct pk_onnx_str param;
	int64_t value;
};

struct binder {
	struct pk_import_state *state;
	const struct pk_onnx_graph *body;
	struct pk_names *names;
	struct symbol *symbols;
	size_t n_symbols, cap_symbols;
	struct pk_err *err;
};

static const struct symbol *find_symbol(const struct binder *b, struct pk_onnx_str param)
{
	for (size_t i = 0; param.n && i < b->n_symbols; i++)
		if (pk_onnx_str_compare(b->symbols[i].param, param) == 0)
			return &b->symbols[i];
	return NULL;
}

static int learn(struct binder *b, struct pk_onnx_str param, int64_t value)
{
	const struct symbol *known = find_symbol(b, param);
	if (known && known->value != value)
		return pk_fail(b->err, -EINVAL, "dimension `%.*s` is bound to %lld and to %lld",
			PK_STR_ARG(param), (long long)known->value, (long long)value);
	if (!known && param.n && b->n_symbols < b->cap_symbols)
		b->symbols[b->n_symbols++] = (struct symbol){param, value};
	return 0;
}

static bool is_fixed(const struct pk_onnx_dim *dim)
{
	return dim->has_value && dim->value > 0;
}

static bool is_fed(const struct binder *b, const struct pk_onnx_value_info *input)
{
	const struct pk_name *name = pk_names_find(b->names, input->name);
	return name && !name->initializer && name->input == input;
}

static const struct pk_shape_binding *find_binding(
	const struct binder *b, const struct pk_onnx_value_info *input)
{
	const struct pk_import_options *options = b->state->options;
	for (size_t i = 0; i < options->n_bindings; i++)
		if (pk_onnx_str_is(input->name, options->bindings[i].name))
			return &options->bindings[i];
	return NULL;
}

// What the shape looks like, as something to type: "1x3xHxW".
static void format_dims(const struct pk_onnx_value_info *input, char *out, size_t size)
{
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < input->n_dims && n < size; i++) {
		const struct pk_onnx_dim *dim = &input->dims[i];
		const char *sep = i ? "x" : "";
		if (is_fixed(dim))
			n += (size_t)snprintf(
				out + n, size - n, "%s%lld", sep, (long long)dim->value);
		else if (i == 0 && input->n_dims > 1)
			n += (size_t)snprintf(out + n, size - n, "1");
		else if (dim->param.n && dim->param.n < 16)
			n += (size_t)snprintf(
				out + n, size - n, "%s%.*s", sep, PK_STR_ARG(dim->param));
		else
			n += (size_t)snprintf(out + n, size - n, "%sD%zu", sep, i);
	}
}

static int fail_open(struct binder *b, const struct pk_onnx_value_info *input, size_t i)
{
	char dims[128];
	const struct pk_onnx_dim *dim = &input->dims[i];
	format_dims(input, dims, sizeof(dims));
	if (dim->param.n)
		return pk_fail(b->err, -EDOM,
			"input `%.*s`: dimension %zu (`%.*s`) is dynamic; fix it with "
			"`--shape %.*s=%s`",
			PK_STR_ARG(input->name), i, PK_STR_ARG(dim->param), PK_STR_ARG(input->name),
			dims);
	return pk_fail(b->err, -EDOM,
		"input `%.*s`: dimension %zu is dynamic; fix it with `--shape %.*s=%s`",
		PK_STR_ARG(input->name), i, PK_STR_ARG(input->name), dims);
}

// Checks a binding of an input against what the file says, and learns its symbols.
static int learn_input(struct binder *b, const struct pk_onnx_value_info *input,
	const struct pk_shape_binding *binding)
{
	char text[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&binding->shape, text);
	if (!input->has_shape)
		return 0;
	if ((size_t)binding->shape.rank != input->n_dims)
		return pk_fail(b->err, -EINVAL, "input `%.*s` has %zu dimensions, not those of %s",
			PK_STR_ARG(input->name), input->n_dims, text);
	for (size_t i = 0; i < input->n_dims; i++) {
		const struct pk_onnx_dim *dim = &input->dims[i];
		int64_t want = binding->shape.dims[i];
		if (is_fixed(dim) && dim->value != want)
			return pk_fail(b->err, -EINVAL,
				"input `%.*s`: dimension %zu is %lld in the model, %s does not fit",
				PK_STR_ARG(input->name), i, (long long)dim->value, text);
		int rc = is_fixed(dim) ? 0 : learn(b, dim->param, want);
		if (rc)
			return rc;
	}
	return 0;
}

static struct pk_onnx_str find_param(const struct binder *b, const char *name)
{
	for (size_t i = 0; i < b->body->n_inputs; i++)
		for (size_t k = 0; k < b->body->inputs[i].n_dims; k++)
			if (pk_onnx_str_is(b->body->inputs[i].dims[k].param, name))
				return b->body->inputs[i].dims[k].param;
	return (struct pk_onnx_str){0};
}

static int learn_binding(struct binder *b, const struct pk_shape_binding *binding)
{
	if (pk_shape_elements(&binding->shape) < 0)
		return pk_fail(
			b->err, -EINVAL, "the shape given for `%s` is too large", binding->name);
	for (size_t i = 0; i < b->body->n_inputs; i++) {
		const struct pk_onnx_value_info *input = &b->body->inputs[i];
		if (pk_onnx_str_is(input->name, binding->name) && is_fed(b, input))
			return learn_input(b, input, binding);
	}
	struct pk_onnx_str param = find_param(b, binding->name);
	if (param.n && binding->shape.rank == 1)
		return learn(b, param, binding->shape.dims[0]);
	if (param.n)
		return pk_fail(
			b->err, -EINVAL, "`%s` is a dimension: give one number", binding->name);
	return pk_fail(b->err, -EINVAL, "the model has no input and no dimension named `%s`",
		binding->name);
}

static int input_shape(
	struct binder *b, const struct pk_onnx_value_info *input, struct pk_shape *shape)
{
	if (!input->has_shape)
		return pk_fail(b->err, -EDOM,
			"input `%.*s` has no shape; give one with `--shape "
			"%.*s=…`",
			PK_STR_ARG(input->name), PK_STR_ARG(input->name));
	if (input->n_dims > PK_MAX_RANK)
		return pk_fail(b->err, -ENOTSUP, "input `%.*s` has %zu dimensions; %d are possible",
			PK_STR_ARG(input->name), input->n_dims, PK_MAX_RANK);
	*shape = (struct pk_shape){.rank = (int)input->n_dims};
	for (size_t i = 0; i < input->n_dims; i++) {
		const struct pk_onnx_dim *dim = &input->dims[i];
		const struct symbol *symbol = find_symbol(b, dim->param);
		if (is_fixed(dim))
			shape->dims[i] = dim->value;
		else if (symbol)
			shape->dims[i] = symbol->value;
		else if (i == 0 && input->n_dims > 1)
			shape->dims[i] = 1; // the batch
		else
			return fail_open(b, input, i);
	}
	return 0;
}

static int add_input(struct binder *b, const struct pk_onnx_value_info *input)
{
	const struct pk_shape_binding *binding = find_binding(b, input);
	enum pk_dtype dtype = pk_tensor_data_dtype(input->elem_type);
	struct pk_shape shape = {0};
	int rc = 0;
	if (dtype == PK_DTYPE_NONE)
		return pk_fail(b->err, -ENOTSUP,
			"input `%.*s`: elements of type %s are not "
			"supported",
			PK_STR_ARG(input->name), pk_tensor_data_type_name(input->elem_type));
	if (binding)
		shape = binding->shape;
	else
		rc = input_shape(b, input, &shape);
	if (rc)
		return rc;
	if (pk_shape_elements(&shape) < 0)
		return pk_fail(b->err, -EFBIG, "input `%.*s` has more than 2^31 - 1 elements",
			PK_STR_ARG(input->name));
	char *text = pk_onnx_str_dup(b->state->scratch, input->name);
	struct pk_name *name = pk_names_find(b->names, input->name);
	name->value = text ? pk_graph_add_input(b->state->graph, text, dtype, &shape) : NULL;
	return name->value ? 0 : pk_fail(b->err, -ENOMEM, "no memory for the inputs");
}

int pk_bind_inputs(struct pk_import_state *state, struct pk_names *names, struct pk_err *err)
{
	struct binder b = {.state = state, .body = state->model->graph, .names = names, .err = err};
	for (size_t i = 0; i < b.body->n_inputs; i++)
		b.cap_symbols += b.body->inputs[i].n_dims;
	b.cap_symbols = PK_MIN(b.cap_symbols, (size_t)4096);
	b.symbols = pk_arena_array(state->scratch, b.cap_symbols, sizeof(*b.symbols));
	if (!b.symbols)
		return pk_fail(err, -ENOMEM, "no memory for the dimensions");
	int rc = 0;
	for (size_t i = 0; !rc && i < state->options->n_bindings; i++)
		rc = learn_binding(&b, &state->options->bindings[i]);
	for (size_t i = 0; !rc && i < b.body->n_inputs; i++)
		if (is_fed(&b, &b.body->inputs[i]))
			rc = add_input(&b, &b.body->inputs[i]);
	return rc;
}
