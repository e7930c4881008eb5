// SPDX-License-Identifier: Apache-2.0
// picketctl engine inspect: what an engine is made of, as text, JSON or a Graphviz graph.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/print.h"
#include "engine/compile/cost.h"
#include "engine/compile/timeline.h"
#include "engine/gate/verdict.h"

#define CHART_CELLS 64

static const char inspect_usage[] =
	"usage: picketctl engine inspect [--json|--dot] FILE.engine|MODEL.onnx\n\n"
	"  --json   everything as JSON\n"
	"  --dot    the graph for Graphviz: picketctl engine inspect --dot F | dot -Tsvg\n";

// An engine with what follows from its graph.
struct view {
	const char *path;
	const struct pk_engine_info *info;
	const struct pk_graph *graph;
	json_t *layers;
	int64_t *live; // by layer
	int64_t peak;
};

static json_t *bindings_json(const struct pk_binding *bindings, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		char shape[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&bindings[i].shape, shape);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "name", bindings[i].name, "dtype",
				      pk_dtype_name(bindings[i].dtype), "shape", shape));
	}
	return list;
}

static json_t *layers_json(const struct view *view)
{
	json_t *list = json_deep_copy(view->layers);
	size_t i = 0;
	struct pk_node *node;
	pk_graph_each_node (node, view->graph) {
		struct pk_cost cost = pk_cost_of_node(node);
		json_t *layer = json_array_get(list, i);
		json_object_set_new(layer, "flops", json_integer((json_int_t)cost.flops));
		json_object_set_new(layer, "bytes", json_integer((json_int_t)cost.bytes));
		json_object_set_new(layer, "live_bytes", json_integer((json_int_t)view->live[i++]));
	}
	return list;
}

static json_t *view_json(const struct view *view)
{
	const struct pk_engine_info *info = view->info;
	char key[PK_DIGEST_TEXT];
	struct pk_cost cost;
	pk_digest_format(&info->key, key);
	pk_cost_of_graph(view->graph, &cost);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"runtime", info->runtime, "key_digest", key, "key", pk_engine_json(info->key_json),
		"inputs", bindings_json(info->inputs, info->n_inputs), "outputs",
		bindings_json(info->outputs, info->n_outputs), "layers", layers_json(view), "gate",
		pk_engine_json(info->gate_json), "weight_bytes", (json_int_t)info->weight_bytes,
		"activation_bytes", (json_int_t)info->activation_bytes, "lower_bound_bytes",
		(json_int_t)info->lower_bound_bytes, "card_bytes", (json_int_t)info->card_size,
		"live_peak_bytes", (json_int_t)view->peak, "flops", (json_int_t)cost.flops,
		"traffic_bytes", (json_int_t)cost.bytes);
}

static void print_bindings(const char *what, const struct pk_binding *bindings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char shape[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&bindings[i].shape, shape);
		printf("  %-11s %s: %s%s\n", what, bindings[i].name,
			pk_dtype_name(bindings[i].dtype), shape);
	}
}

// One line of bars: each cell stands for some steps and shows the largest of them.
static void print_chart(const struct view *view)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	int n = view->graph->n_nodes, cells = PK_MIN(n, CHART_CELLS);
	printf("  live        ");
	for (int c = 0; c < cells; c++) {
		int64_t most = 0;
		for (int i = (int)((int64_t)c * n / cells); i < (int64_t)(c + 1) * n / cells; i++)
			most = PK_MAX(most, view->live[i]);
		int64_t level = view->peak ? most * 7 / view->peak : 0;
		fputs(bars[level], stdout);
	}
	putchar('\n');
}

static int peak_step(const struct view *view)
{
	int i = 0;
	while (i + 1 < view->graph->n_nodes && view->live[i] < view->peak)
		i++;
	return i;
}

static void print_layers(const struct view *view)
{
	static const char *const headings[] = {
		"#", "op", "kernel", "type", "MFLOP", "traffic", "live", "layer"};
	struct pk_table table = {
		.headings = headings, .n_columns = PK_ARRAY_LEN(headings), .right = 0x71};
	size_t i = 0;
	struct pk_node *node;
	pk_graph_each_node (node, view->graph) {
		const json_t *layer = json_array_get(view->layers, i);
		struct pk_cost cost = pk_cost_of_node(node);
		char traffic[PK_SIZE_TEXT], live[PK_SIZE_TEXT];
		pk_format_size((double)cost.bytes, traffic);
		pk_format_size((double)view->live[i], live);
		pk_table_add(&table, "%zu", i++);
		pk_table_add(&table, "%s", pk_json_text(layer, "op"));
		pk_table_add(&table, "%s", pk_json_text(layer, "kernel"));
		pk_table_add(
			&table, "%s%s", pk_json_text(layer, "dtype"), pk_json_text(layer, "shape"));
		pk_table_add(&table, "%.3f", (double)cost.flops / 1e6);
		pk_table_add(&table, "%s", traffic);
		pk_table_add(&table, "%s", live);
		pk_table_add(&table, "%.60s", pk_json_text(layer, "name"));
	}
	pk_table_print(&table);
	pk_table_finish(&table);
}

static void print_gate(const struct view *view)
{
	pk_auto_json json = pk_engine_json(view->info->gate_json);
	struct pk_gate_verdict verdict;
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 16);
	if (pk_gate_verdict_from_json(json, &verdict, NULL) < 0)
		return; // built before there were rows
	pk_gate_verdict_print(&verdict, &out);
	printf("\n%s", pk_buf_cstr(&out));
}

