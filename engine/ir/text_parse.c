// SPDX-License-Identifier: Apache-2.0
// Reads the text form of graphs; the text may be hostile.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "engine/ir/attr_rule.h"
#include "engine/ir/element.h"
#include "engine/ir/layout.h"
#include "engine/ir/text.h"
#include "engine/ir/text_scan.h"

#define PK_TEXT_MAX_OUTPUTS  8
#define PK_TEXT_MAX_OPERANDS 65536
#define PK_TEXT_PACK_ALIGN   64
// What the graph of a text of n bytes may take: the smallest node text with the largest attributes.
#define PK_TEXT_GRAPH_BYTES(n) ((size_t)16 * 1024 * 1024 + (size_t)512 * (n))

struct pk_text_parser {
	struct pk_scan scan;
	struct pk_graph *graph;
	const char *weights;
	size_t n_weights;
	PK_ARRAY(struct pk_value *) operands; // of the node being read
};

struct pk_text_type {
	enum pk_dtype dtype;
	struct pk_shape shape;
	int block;
};

struct pk_text_outputs {
	const char *names[PK_TEXT_MAX_OUTPUTS];
	struct pk_text_type types[PK_TEXT_MAX_OUTPUTS];
	int n;
};

static int pk_text_name(struct pk_text_parser *parser, const char **out)
{
	char *name;
	int r = pk_scan_expect(&parser->scan, '%');
	if (r == 0)
		r = pk_scan_name(&parser->scan, parser->graph->arena, &name);
	if (r == 0)
		*out = name;
	return r;
}

static int pk_text_new_name(struct pk_text_parser *parser, const char **out)
{
	pk_scan_mark(&parser->scan);
	int r = pk_text_name(parser, out);
	if (r == 0 && !**out)
		return pk_scan_fail(&parser->scan, -EINVAL, "empty name");
	if (r == 0 && pk_graph_find_value(parser->graph, *out))
		return pk_scan_fail(&parser->scan, -EINVAL, "%%%s is defined twice", *out);
	return r;
}

static int pk_text_known_value(struct pk_text_parser *parser, struct pk_value **out)
{
	const char *name = NULL;
	pk_scan_mark(&parser->scan);
	int r = pk_text_name(parser, &name);
	if (r < 0)
		return r;
	*out = pk_graph_find_value(parser->graph, name);
	if (!*out)
		return pk_scan_fail(&parser->scan, -EINVAL, "%%%s is not defined", name);
	return 0;
}

static int pk_text_dims(struct pk_text_parser *parser, struct pk_shape *shape)
{
	struct pk_scan *scan = &parser->scan;
	int r = pk_scan_expect(scan, '[');
	shape->rank = 0;
	if (r < 0 || pk_scan_accept(scan, ']'))
		return r;
	do {
		int64_t dim = 0;
		r = pk_scan_int(scan, &dim);
		if (r == 0 && shape->rank == PK_MAX_RANK)
			return pk_scan_fail(scan, -EINVAL, "more than %d dims", PK_MAX_RANK);
		if (r == 0)
			shape->dims[shape->rank++] = dim;
	} while (r == 0 && pk_scan_accept(scan, ','));
	return r < 0 ? r : pk_scan_expect(scan, ']');
}

// "/cN" behind a type: its layout.
static int pk_text_block(struct pk_text_parser *parser, struct pk_text_type *type)
{
	struct pk_scan *scan = &parser->scan;
	int64_t block = 0;
	type->block = 0;
	if (!pk_scan_accept_word(scan, "/c"))
		return 0;
	int r = pk_scan_int(scan, &block);
	if (r == 0 && !pk_layout_block_fits(type->dtype, &type->shape, block))
		return pk_scan_fail(
			scan, -EINVAL, "no tensor of blocks of %lld channels", (long long)block);
	type->block = (int)block;
	return r;
}

static int pk_text_type(struct pk_text_parser *parser, struct pk_text_type *out)
{
	char word[PK_SCAN_WORD_MAX];
	struct pk_scan *scan = &parser->scan;
	int r = pk_scan_expect(scan, ':');
	if (r == 0)
		r = pk_scan_word(scan, word);
	if (r < 0)
		return r;
	out->dtype = pk_dtype_from_name(word);
	if (out->dtype == PK_DTYPE_NONE)
		return pk_scan_fail(scan, -EINVAL, "unknown type `%s`", word);
	r = pk_text_dims(parser, &out->shape);
	if (r == 0 && pk_shape_elements(&out->shape) < 0)
		return pk_scan_fail(scan, -EFBIG, "shape is negative or too large");
	return r < 0 ? r : pk_text_block(parser, out);
}

