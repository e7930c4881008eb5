// SPDX-License-Identifier: Apache-2.0
// Writes small ONNX files for tests: protobuf fields appended to buffers, messages inside out.
#include "tests/lib/onnx_writer.h"

#include <stdlib.h>
#include <string.h>

static void put_tag(struct pk_buf *out, uint32_t field, unsigned wire_type)
{
	onnx_put_varint(out, (uint64_t)field << 3 | wire_type);
}

void onnx_put_varint(struct pk_buf *out, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;
	do {
		bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	pk_buf_append(out, bytes, n);
}

void onnx_put_int(struct pk_buf *out, uint32_t field, int64_t v)
{
	put_tag(out, field, 0);
	onnx_put_varint(out, (uint64_t)v);
}

void onnx_put_float(struct pk_buf *out, uint32_t field, float v)
{
	put_tag(out, field, 5);
	pk_buf_append(out, &v, sizeof(v));
}

void onnx_put_bytes(struct pk_buf *out, uint32_t field, const void *data, size_t n)
{
	put_tag(out, field, 2);
	onnx_put_varint(out, n);
	pk_buf_append(out, n ? data : "", n);
}

void onnx_put_str(struct pk_buf *out, uint32_t field, const char *s)
{
	onnx_put_bytes(out, field, s, strlen(s));
}

void onnx_put_sub(struct pk_buf *out, uint32_t field, struct pk_buf *sub)
{
	onnx_put_bytes(out, field, sub->data, sub->len);
	pk_buf_finish(sub);
}

// Each attribute is field 5 of its node, so that the buffer is appended as it stands.
static void begin_attr(struct pk_buf *attr, const char *name, int type)
{
	pk_buf_init(attr, ONNX_WRITER_MAX);
	onnx_put_str(attr, 1, name);
	onnx_put_int(attr, 20, type);
}

void onnx_attr_int(struct pk_buf *attrs, const char *name, int64_t v)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 2);
	onnx_put_int(&attr, 3, v);
	onnx_put_sub(attrs, 5, &attr);
}

void onnx_attr_ints(struct pk_buf *attrs, const char *name, const int64_t *v, size_t n)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 7);
	for (size_t i = 0; i < n; i++)
		onnx_put_int(&attr, 8, v[i]);
	onnx_put_sub(attrs, 5, &attr);
}

void onnx_attr_float(struct pk_buf *attrs, const char *name, float v)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 1);
	onnx_put_float(&attr, 2, v);
	onnx_put_sub(attrs, 5, &attr);
}

void onnx_attr_str(struct pk_buf *attrs, const char *name, const char *v)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 3);
	onnx_put_str(&attr, 4, v);
	onnx_put_sub(attrs, 5, &attr);
}

void onnx_attr_graph(struct pk_buf *attrs, const char *name, struct pk_buf *graph)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 5);
	onnx_put_sub(&attr, 6, graph);
	onnx_put_sub(attrs, 5, &attr);
}

void onnx_attr_tensor(struct pk_buf *attrs, const char *name, struct pk_buf *tensor)
{
	struct pk_buf attr;
	begin_attr(&attr, name, 4);
	onnx_put_sub(&attr, 5, tensor);
	onnx_put_sub(attrs, 5, &attr);
}

// Calls put for each part of a list that commas separate; an empty list has none.
static void each_part(const char *list, struct pk_buf *out,
	void (*put)(struct pk_buf *out, const char *part, uint32_t field), uint32_t field)
{
	char part[256];
	while (*list) {
		size_t n = strcspn(list, ",");
		memcpy(part, list, n);
		part[n] = '\0';
		put(out, part, field);
		list += n;
		if (*list == ',' && !list[1])
			put(out, "", field);
		list += *list == ',';
	}
}

static void put_name(struct pk_buf *out, const char *part, uint32_t field)
{
	onnx_put_str(out, field, part);
}

static void put_number(struct pk_buf *out, const char *part, uint32_t field)
{
	onnx_put_int(out, field, strtoll(part, NULL, 10));
}

