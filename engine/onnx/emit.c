// SPDX-License-Identifier: Apache-2.0
// Emits IR nodes for one ONNX node and folds those whose operands are constants.
#include "engine/onnx/emit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

// Folding is for shapes and small tables; a node that would take longer than this stays a node.
#define MAX_FOLD_WORK (INT64_C(1) << 30)

// NULL: no memory.
static const char *value_name(struct pk_importer *im, int out)
{
	const struct pk_onnx_node *node = im->node;
	if (out >= 0 && (size_t)out < node->n_outputs && node->outputs[out].n)
		return pk_onnx_str_dup(im->state->scratch, node->outputs[out]);
	const char *base = pk_onnx_str_dup(
		im->state->scratch, node->n_outputs ? node->outputs[0] : node->name);
	return base ? pk_arena_printf(im->state->scratch, "%s:tmp", base) : NULL;
}

static void bind(struct pk_importer *im, int out, struct pk_value *value)
{
	if (out >= 0 && out < im->n_outputs)
		im->outputs[out] = value;
}

static void *fail_memory(struct pk_importer *im)
{
	pk_importer_fail(im, -ENOMEM, "no memory, or the model needs more than it may");
	return NULL;
}

struct pk_node *pk_emit_begin(
	struct pk_importer *im, enum pk_op op, struct pk_value *const *inputs, int n_inputs)
{
	if (im->rc)
		return NULL;
	// Optional operands at the end are left out by not being there.
	while (n_inputs > pk_op_info(op)->n_inputs_min && !inputs[n_inputs - 1])
		n_inputs--;
	struct pk_onnx_str text = im->node->name;
	if (!text.n && im->node->n_outputs)
		text = im->node->outputs[0];
	const char *name = pk_onnx_str_dup(im->state->scratch, text);
	struct pk_node *node =
		name ? pk_graph_new_node(im->graph, op, name, inputs, n_inputs, NULL) : NULL;
	return node ? node : fail_memory(im);
}

static int64_t fold_work(const struct pk_node *node)
{
	int64_t inputs = 1, outputs = 0;
	for (int i = 0; i < node->n_inputs; i++)
		if (node->inputs[i])
			inputs = PK_MAX(inputs, pk_shape_elements(&node->inputs[i]->shape));
	for (int i = 0; i < node->n_outputs; i++)
		outputs = PK_MAX(outputs, pk_shape_elements(&node->outputs[i]->shape));
	switch (node->op) {
	case PK_OP_CONV:
	case PK_OP_CONV_TRANSPOSE:
	case PK_OP_POOL:
	case PK_OP_GEMM:
	case PK_OP_MATMUL:
	case PK_OP_QCONV:
	case PK_OP_QMATMUL:
	case PK_OP_TOP_K:
		return inputs * PK_MAX(outputs, 1); // both below 2^31
	default:
		return PK_MAX(inputs, outputs);
	}
}

static bool may_fold(const struct pk_importer *im, const struct pk_node *node)
{
	size_t bytes = 0;
	// Quantised weights stay so: passes decide whether they are computed with or expanded.
	if (node->n_inputs == 0 || node->op == PK_OP_DEQUANTIZE)
		return false;
	for (int i = 0; i < node->n_inputs; i++)
		if (node->inputs[i] && !node->inputs[i]->data)
			return false;
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		bytes = PK_MAX(bytes, pk_tensor_bytes(value->dtype, &value->shape));
	}
	return bytes <= im->state->max_folded_bytes && fold_work(node) <= MAX_FOLD_WORK;
}

static int eval_node(struct pk_importer *im, struct pk_node *node, const void **out)
{
	void *data[2];
	if (pk_op_info(node->op)->flags & PK_OP_VIEW) { // the same bytes, so weights are not copied
		out[0] = node->inputs[0]->data;
		return 0;
	}
	for (int i = 0; i < node->n_outputs; i++) {
		const struct pk_value *value = node->outputs[i];
		data[i] = pk_graph_alloc(im->graph, pk_tensor_bytes(value->dtype, &value->shape));
		out[i] = data[i];
		if (!data[i]) {
			fail_memory(im);
			return im->rc;
		}
	}
	struct pk_err why = {0};
	int rc = im->state->options->evaluator->eval(node, data, &why);
	if (rc && rc != -ENOTSUP)
		pk_importer_fail(im, rc, "constant folding: %s", pk_err_text(&why, rc));
	return rc;
}

// The outputs become constants where they stand, so that they keep their names.
static void fold(struct pk_importer *im, struct pk_node *node)
{
	const void *data[2];
	struct pk_value *outputs[2];
	int n = node->n_outputs;
	if (n > 2 || eval_node(im, node, data))
		return;
	for (int i = 0; i < n; i++)
		outputs[i] = node->outputs[i];
	pk_graph_remove_node(im->graph, node);
	for (int i = 0; i < n; i++) {
		outputs[i]->producer = NULL;
		outputs[i]->data = data[i];
	}
}

