// SPDX-License-Identifier: Apache-2.0
// The messages of onnx.proto as field tables.
#include "engine/onnx/model.h"

#include <errno.h>

#include "engine/onnx/record.h"

#define MAX_MODEL_BYTES 0x7fffffffU
#define MAX_NODES       1000000
#define MAX_FUNCTIONS   4096

#define FIELD(number, kind, type, member)                                                          \
	{                                                                                          \
		number, PK_RECORD_##kind, offsetof(type, member), PK_RECORD_NO_AUX, NULL           \
	}
#define FLAGGED(number, kind, type, member, flag)                                                  \
	{                                                                                          \
		number, PK_RECORD_##kind, offsetof(type, member), offsetof(type, flag), NULL       \
	}
#define ARRAY(number, kind, type, member)                                                          \
	{                                                                                          \
		number, PK_RECORD_##kind, offsetof(type, member), offsetof(type, n_##member), NULL \
	}
#define MESSAGES(number, type, member, count, record)                                              \
	{                                                                                          \
		number, PK_RECORD_MESSAGES, offsetof(type, member), offsetof(type, count), record  \
	}
#define RECORD(text, bytes, table)                                                                 \
	{                                                                                          \
		.name = (text), .size = (bytes), .fields = (table),                                \
		.n_fields = PK_ARRAY_LEN(table)                                                    \
	}

static const struct pk_record graph_record;

static const struct pk_record_field tensor_fields[] = {
	ARRAY(1, INTS, struct pk_onnx_tensor, dims),
	FIELD(2, INT, struct pk_onnx_tensor, data_type),
	ARRAY(4, FLOATS, struct pk_onnx_tensor, floats),
	ARRAY(5, INTS, struct pk_onnx_tensor, ints),
	ARRAY(7, INTS, struct pk_onnx_tensor, ints),
	FIELD(8, STR, struct pk_onnx_tensor, name),
	FLAGGED(9, STR, struct pk_onnx_tensor, raw, has_raw),
	ARRAY(10, DOUBLES, struct pk_onnx_tensor, doubles),
	ARRAY(11, INTS, struct pk_onnx_tensor, ints),
	FIELD(14, IS_ONE, struct pk_onnx_tensor, external),
};
static const struct pk_record tensor_record =
	RECORD("TensorProto", sizeof(struct pk_onnx_tensor), tensor_fields);

static const struct pk_record_field attr_fields[] = {
	FIELD(1, STR, struct pk_onnx_attr, name),
	FIELD(2, FLOAT, struct pk_onnx_attr, f),
	FIELD(3, INT, struct pk_onnx_attr, i),
	FIELD(4, STR, struct pk_onnx_attr, s),
	{5, PK_RECORD_MESSAGE, offsetof(struct pk_onnx_attr, t), PK_RECORD_NO_AUX, &tensor_record},
	{6, PK_RECORD_MESSAGE, offsetof(struct pk_onnx_attr, g), PK_RECORD_NO_AUX, &graph_record},
	ARRAY(7, FLOATS, struct pk_onnx_attr, floats),
	ARRAY(8, INTS, struct pk_onnx_attr, ints),
	ARRAY(9, STRS, struct pk_onnx_attr, strings),
	FIELD(20, INT, struct pk_onnx_attr, type),
	FIELD(21, STR, struct pk_onnx_attr, ref),
};
static const struct pk_record attr_record =
	RECORD("AttributeProto", sizeof(struct pk_onnx_attr), attr_fields);

static const struct pk_record_field node_fields[] = {
	ARRAY(1, STRS, struct pk_onnx_node, inputs),
	ARRAY(2, STRS, struct pk_onnx_node, outputs),
	FIELD(3, STR, struct pk_onnx_node, name),
	FIELD(4, STR, struct pk_onnx_node, op_type),
	MESSAGES(5, struct pk_onnx_node, attrs, n_attrs, &attr_record),
	FIELD(7, STR, struct pk_onnx_node, domain),
};
static const struct pk_record node_record = {
	.name = "NodeProto",
	.size = sizeof(struct pk_onnx_node),
	.fields = node_fields,
	.n_fields = PK_ARRAY_LEN(node_fields),
	.max_total = MAX_NODES,
};

static const struct pk_record_field dim_fields[] = {
	FLAGGED(1, INT, struct pk_onnx_dim, value, has_value),
	FIELD(2, STR, struct pk_onnx_dim, param),
};
static const struct pk_record dim_record =
	RECORD("TensorShapeProto.Dimension", sizeof(struct pk_onnx_dim), dim_fields);

// ValueInfoProto → TypeProto → TypeProto.Tensor → TensorShapeProto lie flat in one struct.
static const struct pk_record_field shape_fields[] = {
	MESSAGES(1, struct pk_onnx_value_info, dims, n_dims, &dim_record),
};
static const struct pk_record shape_record = RECORD("TensorShapeProto", 0, shape_fields);

