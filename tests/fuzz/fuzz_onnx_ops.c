// SPDX-License-Identifier: Apache-2.0
// Fuzzes the handlers of the operator table: one node with operands and attributes of the right
// kind and hostile numbers. Reaches what random bytes of a whole file rarely do.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/cpu/eval.h"
#include "engine/ir/verify.h"
#include "engine/onnx/import.h"
#include "engine/onnx/names.h"
#include "engine/onnx/op_table.h"

#define MAX_OPERANDS 9 // as many as QLinearConv takes
#define MAX_LIST     10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *data;
	size_t n;
	struct pk_arena *arena;
};

static unsigned take(struct source *s, unsigned n)
{
	if (!s->n)
		return 0;
	s->n--;
	return *s->data++ % n;
}

static int64_t number(struct source *s)
{
	static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -1, 0, 1, INT32_MAX,
		INT64_C(0x80000000), INT64_C(1) << 40, INT64_MAX - 1, INT64_MAX};
	unsigned kind = take(s, 8);
	return kind == 0 ? edges[take(s, PK_ARRAY_LEN(edges))] : (int64_t)take(s, 12) - 3;
}

static float real(struct source *s)
{
	static const float edges[] = {
		0.5f, 1.5f, 2, 1e-30f, 1e30f, -1, __builtin_inff(), __builtin_nanf(""), 0};
	return take(s, 4) ? edges[take(s, PK_ARRAY_LEN(edges))] : (float)number(s);
}

static struct pk_onnx_str str(struct source *s, const char *text)
{
	return (struct pk_onnx_str){pk_arena_strdup(s->arena, text), strlen(text)};
}

static void fill_tensor(struct source *s, struct pk_onnx_tensor *t)
{
	t->data_type = take(s, 3) ? 7 : 1 + take(s, 16);
	t->n_dims = take(s, 4);
	t->dims = pk_arena_array(s->arena, 3, sizeof(int64_t));
	size_t n = 1;
	for (size_t i = 0; i < t->n_dims; i++) {
		t->dims[i] = take(s, 5);
		n *= (size_t)t->dims[i];
	}
	t->floats = pk_arena_array(s->arena, n, sizeof(float));
	t->ints = pk_arena_array(s->arena, n, sizeof(int64_t));
	t->n_floats = t->data_type == 1 ? n : 0;
	t->n_ints = t->data_type == 1 ? 0 : n;
	for (size_t i = 0; i < n; i++) {
		t->floats[i] = real(s);
		t->ints[i] = number(s);
	}
}

static void fill_input(struct source *s, struct pk_onnx_value_info *info)
{
	static const int types[] = {1, 1, 1, 1, 7, 6, 2, 3, 9};
	info->elem_type = types[take(s, PK_ARRAY_LEN(types))];
	info->has_shape = true;
	info->n_dims = take(s, 7);
	info->dims = pk_arena_array(s->arena, 7, sizeof(struct pk_onnx_dim));
	for (size_t i = 0; i < info->n_dims; i++)
		info->dims[i] = (struct pk_onnx_dim){.has_value = true, .value = 1 + take(s, 6)};
}

// A body for If and Loop: one node over its inputs and the names around it.
static void fill_body(struct source *s, struct pk_onnx_graph *g)
{
	static const char *const names[] = {"i", "on", "v", "w", "r", "a", "b", "none"};
	static const char *const ops[] = {"Identity", "Add", "Shape", "Concat"};
	struct pk_onnx_node *node = g->nodes = pk_arena_new(s->arena, struct pk_onnx_node);
	g->n_nodes = 1;
	g->n_inputs = take(s, 5);
	g->inputs = pk_arena_array(s->arena, 4, sizeof(struct pk_onnx_value_info));
	for (size_t i = 0; i < g->n_inputs; i++)
		g->inputs[i].name = str(s, names[i]);
	g->n_outputs = take(s, 5);
	g->outputs = pk_arena_array(s->arena, 4, sizeof(struct pk_onnx_value_info));
	for (size_t i = 0; i < g->n_outputs; i++)
		g->outputs[i].name = str(s, names[take(s, PK_ARRAY_LEN(names))]);
	node->op_type = str(s, ops[take(s, PK_ARRAY_LEN(ops))]);
	node->n_inputs = 1 + take(s, 2);
	node->inputs = pk_arena_array(s->arena, 2, sizeof(struct pk_onnx_str));
	for (size_t i = 0; i < node->n_inputs; i++)
		node->inputs[i] = str(s, names[take(s, PK_ARRAY_LEN(names))]);
	node->n_outputs = 1;
	node->outputs = pk_arena_new(s->arena, struct pk_onnx_str);
	node->outputs[0] = str(s, "r");
}

// An equation of whatever characters come.
static struct pk_onnx_str fill_equation(struct source *s)
{
	static const char letters[] = "abij,,.->... zA";
	char text[24] = {0};
	unsigned n = take(s, sizeof(text));
	for (unsigned i = 0; i < n; i++)
		text[i] = letters[take(s, sizeof(letters) - 1)];
	return str(s, text);
}

