// SPDX-License-Identifier: Apache-2.0
// Writes small ONNX files for tests: protobuf fields appended to buffers, messages inside out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define ONNX_WRITER_MAX (64u << 20)

// Wire level.
void onnx_put_varint(struct pk_buf *out, uint64_t v);
void onnx_put_int(struct pk_buf *out, uint32_t field, int64_t v);
void onnx_put_float(struct pk_buf *out, uint32_t field, float v);
void onnx_put_bytes(struct pk_buf *out, uint32_t field, const void *data, size_t n);
void onnx_put_str(struct pk_buf *out, uint32_t field, const char *s);
// Appends sub as a message and finishes it.
void onnx_put_sub(struct pk_buf *out, uint32_t field, struct pk_buf *sub);

// AttributeProtos, to be appended to a node's attribute buffer.
void onnx_attr_int(struct pk_buf *attrs, const char *name, int64_t v);
void onnx_attr_ints(struct pk_buf *attrs, const char *name, const int64_t *v, size_t n);
void onnx_attr_float(struct pk_buf *attrs, const char *name, float v);
void onnx_attr_str(struct pk_buf *attrs, const char *name, const char *v);
void onnx_attr_graph(struct pk_buf *attrs, const char *name, struct pk_buf *graph);
void onnx_attr_tensor(struct pk_buf *attrs, const char *name, struct pk_buf *tensor);

// A TensorProto with raw data. dims: "2,3", "" for a scalar.
void onnx_tensor(struct pk_buf *tensor, const char *name, int type, const char *dims,
	const void *raw, size_t n_raw);

// Parts of a GraphProto. inputs and outputs: "a,b"; "a,,b" leaves one out. attrs: NULL, or a buffer
// that is finished. dims: "1,3,N"; what is no number is a dim_param, "?" an empty dim.
void onnx_node(struct pk_buf *graph, const char *name, const char *op_type, const char *inputs,
	const char *outputs, struct pk_buf *attrs);
void onnx_node_in(struct pk_buf *graph, const char *domain, const char *op_type, const char *inputs,
	const char *outputs);
void onnx_input(struct pk_buf *graph, const char *name, int type, const char *dims);
void onnx_output(struct pk_buf *graph, const char *name);
void onnx_initializer(struct pk_buf *graph, const char *name, int type, const char *dims,
	const void *raw, size_t n_raw);

// A ModelProto around graph, which is finished.
void onnx_model(struct pk_buf *model, struct pk_buf *graph, int64_t opset);