static const struct pk_record_field tensor_type_fields[] = {
	FIELD(1, INT, struct pk_onnx_value_info, elem_type),
	{2, PK_RECORD_INLINE, 0, offsetof(struct pk_onnx_value_info, has_shape), &shape_record},
};
static const struct pk_record tensor_type_record =
	RECORD("TypeProto.Tensor", 0, tensor_type_fields);

static const struct pk_record_field type_fields[] = {
	{1, PK_RECORD_INLINE, 0, PK_RECORD_NO_AUX, &tensor_type_record},
};
static const struct pk_record type_record = RECORD("TypeProto", 0, type_fields);

static const struct pk_record_field value_info_fields[] = {
	FIELD(1, STR, struct pk_onnx_value_info, name),
	{2, PK_RECORD_INLINE, 0, PK_RECORD_NO_AUX, &type_record},
};
static const struct pk_record value_info_record =
	RECORD("ValueInfoProto", sizeof(struct pk_onnx_value_info), value_info_fields);

static const struct pk_record_field graph_fields[] = {
	MESSAGES(1, struct pk_onnx_graph, nodes, n_nodes, &node_record),
	FIELD(2, STR, struct pk_onnx_graph, name),
	MESSAGES(5, struct pk_onnx_graph, initializers, n_initializers, &tensor_record),
	MESSAGES(11, struct pk_onnx_graph, inputs, n_inputs, &value_info_record),
	MESSAGES(12, struct pk_onnx_graph, outputs, n_outputs, &value_info_record),
	FIELD(15, COUNT, struct pk_onnx_graph, n_sparse_initializers),
};
static const struct pk_record graph_record =
	RECORD("GraphProto", sizeof(struct pk_onnx_graph), graph_fields);

static const struct pk_record_field opset_fields[] = {
	FIELD(1, STR, struct pk_onnx_opset, domain),
	FIELD(2, INT, struct pk_onnx_opset, version),
};
static const struct pk_record opset_record =
	RECORD("OperatorSetIdProto", sizeof(struct pk_onnx_opset), opset_fields);

static const struct pk_record_field pair_fields[] = {
	FIELD(1, STR, struct pk_onnx_pair, key),
	FIELD(2, STR, struct pk_onnx_pair, value),
};
static const struct pk_record pair_record =
	RECORD("StringStringEntryProto", sizeof(struct pk_onnx_pair), pair_fields);

static const struct pk_record_field function_fields[] = {
	FIELD(1, STR, struct pk_onnx_function, name),
	ARRAY(4, STRS, struct pk_onnx_function, inputs),
	ARRAY(5, STRS, struct pk_onnx_function, outputs),
	MESSAGES(7, struct pk_onnx_function, nodes, n_nodes, &node_record),
	MESSAGES(9, struct pk_onnx_function, opsets, n_opsets, &opset_record),
	FIELD(10, STR, struct pk_onnx_function, domain),
	MESSAGES(11, struct pk_onnx_function, defaults, n_defaults, &attr_record),
};
static const struct pk_record function_record = {
	.name = "FunctionProto",
	.size = sizeof(struct pk_onnx_function),
	.fields = function_fields,
	.n_fields = PK_ARRAY_LEN(function_fields),
	.max_total = MAX_FUNCTIONS,
};

static const struct pk_record_field model_fields[] = {
	FIELD(1, INT, struct pk_onnx_model, ir_version),
	FIELD(2, STR, struct pk_onnx_model, producer_name),
	FIELD(3, STR, struct pk_onnx_model, producer_version),
	{7, PK_RECORD_MESSAGE, offsetof(struct pk_onnx_model, graph), PK_RECORD_NO_AUX,
		&graph_record},
	MESSAGES(8, struct pk_onnx_model, opsets, n_opsets, &opset_record),
	MESSAGES(14, struct pk_onnx_model, metadata, n_metadata, &pair_record),
	MESSAGES(25, struct pk_onnx_model, functions, n_functions, &function_record),
};
static const struct pk_record model_record =
	RECORD("ModelProto", sizeof(struct pk_onnx_model), model_fields);

int pk_onnx_parse(const void *bytes, size_t n, struct pk_arena *arena, struct pk_onnx_model **out,
	struct pk_err *err)
{
	if (n > MAX_MODEL_BYTES)
		return pk_fail(err, -EFBIG,
			"the file has %zu bytes; an ONNX file has at most 2^31 - 1", n);
	struct pk_onnx_model *model = pk_arena_new(arena, struct pk_onnx_model);
	if (!model)
		return pk_fail(err, -ENOMEM, "no memory for the model");
	int rc = pk_record_decode(&model_record, pk_wire_over(bytes, n), arena, model, err);
	if (rc)
		return rc;
	if (!model->graph)
		return pk_fail(
			err, -EINVAL, "offset %zu: the file ends without a graph: not ONNX?", n);
	model->n_bytes = n;
	*out = model;
	return 0;
}