static void fill_attr(struct source *s, struct pk_onnx_attr *attr, char letter)
{
	static const char letters[] = "?fistgFIS";
	static const char *const words[] = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "linear",
		"cubic", "nearest", "reflect", "edge", "wrap", "CRD", "align_corners",
		"tf_crop_and_resize", "half_pixel_symmetric", "not_larger", "tanh", "bilinear",
		"border", "reflection", "add", "mul", "max", "min", "output_half_pixel", "avg",
		"?"};
	attr->type = strchr(letters, letter) - letters;
	attr->f = real(s);
	attr->i = number(s);
	attr->s = pk_onnx_str_is(attr->name, "equation")
			  ? fill_equation(s)
			  : str(s, words[take(s, PK_ARRAY_LEN(words))]);
	attr->t = pk_arena_new(s->arena, struct pk_onnx_tensor);
	fill_tensor(s, attr->t);
	attr->g = pk_arena_new(s->arena, struct pk_onnx_graph);
	fill_body(s, attr->g);
	attr->n_ints = attr->n_floats = take(s, MAX_LIST);
	attr->ints = pk_arena_array(s->arena, MAX_LIST, sizeof(int64_t));
	attr->floats = pk_arena_array(s->arena, MAX_LIST, sizeof(float));
	for (size_t i = 0; i < attr->n_ints; i++) {
		attr->ints[i] = number(s);
		attr->floats[i] = real(s);
	}
}

static void fill_attrs(struct source *s, const struct pk_op_row *row, struct pk_onnx_node *node)
{
	node->attrs = pk_arena_array(s->arena, 16, sizeof(struct pk_onnx_attr));
	for (const char *at = row->attrs; *at;) {
		size_t n = strcspn(at, ":");
		bool required = at[n + 2] == '!';
		if (at[n + 1] != 'x' && (required || take(s, 2))) {
			struct pk_onnx_attr *attr = &node->attrs[node->n_attrs++];
			attr->name = (struct pk_onnx_str){at, n};
			fill_attr(s, attr, at[n + 1]);
		}
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
}

static void fill_operands(struct source *s, const struct pk_op_row *row, struct pk_onnx_graph *g)
{
	struct pk_onnx_node *node = g->nodes;
	static const char *const names[MAX_OPERANDS] = {
		"a", "b", "c", "d", "e", "f", "g", "h", "i"};
	bool many = row->n_inputs_max < 0 || row->n_inputs_max > MAX_OPERANDS;
	int max = many ? MAX_OPERANDS : row->n_inputs_max;
	int n = row->n_inputs_min + (int)take(s, (unsigned)(max - row->n_inputs_min) + 1);
	node->inputs = pk_arena_array(s->arena, MAX_OPERANDS, sizeof(struct pk_onnx_str));
	g->inputs = pk_arena_array(s->arena, MAX_OPERANDS, sizeof(struct pk_onnx_value_info));
	g->initializers = pk_arena_array(s->arena, MAX_OPERANDS, sizeof(struct pk_onnx_tensor));
	for (int i = 0; i < n; i++) {
		node->inputs[node->n_inputs++] = str(s, names[i]);
		unsigned kind = take(s, 8);
		if (kind == 0) {
			node->inputs[i].n = 0;
		} else if (kind < (i ? 6u : 2u)) {
			g->initializers[g->n_initializers].name = node->inputs[i];
			fill_tensor(s, &g->initializers[g->n_initializers++]);
		} else {
			g->inputs[g->n_inputs].name = node->inputs[i];
			fill_input(s, &g->inputs[g->n_inputs++]);
		}
	}
}

static void build(struct source *s, struct pk_onnx_model *model)
{
	const struct pk_op_row *row = &pk_op_table[take(s, (unsigned)pk_op_table_n)];
	struct pk_onnx_graph *g = model->graph = pk_arena_new(s->arena, struct pk_onnx_graph);
	struct pk_onnx_node *node = g->nodes = pk_arena_new(s->arena, struct pk_onnx_node);
	model->opsets = pk_arena_new(s->arena, struct pk_onnx_opset);
	model->opsets->version = row->since + (int)take(s, (unsigned)(row->until - row->since) + 1);
	model->n_opsets = 1;
	model->n_bytes = 65536;
	g->n_nodes = 1;
	node->op_type = str(s, row->op_type);
	node->n_outputs = 1 + take(s, 3);
	node->outputs = pk_arena_array(s->arena, 3, sizeof(struct pk_onnx_str));
	for (size_t i = 0; i < node->n_outputs; i++)
		node->outputs[i] = str(s, i == 0 ? "y" : i == 1 ? "z" : "u");
	g->outputs = pk_arena_new(s->arena, struct pk_onnx_value_info);
	g->outputs->name = node->outputs[0];
	g->n_outputs = 1;
	fill_operands(s, row, g);
	fill_attrs(s, row, node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pk_auto(pk_arena) arena = pk_arena_create(0);
	pk_auto(pk_graph) graph = NULL;
	struct source source = {data, size, arena};
	struct pk_onnx_model model = {0};
	struct pk_err err = {0};
	const struct pk_import_options options = {
		.evaluator = &pk_cpu_evaluator,
		.max_folded_bytes = 1 << 16,
		.max_graph_bytes = 4 << 20,
	};
	build(&source, &model);
	if (pk_onnx_import(&model, &options, &graph, &err) == 0 && pk_verify_graph(graph, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return 0;
}