// Of constants and graph inputs.
static int pk_text_plain_type(struct pk_text_parser *parser, struct pk_text_type *out)
{
	int r = pk_text_type(parser, out);
	if (r == 0 && out->block)
		return pk_scan_fail(&parser->scan, -EINVAL, "only results of nodes have a layout");
	return r;
}

static int pk_text_element(struct pk_scan *scan, enum pk_dtype dtype, char *data, size_t idx)
{
	if (pk_dtype_is_float(dtype)) {
		double v = 0;
		int r = pk_scan_double(scan, &v);
		if (r == 0)
			pk_element_put_float(dtype, data, idx, v);
		return r;
	}
	if (dtype == PK_U64) {
		uint64_t v = 0;
		int r = pk_scan_u64(scan, &v);
		memcpy(data + idx * sizeof(v), &v, sizeof(v));
		return r;
	}
	int64_t v = 0;
	int r = pk_scan_int(scan, &v);
	if (r == 0 && !pk_element_put_int(dtype, data, idx, v))
		return pk_scan_fail(
			scan, -EINVAL, "%lld is no %s", (long long)v, pk_dtype_name(dtype));
	return r;
}

// '{' n elements '}' after the '{'.
static int pk_text_data(
	struct pk_text_parser *parser, enum pk_dtype dtype, size_t n, const void **out)
{
	struct pk_scan *scan = &parser->scan;
	if (n > PK_TEXT_MAX_INLINE)
		return pk_scan_fail(scan, -EFBIG, "more than %d elements", PK_TEXT_MAX_INLINE);
	char *data = pk_graph_alloc(parser->graph, PK_MAX(n * pk_dtype_bytes(dtype), (size_t)1));
	if (!data)
		return pk_scan_fail(scan, -ENOMEM, "no memory");
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (i > 0)
			r = pk_scan_expect(scan, ',');
		if (r == 0)
			r = pk_text_element(scan, dtype, data, i);
	}
	*out = data;
	return r < 0 ? r : pk_scan_expect(scan, '}');
}

// '@' offset: a place in the weights.
static int pk_text_offset(struct pk_text_parser *parser, size_t *out)
{
	int64_t offset = 0;
	pk_scan_mark(&parser->scan);
	int r = pk_scan_int(&parser->scan, &offset);
	if (r == 0 && (offset < 0 || (uint64_t)offset > parser->n_weights || !parser->weights))
		return pk_scan_fail(
			&parser->scan, -EINVAL, "@%lld is outside the weights", (long long)offset);
	*out = (size_t)offset;
	return r;
}

static int pk_text_weights(
	struct pk_text_parser *parser, size_t offset, size_t bytes, size_t align, const void **out)
{
	const char *data = parser->weights + offset;
	if (bytes > parser->n_weights - offset)
		return pk_scan_fail(&parser->scan, -EINVAL,
			"%zu bytes at @%zu: the weights have %zu", bytes, offset,
			parser->n_weights);
	if ((uintptr_t)data % align != 0)
		return pk_scan_fail(
			&parser->scan, -EINVAL, "@%zu is not aligned to %zu bytes", offset, align);
	*out = data;
	return 0;
}

// What stands behind the '=': '@' offset, '{' data '}' or "elided".
static int pk_text_const_data(struct pk_text_parser *parser, const struct pk_text_type *type,
	const void **data, bool *elided)
{
	static const uint64_t no_data = 0;
	struct pk_scan *scan = &parser->scan;
	size_t offset = 0;
	*elided = pk_scan_accept_word(scan, "elided");
	if (*elided) {
		*data = &no_data;
		return 0;
	}
	if (pk_scan_accept(scan, '@')) {
		int r = pk_text_offset(parser, &offset);
		return r < 0 ? r
			     : pk_text_weights(parser, offset,
				       pk_tensor_bytes(type->dtype, &type->shape),
				       pk_dtype_bytes(type->dtype), data);
	}
	int r = pk_scan_expect(scan, '{');
	size_t n = (size_t)pk_shape_elements(&type->shape);
	return r < 0 ? r : pk_text_data(parser, type->dtype, n, data);
}

