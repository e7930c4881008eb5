// SPDX-License-Identifier: Apache-2.0
// Puts quantize and dequantize nodes into a float graph by a calibration record.
#include "engine/calibrate/insert.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define STEPS 127 // symmetric: -127..127

// A layer by kind alone.
static bool is_product(const struct pk_node *node)
{
	if (node->op != PK_OP_CONV && node->op != PK_OP_GEMM)
		return false;
	const struct pk_value *w = node->inputs[1];
	if (!w->data || w->dtype != PK_F32 || node->inputs[0]->data ||
		node->inputs[0]->dtype != PK_F32)
		return false;
	if (node->op == PK_OP_CONV)
		return pk_node_int(node, PK_ATTR_RESIDUAL) == PK_RESIDUAL_NONE;
	return !pk_node_int(node, PK_ATTR_TRANS_A) && pk_node_float(node, PK_ATTR_ALPHA) == 1;
}

static const struct pk_node *next_of(const struct pk_graph *graph, const struct pk_node *node)
{
	return node->link.next == &graph->nodes
		       ? NULL
		       : pk_list_entry(node->link.next, const struct pk_node, link);
}

static bool reads_marked(const struct pk_node *node, const bool *marks)
{
	for (int i = 0; i < node->n_inputs; i++)
		if (node->inputs[i] && marks[node->inputs[i]->id])
			return true;
	return false;
}

bool pk_calibration_is_layer(const struct pk_graph *graph, const struct pk_node *node)
{
	if (!is_product(node))
		return false;
	bool *marks = calloc((size_t)graph->n_values + 1, sizeof(*marks)), found = false;
	if (!marks)
		return false;
	marks[node->outputs[0]->id] = true;
	for (const struct pk_node *n = next_of(graph, node); n && !found; n = next_of(graph, n)) {
		if (!reads_marked(n, marks))
			continue;
		found = is_product(n) && marks[n->inputs[0]->id];
		for (int i = 0; i < n->n_outputs; i++)
			marks[n->outputs[i]->id] = true;
	}
	free(marks);
	return found;
}

bool pk_calibration_wants(const struct pk_value *value)
{
	return value && !value->data && value->dtype == PK_F32;
}

// Values whose numbers are each other's share one scale: sets, by union-find over value ids.
struct sets {
	int *parent;
	double *max; // of the set, at its root
	bool *wanted;
};

static int root_of(const struct sets *s, int id)
{
	while (s->parent[id] != id)
		id = s->parent[id] = s->parent[s->parent[id]];
	return id;
}

static bool passes_on(const struct pk_node *node)
{
	static const enum pk_op ops[] = {PK_OP_CONCAT, PK_OP_SLICE, PK_OP_RESHAPE, PK_OP_TRANSPOSE,
		PK_OP_EXPAND, PK_OP_TILE, PK_OP_DEPTH_TO_SPACE, PK_OP_SPACE_TO_DEPTH};
	if (node->op == PK_OP_POOL)
		return pk_node_fn(node, PK_ATTR_FN) == PK_FN_POOL_MAX;
	if (node->op == PK_OP_RESIZE)
		return pk_node_int(node, PK_ATTR_MODE) == PK_MODE_NEAREST &&
		       pk_node_int(node, PK_ATTR_COORD) != PK_COORD_TF_CROP_AND_RESIZE;
	for (size_t i = 0; i < PK_ARRAY_LEN(ops); i++)
		if (ops[i] == node->op)
			return true;
	return false;
}

static void join(struct sets *s, const struct pk_value *a, const struct pk_value *b)
{
	if (!pk_calibration_wants(a) || !pk_calibration_wants(b))
		return;
	int x = root_of(s, a->id), y = root_of(s, b->id);
	s->parent[y] = x;
	s->max[x] = PK_MAX(s->max[x], s->max[y]);
}

static int sets_init(
	struct sets *s, const struct pk_graph *graph, const struct pk_calibration *calibration)
{
	size_t n = (size_t)graph->n_values + 1;
	s->parent = calloc(n, sizeof(*s->parent));
	s->max = calloc(n, sizeof(*s->max));
	s->wanted = calloc(n, sizeof(*s->wanted));
	if (!s->parent || !s->max || !s->wanted)
		return -ENOMEM;
	for (int i = 0; i < graph->n_values; i++) {
		s->parent[i] = i;
		s->max[i] = pk_calibration_find(calibration, graph->values[i]->name);
	}
	const struct pk_node *node;
	pk_graph_each_node (node, graph)
		for (int i = 0; passes_on(node) && i < node->n_inputs; i++)
			join(s, node->outputs[0], node->inputs[i]);
	return 0;
}

static void sets_finish(struct sets *s)
{
	free(s->parent);
	free(s->max);
	free(s->wanted);
}

// The layers to treat, as a mark per output; the sets of their inputs become wanted.
static int choose(struct sets *s, const struct pk_graph *graph,
	const struct pk_calibration *calibration, bool *chosen)
{
	int n = 0;
	const struct pk_node *node;
	pk_graph_each_node (node, graph) {
		if (!is_product(node) ||
			pk_calibration_is_float(calibration, node->outputs[0]->name) ||
			!pk_calibration_is_layer(graph, node))
			continue;
		int root = root_of(s, node->inputs[0]->id);
		if (!(s->max[root] > 0))
			continue;
		s->wanted[root] = chosen[node->outputs[0]->id] = true;
		n++;
	}
	return n;
}