static struct pk_value *end(struct pk_importer *im, struct pk_node *node, const int *outs, int n,
	const struct pk_shape *shape)
{
	const char *names[2] = {NULL};
	struct pk_value *values[2] = {NULL};
	if (!node || im->rc)
		return NULL;
	for (int i = 0; i < n; i++) {
		names[i] = value_name(im, outs[i]);
		if (!names[i])
			return fail_memory(im);
	}
	struct pk_err why = {0};
	int rc = pk_graph_finish_node(im->graph, node, names, n, shape, &why);
	if (rc) {
		pk_importer_fail(im, rc, "%s", pk_err_text(&why, rc));
		return NULL;
	}
	for (int i = 0; i < n; i++)
		values[i] = node->outputs[i];
	if (may_fold(im, node))
		fold(im, node);
	for (int i = 0; i < n; i++)
		bind(im, outs[i], values[i]);
	return im->rc ? NULL : values[0];
}

struct pk_value *pk_emit_end(
	struct pk_importer *im, struct pk_node *node, int out, const struct pk_shape *shape)
{
	return end(im, node, &out, 1, shape);
}

void pk_emit_end_pair(struct pk_importer *im, struct pk_node *node)
{
	static const int outs[] = {0, 1};
	end(im, node, outs, 2, NULL);
}

struct pk_value *pk_emit_alias(struct pk_importer *im, int out, struct pk_value *value)
{
	if (im->rc)
		return NULL;
	bind(im, out, value);
	return value;
}

struct pk_value *pk_emit_const(struct pk_importer *im, int out, enum pk_dtype dtype,
	const struct pk_shape *shape, const void *data)
{
	if (im->rc)
		return NULL;
	const char *name = value_name(im, out);
	struct pk_value *value =
		name ? pk_graph_add_const_copy(im->graph, name, dtype, shape, data) : NULL;
	if (!value)
		return fail_memory(im);
	return pk_emit_alias(im, out, value);
}

struct pk_value *pk_emit_const_ints(struct pk_importer *im, int out, const int64_t *v, int n)
{
	struct pk_shape shape = {.rank = 1, .dims = {n}};
	return pk_emit_const(im, out, PK_I64, &shape, v);
}

struct pk_value *pk_emit_scalar(struct pk_importer *im, int out, enum pk_dtype dtype, double v)
{
	struct pk_shape scalar = {0};
	union {
		float f;
		int32_t i32;
		int64_t i64;
		int8_t i8;
		uint8_t u8;
	} data = {0};
	switch (dtype) {
	case PK_F32:
		data.f = (float)v;
		break;
	case PK_I32:
		data.i32 = (int32_t)v;
		break;
	case PK_I64:
		data.i64 = (int64_t)v;
		break;
	case PK_I8:
		data.i8 = (int8_t)v;
		break;
	default:
		data.u8 = (uint8_t)v; // U8, BOOL
		break;
	}
	return pk_emit_const(im, out, dtype, &scalar, &data);
}

struct pk_value *pk_emit_unary(struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *x)
{
	struct pk_node *node = pk_emit_begin(im, PK_OP_UNARY, &x, 1);
	if (node)
		pk_node_set_int(node, PK_ATTR_FN, fn);
	return pk_emit_end(im, node, out, NULL);
}

struct pk_value *pk_emit_binary(
	struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *a, struct pk_value *b)
{
	struct pk_value *inputs[] = {a, b};
	struct pk_node *node = pk_emit_begin(im, PK_OP_BINARY, inputs, 2);
	if (node)
		pk_node_set_int(node, PK_ATTR_FN, fn);
	return pk_emit_end(im, node, out, NULL);
}

struct pk_value *pk_emit_cast(
	struct pk_importer *im, int out, struct pk_value *x, enum pk_dtype dtype)
{
	if (im->rc)
		return NULL;
	if (x->dtype == dtype)
		return pk_emit_alias(im, out, x);
	struct pk_node *node = pk_emit_begin(im, PK_OP_CAST, &x, 1);
	if (node)
		pk_node_set_int(node, PK_ATTR_TO, dtype);
	return pk_emit_end(im, node, out, NULL);
}

static struct pk_value *emit_shaped(struct pk_importer *im, int out, enum pk_op op,
	struct pk_value *x, const struct pk_shape *shape)
{
	if (im->rc)
		return NULL;
	if (pk_shape_equal(&x->shape, shape))
		return pk_emit_alias(im, out, x);
	return pk_emit_end(im, pk_emit_begin(im, op, &x, 1), out, shape);
}

struct pk_value *pk_emit_reshape(
	struct pk_importer *im, int out, struct pk_value *x, const struct pk_shape *shape)
{
	return emit_shaped(im, out, PK_OP_RESHAPE, x, shape);
}

struct pk_value *pk_emit_expand(
	struct pk_importer *im, int out, struct pk_value *x, const struct pk_shape *shape)
{
	return emit_shaped(im, out, PK_OP_EXPAND, x, shape);
}

struct pk_value *pk_emit_reduce(struct pk_importer *im, int out, enum pk_fn fn, struct pk_value *x,
	const struct pk_ints *axes, bool keepdims)
{
	struct pk_node *node = pk_emit_begin(im, PK_OP_REDUCE, &x, 1);
	if (node) {
		pk_node_set_int(node, PK_ATTR_FN, fn);
		pk_node_set_ints(node, PK_ATTR_AXES, axes->v, axes->n);
		pk_node_set_int(node, PK_ATTR_KEEPDIMS, keepdims);
	}
	return pk_emit_end(im, node, out, NULL);
}