static int pk_text_const(struct pk_text_parser *parser)
{
	struct pk_scan *scan = &parser->scan;
	const char *name;
	struct pk_text_type type;
	const void *data = NULL;
	bool elided = false;
	int r = pk_text_new_name(parser, &name);
	if (r == 0)
		r = pk_text_plain_type(parser, &type);
	if (r == 0)
		r = pk_scan_expect(scan, '=');
	if (r == 0)
		r = pk_text_const_data(parser, &type, &data, &elided);
	if (r < 0)
		return r;
	struct pk_value *value =
		pk_graph_add_const(parser->graph, name, type.dtype, &type.shape, data);
	if (!value)
		return pk_scan_fail(scan, -ENOMEM, "no memory");
	value->elided = elided;
	return 0;
}

static int pk_text_input(struct pk_text_parser *parser)
{
	const char *name;
	struct pk_text_type type;
	int r = pk_text_new_name(parser, &name);
	if (r == 0)
		r = pk_text_plain_type(parser, &type);
	if (r == 0 && !pk_graph_add_input(parser->graph, name, type.dtype, &type.shape))
		return pk_scan_fail(&parser->scan, -ENOMEM, "no memory");
	return r;
}

static int pk_text_output(struct pk_text_parser *parser)
{
	struct pk_value *value;
	int r = pk_text_known_value(parser, &value);
	if (r == 0 && pk_graph_add_output(parser->graph, value) < 0)
		return pk_scan_fail(&parser->scan, -ENOMEM, "no memory");
	return r;
}

static int pk_text_operands(struct pk_text_parser *parser)
{
	struct pk_scan *scan = &parser->scan;
	int r = pk_scan_expect(scan, '(');
	parser->operands.n = 0;
	if (r < 0 || pk_scan_accept(scan, ')'))
		return r;
	do {
		struct pk_value **operand = pk_array_push(&parser->operands);
		if (!operand || parser->operands.n > PK_TEXT_MAX_OPERANDS)
			return pk_scan_fail(scan, -ENOMEM, "too many operands");
		if (!pk_scan_accept(scan, '_'))
			r = pk_text_known_value(parser, operand);
	} while (r == 0 && pk_scan_accept(scan, ','));
	return r < 0 ? r : pk_scan_expect(scan, ')');
}

static int pk_text_attr_word(struct pk_scan *scan, enum pk_attr_id id, int64_t *out)
{
	char word[PK_SCAN_WORD_MAX];
	int r = pk_scan_word(scan, word);
	if (r < 0)
		return r;
	bool is_fn = pk_attr_kind(id) == PK_ATTR_KIND_FN;
	enum pk_fn fn = is_fn ? pk_fn_from_name(word) : PK_N_FNS;
	*out = is_fn ? (fn == PK_N_FNS ? -1 : (int64_t)fn) : pk_enum_value(id, word);
	if (*out < 0)
		return pk_scan_fail(scan, -EINVAL, "`%s` is no word of %s", word, pk_attr_name(id));
	return 0;
}

static int pk_text_attr_item(struct pk_scan *scan, enum pk_attr_id id, struct pk_attr_value *value)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	if (value->n == PK_ATTR_MAX_ITEMS)
		return pk_scan_fail(scan, -EINVAL, "more than %d items", PK_ATTR_MAX_ITEMS);
	int i = value->n++;
	if (pk_attr_rule_is_float(id))
		return pk_scan_double(scan, &value->f[i]);
	if (kind == PK_ATTR_KIND_FN || kind == PK_ATTR_KIND_ENUM)
		return pk_text_attr_word(scan, id, &value->i[i]);
	return pk_scan_int(scan, &value->i[i]);
}

static int pk_text_attr_value(struct pk_scan *scan, enum pk_attr_id id, struct pk_attr_value *value)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	memset(value, 0, sizeof(*value));
	if (kind != PK_ATTR_KIND_INTS && kind != PK_ATTR_KIND_FLOATS)
		return pk_text_attr_item(scan, id, value);
	int r = pk_scan_expect(scan, '[');
	if (r < 0 || pk_scan_accept(scan, ']'))
		return r;
	do
		r = pk_text_attr_item(scan, id, value);
	while (r == 0 && pk_scan_accept(scan, ','));
	return r < 0 ? r : pk_scan_expect(scan, ']');
}