// Layers that an accelerator's engine leaves to the cpu.
static void print_islands(const struct view *view)
{
	size_t i, n = 0;
	const json_t *layer;
	json_array_foreach (view->layers, i, layer) {
		if (strcmp(pk_json_text(layer, "kernel"), "cpu") != 0)
			continue;
		printf("%s%s", n++ ? ", " : "  islands     on the cpu, between copies: ",
			pk_json_text(layer, "op"));
	}
	if (n)
		printf(" (%zu of %zu layers)\n", n, json_array_size(view->layers));
}

static void print_view(const struct view *view)
{
	const struct pk_engine_info *info = view->info;
	char key[PK_DIGEST_TEXT], live[PK_SIZE_TEXT];
	struct pk_cost cost;
	pk_digest_format(&info->key, key);
	pk_cost_of_graph(view->graph, &cost);
	pk_format_size((double)view->peak, live);
	printf("%s  runtime %s\n  key         %s\n", view->path, info->runtime, key);
	print_bindings("input", info->inputs, info->n_inputs);
	print_bindings("output", info->outputs, info->n_outputs);
	printf("  memory      weights %.2f MiB, activations %.2f MiB (lower bound %.2f)\n",
		(double)info->weight_bytes / 1048576, (double)info->activation_bytes / 1048576,
		(double)info->lower_bound_bytes / 1048576);
	printf("  work        %.3f GFLOP, %.1f MiB moved\n", (double)cost.flops / 1e9,
		(double)cost.bytes / 1048576);
	if (view->graph->n_nodes > 0)
		printf("  live peak   %s at step %d\n", live, peak_step(view));
	print_islands(view);
	if (isatty(STDOUT_FILENO))
		print_chart(view);
	putchar('\n');
	print_layers(view);
	print_gate(view);
}

static void dot_value(struct pk_buf *out, const struct pk_value *value)
{
	char shape[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&value->shape, shape);
	pk_buf_printf(out, "  v%d [shape=oval, label=", value->id);
	pk_buf_json_string(out, value->name);
	pk_buf_printf(out, ", tooltip=\"%s%s\"];\n", pk_dtype_name(value->dtype), shape);
}

static void dot_edge(struct pk_buf *out, const struct pk_value *value, const char *to, int id,
	const int *producers)
{
	char shape[PK_SHAPE_TEXT_MAX];
	pk_shape_format(&value->shape, shape);
	if (value->producer)
		pk_buf_printf(out, "  n%d", producers[value->id]);
	else
		pk_buf_printf(out, "  v%d", value->id);
	pk_buf_printf(out, " -> %s%d [label=\"%s\"];\n", to, id, shape);
}

static void dot_node(struct pk_buf *out, const struct pk_node *node, int step, const int *producers)
{
	pk_buf_printf(out, "  n%d [label=\"%s\\n%s\", tooltip=", step, pk_op_info(node->op)->name,
		node->kernel ? node->kernel : "");
	pk_buf_json_string(out, node->name);
	pk_buf_str(out, "];\n");
	for (int i = 0; i < node->n_inputs; i++) {
		const struct pk_value *value = node->inputs[i];
		if (value && (value->producer || value->is_input)) // weights would only clutter
			dot_edge(out, value, "n", step, producers);
	}
}

static int print_dot(const struct view *view)
{
	const struct pk_graph *graph = view->graph;
	pk_auto_free int *producers = calloc((size_t)graph->n_values + 1, sizeof(*producers));
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 64u << 20);
	if (!producers)
		return -ENOMEM;
	pk_buf_str(&out, "digraph engine {\n  node [shape=box];\n");
	int step = 0;
	struct pk_node *node;
	for (int i = 0; i < graph->n_inputs; i++)
		dot_value(&out, graph->inputs[i]);
	pk_graph_each_node (node, graph) {
		for (int i = 0; i < node->n_outputs; i++)
			producers[node->outputs[i]->id] = step;
		dot_node(&out, node, step++, producers);
	}
	for (int i = 0; i < graph->n_outputs; i++) {
		const struct pk_value *value = graph->outputs[i];
		if (!value->producer)
			continue;
		dot_value(&out, value);
		dot_edge(&out, value, "v", value->id, producers);
	}
	pk_buf_str(&out, "}\n");
	fputs(pk_buf_cstr(&out), stdout);
	return pk_buf_error(&out);
}

static int show(
	const struct pk_engine_args *args, const struct pk_engine *engine, struct pk_err *err)
{
	struct view view = {.path = args->path,
		.info = pk_engine_info(engine),
		.graph = pk_engine_graph(engine)};
	pk_auto_json layers = pk_engine_json(view.info->layers_json);
	pk_auto_free int64_t *live = calloc((size_t)view.graph->n_nodes + 1, sizeof(*live));
	view.layers = layers;
	view.live = live;
	view.peak = live ? pk_timeline_make(view.graph, live) : -ENOMEM;
	if (view.peak < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (args->dot)
		return print_dot(&view);
	if (args->json)
		pk_engine_print_json(view_json(&view));
	else
		print_view(&view);
	return 0;
}

int pk_engine_inspect_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, inspect_usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	pk_auto(pk_engine) engine = NULL;
	int r = pk_engine_args_open(&args, &engine, &err);
	if (r == 0)
		r = show(&args, engine, &err);
	return pk_engine_verb_end(&args, &err, r);
}