static struct pk_node *new_pair(struct pk_graph *graph, struct pk_value *x, struct pk_value *scale,
	struct pk_node *before, struct pk_err *err)
{
	const char *name = x->name;
	struct pk_value *inputs[] = {x, scale};
	struct pk_node *quantize = pk_graph_new_node(graph, PK_OP_QUANTIZE, "", inputs, 2, before);
	if (!quantize)
		return NULL;
	pk_node_set_int(quantize, PK_ATTR_TO, PK_I8);
	if (pk_graph_finish_node(graph, quantize, &name, 1, NULL, err) < 0)
		return NULL;
	inputs[0] = quantize->outputs[0];
	struct pk_node *node = pk_graph_new_node(graph, PK_OP_DEQUANTIZE, "", inputs, 2, before);
	if (!node || pk_graph_finish_node(graph, node, &name, 1, NULL, err) < 0)
		return NULL;
	return node;
}

// All nodes but the pair itself read x through it.
static int quantize_value(
	struct pk_graph *graph, struct pk_value *x, double max, struct pk_err *err)
{
	struct pk_node *user, *first = NULL;
	float step = (float)(max / STEPS);
	struct pk_shape scalar = {0};
	pk_graph_each_node (user, graph) {
		for (int i = 0; i < user->n_inputs && !first; i++)
			first = user->inputs[i] == x ? user : NULL;
	}
	struct pk_value *scale = pk_graph_add_const_copy(graph, "scale", PK_F32, &scalar, &step);
	struct pk_node *pair = scale && first ? new_pair(graph, x, scale, first, err) : NULL;
	if (!pair)
		return first ? -ENOMEM : 0;
	struct pk_node *quantize = pair->inputs[0]->producer;
	pk_graph_each_node (user, graph) {
		for (int i = 0; user != quantize && i < user->n_inputs; i++)
			if (user->inputs[i] == x)
				pk_graph_set_input(user, i, pair->outputs[0]);
	}
	return 0;
}

// The weights as i8 with a scale per output channel; a channel of zeros gets scale 1.
static int quantize_weights(struct pk_graph *graph, struct pk_node *node, struct pk_err *err)
{
	const struct pk_value *w = node->inputs[1];
	int64_t n = pk_shape_elements(&w->shape);
	bool by_column = node->op == PK_OP_GEMM && !pk_node_int(node, PK_ATTR_TRANS_B);
	int64_t channels = w->shape.dims[by_column], inner = by_column ? 1 : n / channels;
	struct pk_shape vector = {1, {channels}};
	float *scales = pk_graph_alloc(graph, (size_t)channels * sizeof(*scales));
	int8_t *data = pk_graph_alloc(graph, (size_t)n + 1);
	const float *from = w->data;
	if (!scales || !data)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++) {
		float *scale = &scales[i / inner % channels];
		*scale = PK_MAX(*scale, fabsf(from[i]) / STEPS);
	}
	for (int64_t i = 0; i < channels; i++)
		scales[i] = scales[i] > 0 ? scales[i] : 1;
	for (int64_t i = 0; i < n; i++) {
		float v = nearbyintf(from[i] / scales[i / inner % channels]);
		data[i] = (int8_t)PK_MAX(PK_MIN(v, (float)STEPS), (float)-STEPS);
	}
	struct pk_value *operands[] = {pk_graph_add_const(graph, w->name, PK_I8, &w->shape, data),
		pk_graph_add_const(graph, "scale", PK_F32, &vector, scales)};
	struct pk_node *dequantize =
		operands[0] && operands[1]
			? pk_graph_new_node(graph, PK_OP_DEQUANTIZE, "", operands, 2, node)
			: NULL;
	if (!dequantize)
		return -ENOMEM;
	pk_node_set_int(dequantize, PK_ATTR_AXIS, by_column);
	int r = pk_graph_finish_node(graph, dequantize, NULL, 1, NULL, err);
	if (r == 0)
		pk_graph_set_input(node, 1, dequantize->outputs[0]);
	return r;
}

// Where a wanted set's numbers come in: values that no member passes on.
static int quantize_sources(
	struct pk_graph *graph, struct sets *s, int n_values, struct pk_err *err)
{
	int r = 0;
	for (int id = 0; id < n_values && r == 0; id++) {
		struct pk_value *value = graph->values[id];
		int root = root_of(s, id);
		bool source = !value->producer || !passes_on(value->producer);
		if (s->wanted[root] && source && pk_calibration_wants(value) && value->n_uses > 0)
			r = quantize_value(graph, value, s->max[root], err);
	}
	return r;
}

int pk_calibration_insert(struct pk_graph *graph, const struct pk_calibration *calibration, int *n,
	struct pk_err *err)
{
	struct sets s = {0};
	bool *chosen = calloc((size_t)graph->n_values + 1, sizeof(*chosen));
	int n_before = graph->n_values, count = 0;
	int r = chosen ? sets_init(&s, graph, calibration) : -ENOMEM;
	if (r == 0)
		count = choose(&s, graph, calibration, chosen);
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int id = node->n_outputs ? node->outputs[0]->id : n_before;
		if (r == 0 && id < n_before && chosen[id])
			r = quantize_weights(graph, node, err);
	}
	if (r == 0)
		r = quantize_sources(graph, &s, n_before, err);
	if (n)
		*n = count;
	sets_finish(&s);
	free(chosen);
	if (r < 0)
		return pk_fail(err, r, "calibration: %s", strerror(-r));
	return 0;
}