static int pk_text_attrs(struct pk_text_parser *parser, struct pk_node *node)
{
	struct pk_scan *scan = &parser->scan;
	unsigned seen = 0;
	int r = 0;
	if (!pk_scan_accept(scan, '{') || pk_scan_accept(scan, '}'))
		return 0;
	do {
		char word[PK_SCAN_WORD_MAX];
		r = pk_scan_word(scan, word);
		if (r < 0)
			return r;
		enum pk_attr_id id = pk_attr_from_name(word);
		int idx = id == PK_ATTR_NONE ? -1 : pk_op_attr_index(node->op, id);
		if (idx < 0)
			return pk_scan_fail(scan, -EINVAL, "%s has no attribute `%s`",
				pk_op_info(node->op)->name, word);
		if (seen >> idx & 1)
			return pk_scan_fail(scan, -EINVAL, "`%s` is set twice", word);
		seen |= 1u << idx;
		r = pk_scan_expect(scan, '=');
		if (r == 0)
			r = pk_text_attr_value(scan, id, &node->attrs[idx]);
	} while (r == 0 && pk_scan_accept(scan, ','));
	return r < 0 ? r : pk_scan_expect(scan, '}');
}

// After "pack=": '@' offset '+' bytes, or '{' bytes '}' of any number.
static int pk_text_pack(struct pk_text_parser *parser, struct pk_node *node)
{
	struct pk_scan *scan = &parser->scan;
	if (pk_scan_accept(scan, '{')) {
		node->packed_bytes = pk_scan_count_items(scan);
		return pk_text_data(parser, PK_U8, node->packed_bytes, &node->packed);
	}
	size_t offset = 0;
	int64_t bytes = 0;
	int r = pk_scan_expect(scan, '@');
	if (r == 0)
		r = pk_text_offset(parser, &offset);
	if (r == 0)
		r = pk_scan_expect(scan, '+');
	if (r == 0)
		r = pk_scan_int(scan, &bytes);
	if (r == 0 && bytes < 0)
		return pk_scan_fail(scan, -EINVAL, "negative size");
	if (r == 0)
		r = pk_text_weights(
			parser, offset, (size_t)bytes, PK_TEXT_PACK_ALIGN, &node->packed);
	node->packed_bytes = (size_t)bytes;
	return r;
}

// What may follow the attributes: a name, kernel=, pack=.
static int pk_text_annotations(struct pk_text_parser *parser, struct pk_node *node)
{
	struct pk_scan *scan = &parser->scan;
	int r = 0;
	char *text;
	if (pk_scan_peek(scan) == '"') {
		r = pk_scan_name(scan, parser->graph->arena, &text);
		if (r == 0)
			node->name = text;
	}
	if (r == 0 && pk_scan_accept_word(scan, "kernel=")) {
		r = pk_scan_name(scan, parser->graph->arena, &text);
		if (r == 0)
			node->kernel = text;
	}
	if (r == 0 && pk_scan_accept_word(scan, "pack="))
		r = pk_text_pack(parser, node);
	return r;
}

// Also takes the layouts, which no inference gives.
static int pk_text_check_types(struct pk_text_parser *parser, const struct pk_node *node,
	const struct pk_text_outputs *outputs)
{
	for (int i = 0; i < outputs->n; i++) {
		const struct pk_value *value = node->outputs[i];
		char shape[PK_SHAPE_TEXT_MAX];
		if (value->dtype == outputs->types[i].dtype &&
			pk_shape_equal(&value->shape, &outputs->types[i].shape)) {
			node->outputs[i]->block = outputs->types[i].block;
			continue;
		}
		pk_shape_format(&value->shape, shape);
		return pk_scan_fail(&parser->scan, -EINVAL, "%%%s is %s%s", outputs->names[i],
			pk_dtype_name(value->dtype), shape);
	}
	return 0;
}

// Whether name is among the node's own outputs already: they are not in the graph yet.
static bool pk_text_repeats(const struct pk_text_outputs *outputs, const char *name)
{
	for (int i = 0; i < outputs->n; i++)
		if (strcmp(outputs->names[i], name) == 0)
			return true;
	return false;
}

