// SPDX-License-Identifier: Apache-2.0
// Prints graphs. The reader is text_parse.c.
#include "engine/ir/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ir/attr_rule.h"
#include "engine/ir/element.h"

struct pk_printer {
	struct pk_buf *out;
	const struct pk_text_options *options;
};

static bool pk_is_plain_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_./:-", c));
}

static bool pk_is_plain_name(const char *name)
{
	char last = 0;
	for (const char *c = name; *c; last = *c++)
		if (!pk_is_plain_char(*c))
			return false;
	return last && last != ':'; // a colon at the end would be taken for the type's
}

// ASCII only: everything else becomes \xNN, so that a hostile name cannot drive a terminal.
static void pk_print_quoted(struct pk_buf *out, const char *text)
{
	pk_buf_str(out, "\"");
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			pk_buf_printf(out, "\\%c", *c);
		else if (*c < 0x20 || *c > 0x7e)
			pk_buf_printf(out, "\\x%02x", *c);
		else
			pk_buf_append(out, c, 1);
	}
	pk_buf_str(out, "\"");
}

static void pk_print_word(struct pk_buf *out, const char *text)
{
	if (pk_is_plain_name(text))
		pk_buf_str(out, text);
	else
		pk_print_quoted(out, text);
}

static void pk_print_value(struct pk_buf *out, const struct pk_value *value)
{
	if (!value) {
		pk_buf_str(out, "_");
		return;
	}
	pk_buf_str(out, "%");
	pk_print_word(out, value->name);
}

static void pk_print_type(struct pk_buf *out, const struct pk_value *value)
{
	char shape[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&value->shape, shape);
	pk_buf_printf(out, ": %s%s", pk_dtype_name(value->dtype), shape);
	if (value->block)
		pk_buf_printf(out, "/c%d", value->block);
}

// The fewest digits that read back as the same number.
static void pk_print_double(struct pk_buf *out, double v, bool single)
{
	char text[40];
	int digits = single ? 6 : 15, most = single ? 9 : 17;
	if (isnan(v)) {
		pk_buf_str(out, "nan");
		return;
	}
	for (; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (single ? (double)strtof(text, NULL) == v : strtod(text, NULL) == v)
			break;
	}
	pk_buf_str(out, text);
}

static void pk_print_element(struct pk_buf *out, enum pk_dtype dtype, const void *data, size_t idx)
{
	if (pk_dtype_is_float(dtype))
		pk_print_double(out, pk_element_get(dtype, data, idx), dtype != PK_F64);
	else if (dtype == PK_U64)
		pk_buf_printf(out, "%" PRIu64, (uint64_t)pk_element_get_int(dtype, data, idx));
	else
		pk_buf_printf(out, "%" PRId64, pk_element_get_int(dtype, data, idx));
}

static void pk_print_data(struct pk_buf *out, enum pk_dtype dtype, const void *data, size_t n)
{
	pk_buf_str(out, "{");
	for (size_t i = 0; i < n && pk_buf_error(out) == 0; i++) {
		pk_buf_str(out, i ? ", " : "");
		pk_print_element(out, dtype, data, i);
	}
	pk_buf_str(out, "}");
}

static int64_t pk_print_offset_of(const struct pk_printer *p, const void *data, size_t bytes)
{
	if (!p->options || !p->options->offset_of)
		return -1;
	return p->options->offset_of(p->options->ctx, data, bytes);
}

static void pk_print_const(const struct pk_printer *p, const struct pk_value *value)
{
	size_t bytes = pk_tensor_bytes(value->dtype, &value->shape);
	int64_t offset = value->elided ? -1 : pk_print_offset_of(p, value->data, bytes);
	pk_buf_str(p->out, "  const ");
	pk_print_value(p->out, value);
	pk_print_type(p->out, value);
	pk_buf_str(p->out, " = ");
	if (value->elided)
		pk_buf_str(p->out, "elided");
	else if (offset >= 0)
		pk_buf_printf(p->out, "@%" PRId64, offset);
	else
		pk_print_data(p->out, value->dtype, value->data,
			(size_t)pk_shape_elements(&value->shape));
	pk_buf_str(p->out, "\n");
}

static void pk_print_attr_item(
	struct pk_buf *out, enum pk_attr_id id, const struct pk_attr_value *value, int i)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	if (pk_attr_rule_is_float(id)) {
		pk_print_double(out, value->f[i], false);
	} else if (kind == PK_ATTR_KIND_FN) {
		pk_buf_str(out, pk_fn_name((enum pk_fn)value->i[i]));
	} else if (kind == PK_ATTR_KIND_ENUM) {
		const char *word = pk_enum_text(id, value->i[i]);
		pk_buf_str(out, word ? word : "?");
	} else {
		pk_buf_printf(out, "%" PRId64, value->i[i]);
	}
}