static void put_dim(struct pk_buf *out, const char *part, uint32_t field)
{
	struct pk_buf dim;
	char *end;
	pk_buf_init(&dim, ONNX_WRITER_MAX);
	long long v = strtoll(part, &end, 10);
	if (end != part && !*end)
		onnx_put_int(&dim, 1, v);
	else if (strcmp(part, "?") != 0)
		onnx_put_str(&dim, 2, part);
	onnx_put_sub(out, field, &dim);
}

void onnx_tensor(struct pk_buf *tensor, const char *name, int type, const char *dims,
	const void *raw, size_t n_raw)
{
	pk_buf_init(tensor, ONNX_WRITER_MAX);
	each_part(dims, tensor, put_number, 1);
	onnx_put_int(tensor, 2, type);
	onnx_put_str(tensor, 8, name);
	onnx_put_bytes(tensor, 9, raw, n_raw);
}

void onnx_node(struct pk_buf *graph, const char *name, const char *op_type, const char *inputs,
	const char *outputs, struct pk_buf *attrs)
{
	struct pk_buf node;
	pk_buf_init(&node, ONNX_WRITER_MAX);
	each_part(inputs, &node, put_name, 1);
	each_part(outputs, &node, put_name, 2);
	onnx_put_str(&node, 3, name);
	onnx_put_str(&node, 4, op_type);
	if (attrs) {
		pk_buf_append(&node, attrs->data, attrs->len);
		pk_buf_finish(attrs);
	}
	onnx_put_sub(graph, 1, &node);
}

void onnx_node_in(struct pk_buf *graph, const char *domain, const char *op_type, const char *inputs,
	const char *outputs)
{
	struct pk_buf node;
	pk_buf_init(&node, ONNX_WRITER_MAX);
	each_part(inputs, &node, put_name, 1);
	each_part(outputs, &node, put_name, 2);
	onnx_put_str(&node, 4, op_type);
	onnx_put_str(&node, 7, domain);
	onnx_put_sub(graph, 1, &node);
}

void onnx_input(struct pk_buf *graph, const char *name, int type, const char *dims)
{
	struct pk_buf shape, tensor, type_proto, info;
	pk_buf_init(&shape, ONNX_WRITER_MAX);
	pk_buf_init(&tensor, ONNX_WRITER_MAX);
	pk_buf_init(&type_proto, ONNX_WRITER_MAX);
	pk_buf_init(&info, ONNX_WRITER_MAX);
	each_part(dims, &shape, put_dim, 1);
	onnx_put_int(&tensor, 1, type);
	onnx_put_sub(&tensor, 2, &shape);
	onnx_put_sub(&type_proto, 1, &tensor);
	onnx_put_str(&info, 1, name);
	onnx_put_sub(&info, 2, &type_proto);
	onnx_put_sub(graph, 11, &info);
}

void onnx_output(struct pk_buf *graph, const char *name)
{
	struct pk_buf info;
	pk_buf_init(&info, ONNX_WRITER_MAX);
	onnx_put_str(&info, 1, name);
	onnx_put_sub(graph, 12, &info);
}

void onnx_initializer(struct pk_buf *graph, const char *name, int type, const char *dims,
	const void *raw, size_t n_raw)
{
	struct pk_buf tensor;
	onnx_tensor(&tensor, name, type, dims, raw, n_raw);
	onnx_put_sub(graph, 5, &tensor);
}

void onnx_model(struct pk_buf *model, struct pk_buf *graph, int64_t opset)
{
	struct pk_buf import;
	pk_buf_init(model, ONNX_WRITER_MAX);
	pk_buf_init(&import, ONNX_WRITER_MAX);
	onnx_put_int(model, 1, 8);
	onnx_put_sub(model, 7, graph);
	onnx_put_str(&import, 1, "");
	onnx_put_int(&import, 2, opset);
	onnx_put_sub(model, 8, &import);
}