static int pk_text_node_outputs(struct pk_text_parser *parser, struct pk_text_outputs *outputs)
{
	struct pk_scan *scan = &parser->scan;
	int r;
	do {
		const char *name;
		if (outputs->n == PK_TEXT_MAX_OUTPUTS)
			return pk_scan_fail(scan, -EINVAL, "too many outputs");
		r = pk_text_new_name(parser, &name);
		if (r == 0 && pk_text_repeats(outputs, name))
			r = pk_scan_fail(scan, -EINVAL, "%%%s is defined twice", name);
		if (r == 0)
			r = pk_text_type(parser, &outputs->types[outputs->n]);
		if (r == 0)
			outputs->names[outputs->n++] = name;
	} while (r == 0 && pk_scan_accept(scan, ','));
	return r < 0 ? r : pk_scan_expect(scan, '=');
}

static int pk_text_op(struct pk_text_parser *parser, enum pk_op *out)
{
	char word[PK_SCAN_WORD_MAX];
	int r = pk_scan_word(&parser->scan, word);
	if (r < 0)
		return r;
	*out = pk_op_from_name(word);
	if (*out == PK_OP_NONE)
		return pk_scan_fail(&parser->scan, -EINVAL, "unknown operator `%s`", word);
	return 0;
}

static int pk_text_node(struct pk_text_parser *parser)
{
	struct pk_text_outputs outputs = {.n = 0};
	struct pk_scan *scan = &parser->scan;
	enum pk_op op = PK_OP_NONE;
	int r = pk_text_node_outputs(parser, &outputs);
	struct pk_scan_place place = scan->mark;
	if (r == 0) {
		pk_scan_mark(scan);
		place = scan->mark;
		r = pk_text_op(parser, &op);
	}
	if (r == 0)
		r = pk_text_operands(parser);
	if (r < 0)
		return r;
	struct pk_node *node = pk_graph_new_node(
		parser->graph, op, "", parser->operands.items, (int)parser->operands.n, NULL);
	if (!node)
		return pk_scan_fail(scan, -ENOMEM, "no memory");
	r = pk_text_attrs(parser, node);
	if (r == 0)
		r = pk_text_annotations(parser, node);
	if (r < 0)
		return r;
	scan->mark = place; // what follows is about the operator
	r = pk_graph_finish_node(
		parser->graph, node, outputs.names, outputs.n, &outputs.types[0].shape, scan->err);
	if (r < 0)
		return pk_scan_prefix(scan, r);
	return pk_text_check_types(parser, node, &outputs);
}

struct pk_text_statement {
	const char *word;
	int (*parse)(struct pk_text_parser *parser);
};
static const struct pk_text_statement pk_text_statements[] = {
	{"input", pk_text_input},
	{"const", pk_text_const},
	{"output", pk_text_output},
};

static int pk_text_statement(struct pk_text_parser *parser)
{
	char word[PK_SCAN_WORD_MAX];
	if (pk_scan_peek(&parser->scan) == '%')
		return pk_text_node(parser);
	int r = pk_scan_word(&parser->scan, word);
	if (r < 0)
		return r;
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_text_statements); i++)
		if (strcmp(word, pk_text_statements[i].word) == 0)
			return pk_text_statements[i].parse(parser);
	return pk_scan_fail(&parser->scan, -EINVAL, "unknown statement `%s`", word);
}

static int pk_text_graph(struct pk_text_parser *parser)
{
	struct pk_scan *scan = &parser->scan;
	int r = 0;
	if (!pk_scan_accept_word(scan, "graph")) {
		pk_scan_mark(scan);
		return pk_scan_fail(scan, -EINVAL, "`graph` expected");
	}
	r = pk_scan_expect(scan, '{');
	while (r == 0 && !pk_scan_accept(scan, '}'))
		r = pk_text_statement(parser);
	if (r < 0)
		return r;
	pk_scan_mark(scan);
	if (!pk_scan_at_end(scan))
		return pk_scan_fail(scan, -EINVAL, "text after the graph");
	return 0;
}

int pk_text_parse(const char *text, size_t n, const void *weights, size_t n_weights,
	struct pk_graph **out, struct pk_err *err)
{
	*out = NULL;
	pk_auto(pk_graph) graph = pk_graph_create(PK_TEXT_GRAPH_BYTES(n));
	if (!graph)
		return pk_fail(err, -ENOMEM, "no memory");
	struct pk_text_parser parser = {
		.graph = graph, .weights = weights, .n_weights = weights ? n_weights : 0};
	pk_scan_init(&parser.scan, text, n, err);
	int r = pk_text_graph(&parser);
	pk_array_finish(&parser.operands);
	if (r == 0)
		*out = pk_steal(graph);
	return r;
}