static void pk_print_attr(struct pk_buf *out, enum pk_attr_id id, const struct pk_attr_value *value)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	bool list = kind == PK_ATTR_KIND_INTS || kind == PK_ATTR_KIND_FLOATS;
	pk_buf_printf(out, "%s=%s", pk_attr_name(id), list ? "[" : "");
	for (int i = 0; i < value->n; i++) {
		pk_buf_str(out, i ? "," : "");
		pk_print_attr_item(out, id, value, i);
	}
	pk_buf_str(out, list ? "]" : "");
}

static bool pk_attr_same(
	enum pk_attr_id id, const struct pk_attr_value *a, const struct pk_attr_value *b)
{
	size_t item = pk_attr_rule_is_float(id) ? sizeof(a->f[0]) : sizeof(a->i[0]);
	return a->n == b->n && memcmp(a->i, b->i, (size_t)a->n * item) == 0;
}

static void pk_print_attrs(const struct pk_printer *p, const struct pk_node *node)
{
	const struct pk_op_info *info = pk_op_info(node->op);
	int n_printed = 0;
	for (int i = 0; i < info->n_attrs; i++) {
		struct pk_attr_value neutral;
		pk_attr_rule_neutral(node, info->attrs[i], &neutral);
		if (pk_attr_same(info->attrs[i], &node->attrs[i], &neutral))
			continue;
		pk_buf_str(p->out, n_printed++ ? ", " : " {");
		pk_print_attr(p->out, info->attrs[i], &node->attrs[i]);
	}
	pk_buf_str(p->out, n_printed ? "}" : "");
}

static void pk_print_pack(const struct pk_printer *p, const struct pk_node *node)
{
	int64_t offset = pk_print_offset_of(p, node->packed, node->packed_bytes);
	pk_buf_str(p->out, " pack=");
	if (offset >= 0)
		pk_buf_printf(p->out, "@%" PRId64 "+%zu", offset, node->packed_bytes);
	else
		pk_print_data(p->out, PK_U8, node->packed, node->packed_bytes);
}

static void pk_print_node(const struct pk_printer *p, const struct pk_node *node)
{
	pk_buf_str(p->out, "  ");
	for (int i = 0; i < node->n_outputs; i++) {
		pk_buf_str(p->out, i ? ", " : "");
		pk_print_value(p->out, node->outputs[i]);
		pk_print_type(p->out, node->outputs[i]);
	}
	pk_buf_printf(p->out, " = %s(", pk_op_info(node->op)->name);
	for (int i = 0; i < node->n_inputs; i++) {
		pk_buf_str(p->out, i ? ", " : "");
		pk_print_value(p->out, node->inputs[i]);
	}
	pk_buf_str(p->out, ")");
	pk_print_attrs(p, node);
	if (*node->name) {
		pk_buf_str(p->out, " ");
		pk_print_quoted(p->out, node->name);
	}
	if (node->kernel) {
		pk_buf_str(p->out, " kernel=");
		pk_print_word(p->out, node->kernel);
	}
	if (node->packed)
		pk_print_pack(p, node);
	pk_buf_str(p->out, "\n");
}

int pk_text_print(
	const struct pk_graph *graph, const struct pk_text_options *options, struct pk_buf *out)
{
	struct pk_printer p = {out, options};
	pk_buf_str(out, "graph {\n");
	for (int i = 0; i < graph->n_inputs; i++) {
		pk_buf_str(out, "  input ");
		pk_print_value(out, graph->inputs[i]);
		pk_print_type(out, graph->inputs[i]);
		pk_buf_str(out, "\n");
	}
	for (int i = 0; i < graph->n_values; i++) {
		const struct pk_value *value = graph->values[i];
		if (value->data && (value->n_uses > 0 || value->is_output))
			pk_print_const(&p, value);
	}
	const struct pk_node *node;
	pk_graph_each_node (node, graph)
		pk_print_node(&p, node);
	for (int i = 0; i < graph->n_outputs; i++) {
		pk_buf_str(out, "  output ");
		pk_print_value(out, graph->outputs[i]);
		pk_buf_str(out, "\n");
	}
	pk_buf_str(out, "}\n");
	return pk_buf_error(out);
}
