// SPDX-License-Identifier: Apache-2.0
// An ONNX file as zero-copy records over its bytes. Nothing is interpreted here.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

struct pk_onnx_str { // not NUL-terminated; may hold any bytes
	const char *data;
	size_t n;
};

struct pk_onnx_tensor {
	struct pk_onnx_str name;
	int64_t data_type; // TensorProto.DataType
	int64_t *dims;
	size_t n_dims;
	struct pk_onnx_str raw; // raw_data
	bool has_raw;
	// typed fields, decoded from packed or unpacked form into the arena
	float *floats;
	size_t n_floats;
	double *doubles;
	size_t n_doubles;
	int64_t *ints; // int32_data, int64_data, uint64_data
	size_t n_ints;
	bool external; // data_location EXTERNAL: refused by the importer
};

enum pk_onnx_attr_type { // AttributeProto.AttributeType
	PK_ONNX_FLOAT = 1,
	PK_ONNX_INT = 2,
	PK_ONNX_STRING = 3,
	PK_ONNX_TENSOR = 4,
	PK_ONNX_GRAPH = 5,
	PK_ONNX_FLOATS = 6,
	PK_ONNX_INTS = 7,
	PK_ONNX_STRINGS = 8,
};

struct pk_onnx_attr {
	struct pk_onnx_str name;
	int64_t type; // enum pk_onnx_attr_type, or another number of the spec
	float f;
	int64_t i;
	struct pk_onnx_str s;
	struct pk_onnx_tensor *t;
	struct pk_onnx_graph *g;
	float *floats;
	size_t n_floats;
	int64_t *ints;
	size_t n_ints;
	struct pk_onnx_str *strings;
	size_t n_strings;
	struct pk_onnx_str ref; // in functions: the caller's attribute that it stands for
};

struct pk_onnx_node {
	struct pk_onnx_str name, op_type, domain;
	struct pk_onnx_str *inputs, *outputs; // an empty string: left out
	size_t n_inputs, n_outputs;
	struct pk_onnx_attr *attrs;
	size_t n_attrs;
};

struct pk_onnx_dim {
	bool has_value;
	int64_t value;
	struct pk_onnx_str param;
};

struct pk_onnx_value_info {
	struct pk_onnx_str name;
	int64_t elem_type; // 0: not a tensor type
	bool has_shape;
	struct pk_onnx_dim *dims;
	size_t n_dims;
};

struct pk_onnx_graph {
	struct pk_onnx_str name;
	struct pk_onnx_node *nodes;
	size_t n_nodes;
	struct pk_onnx_tensor *initializers;
	size_t n_initializers;
	struct pk_onnx_value_info *inputs, *outputs;
	size_t n_inputs, n_outputs;
	size_t n_sparse_initializers;
};

struct pk_onnx_pair {
	struct pk_onnx_str key, value;
};

struct pk_onnx_opset {
	struct pk_onnx_str domain;
	int64_t version;
};

struct pk_onnx_function {
	struct pk_onnx_str name, domain;
	struct pk_onnx_str *inputs, *outputs;
	size_t n_inputs, n_outputs;
	struct pk_onnx_attr *defaults; // of attributes that callers may leave out
	size_t n_defaults;
	struct pk_onnx_node *nodes;
	size_t n_nodes;
	struct pk_onnx_opset *opsets;
	size_t n_opsets;
};

struct pk_onnx_model {
	int64_t ir_version;
	struct pk_onnx_str producer_name, producer_version;
	struct pk_onnx_opset *opsets; // opset_import
	size_t n_opsets;
	struct pk_onnx_pair *metadata;
	size_t n_metadata;
	struct pk_onnx_graph *graph; // never NULL after success
	struct pk_onnx_function *functions;
	size_t n_functions;
	size_t n_bytes; // of the file
};

// Parses bytes (which must outlive the model) into the arena. Bounded: depth 64, 1e6 nodes, 2^31 -
// 1 bytes, memory by the arena's own bound (16 times the file is enough for every sane model).
// -EINVAL with "offset N: what" on anything malformed, -EFBIG above 2^31 - 1 bytes, -ENOMEM.
// Source: onnx.proto.
int pk_onnx_parse(const void *bytes, size_t n, struct pk_arena *arena, struct pk_onnx_model **out,
	struct pk_err *err) pk_must_check;
