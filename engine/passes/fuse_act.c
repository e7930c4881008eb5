// SPDX-License-Identifier: Apache-2.0
// F5: activations from the parts that exporters write them in. A product is first brought to the
// form number * factor * factor…, so that the order of its operands does not matter.
#include <errno.h>
#include <math.h>

#include "base/checked.h"
#include "engine/ir/element.h"
#include "engine/passes/match.h"
#include "engine/passes/pass_impl.h"
#include "engine/passes/rewrite.h"

#define PK_PRODUCT_MAX_FACTORS 4
#define PK_PRODUCT_MAX_DEPTH   6

struct pk_product {
	double number;
	struct pk_value *factors[PK_PRODUCT_MAX_FACTORS];
	int n;
};

static bool pk_product_add(struct pk_product *product, struct pk_value *value, int depth);

// The operands of a mul, or of a div by a number.
static bool pk_product_add_node(struct pk_product *product, struct pk_node *node, int depth)
{
	double number;
	if (pk_match_fn(node, PK_OP_BINARY, PK_FN_DIV)) {
		if (!pk_match_scalar(node->inputs[1], &number) || number == 0)
			return false;
		product->number /= number;
		return pk_product_add(product, node->inputs[0], depth);
	}
	return pk_product_add(product, node->inputs[0], depth) &&
	       pk_product_add(product, node->inputs[1], depth);
}

static bool pk_product_is_node(const struct pk_node *node)
{
	double number;
	return pk_match_fn(node, PK_OP_BINARY, PK_FN_MUL) ||
	       (pk_match_fn(node, PK_OP_BINARY, PK_FN_DIV) &&
		       pk_match_scalar(node->inputs[1], &number));
}

static bool pk_product_add(struct pk_product *product, struct pk_value *value, int depth)
{
	double number;
	if (pk_match_scalar(value, &number)) {
		product->number *= number;
		return true;
	}
	struct pk_node *node = pk_match_inner(value);
	if (node && depth < PK_PRODUCT_MAX_DEPTH && pk_product_is_node(node))
		return pk_product_add_node(product, node, depth + 1);
	if (product->n == PK_PRODUCT_MAX_FACTORS)
		return false;
	product->factors[product->n++] = value;
	return true;
}

// value as number * factors. Anything is: at least 1 * value.
static bool pk_product_of(struct pk_value *value, struct pk_product *out)
{
	*out = (struct pk_product){.number = 1};
	return pk_product_add(out, value, 0);
}

// The other operand of an inner `value + number`; NULL when it is none.
static struct pk_value *pk_part_plus(struct pk_value *value, double number)
{
	struct pk_node *add = pk_match_inner_fn(value, PK_OP_BINARY, PK_FN_ADD);
	for (int i = 0; add && i < 2; i++)
		if (pk_match_number(add->inputs[i], number))
			return add->inputs[1 - i];
	return NULL;
}

static struct pk_value *pk_part_unary(struct pk_value *value, enum pk_fn fn)
{
	struct pk_node *node = pk_match_inner_fn(value, PK_OP_UNARY, fn);
	return node ? node->inputs[0] : NULL;
}

static bool pk_part_is_sigmoid(struct pk_value *part, const struct pk_value *x)
{
	return pk_part_unary(part, PK_FN_SIGMOID) == x;
}

static bool pk_part_is_hard_sigmoid(struct pk_value *part, const struct pk_value *x)
{
	struct pk_node *node = pk_match_inner_fn(part, PK_OP_UNARY, PK_FN_HARD_SIGMOID);
	return node && node->inputs[0] == x &&
	       pk_match_near(x->dtype, pk_node_float(node, PK_ATTR_ALPHA), 1.0 / 6) &&
	       pk_node_float(node, PK_ATTR_BETA) == 0.5;
}

// clip(x + 3, 0, 6)
static struct pk_value *pk_part_clip_6(struct pk_value *part)
{
	struct pk_node *clip = pk_match_inner_fn(part, PK_OP_UNARY, PK_FN_CLIP);
	if (!clip || pk_node_float(clip, PK_ATTR_ALPHA) != 0 ||
		pk_node_float(clip, PK_ATTR_BETA) != 6)
		return NULL;
	return pk_part_plus(clip->inputs[0], 3);
}

static bool pk_part_is_clip_6(struct pk_value *part, const struct pk_value *x)
{
	return pk_part_clip_6(part) == x;
}

static bool pk_part_is_tanh_softplus(struct pk_value *part, const struct pk_value *x)
{
	struct pk_value *inner = pk_part_unary(part, PK_FN_TANH);
	return inner && pk_part_unary(inner, PK_FN_SOFTPLUS) == x;
}

// 1 + erf(x / sqrt(2))
static bool pk_part_is_one_plus_erf(struct pk_value *part, const struct pk_value *x)
{
	struct pk_value *erf_of = pk_part_plus(part, 1);
	struct pk_value *arg = erf_of ? pk_part_unary(erf_of, PK_FN_ERF) : NULL;
	struct pk_product product;
	return arg && pk_product_of(arg, &product) && product.n == 1 && product.factors[0] == x &&
	       pk_match_near(x->dtype, product.number, M_SQRT1_2);
}

// x to the power of n, as pow or as a product.
static bool pk_part_is_power(const struct pk_product *product, const struct pk_value *x, int n)
{
	if (product->n == 1) {
		struct pk_node *pow =
			pk_match_inner_fn(product->factors[0], PK_OP_BINARY, PK_FN_POW);
		return pow && pow->inputs[0] == x && pk_match_number(pow->inputs[1], n);
	}
	for (int i = 0; i < product->n; i++)
		if (product->factors[i] != x)
			return false;
	return product->n == n;
}

// value = base + 0.044715 * x^n
static bool pk_part_is_cubic(
	struct pk_value *value, const struct pk_value *x, bool base_is_x, int n)
{
	struct pk_node *add = pk_match_inner_fn(value, PK_OP_BINARY, PK_FN_ADD);
	for (int i = 0; add && i < 2; i++) {
		struct pk_product product;
		bool base = base_is_x ? add->inputs[i] == x : pk_match_number(add->inputs[i], 1);
		if (base && pk_product_of(add->inputs[1 - i], &product) &&
			pk_match_near(x->dtype, product.number, 0.044715) &&
			pk_part_is_power(&product, x, n))
			return true;
	}
	return false;
}

// 1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)), or with x taken out of the bracket
static bool pk_part_is_one_plus_tanh(struct pk_value *part, const struct pk_value *x)
{
	struct pk_value *tanh_of = pk_part_plus(part, 1);
	struct pk_value *arg = tanh_of ? pk_part_unary(tanh_of, PK_FN_TANH) : NULL;
	struct pk_product product;
	if (!arg || !pk_product_of(arg, &product) ||
		!pk_match_near(x->dtype, product.number, 0.7978845608028654))
		return false;
	if (product.n == 1)
		return pk_part_is_cubic(product.factors[0], x, true, 3);
	if (product.n != 2)
		return false;
	int x_idx = product.factors[0] == x ? 0 : 1;
	return product.factors[x_idx] == x &&
	       pk_part_is_cubic(product.factors[1 - x_idx], x, false, 2);
}

// number * x * part(x)
struct pk_act_pattern {
	enum pk_fn fn;
	double number;
	bool (*is_part)(struct pk_value *part, const struct pk_value *x);
};
static const struct pk_act_pattern pk_act_patterns[] = {
	{PK_FN_SILU, 1, pk_part_is_sigmoid},
	{PK_FN_HARD_SWISH, 1, pk_part_is_hard_sigmoid},
	{PK_FN_HARD_SWISH, 1.0 / 6, pk_part_is_clip_6},
	{PK_FN_MISH, 1, pk_part_is_tanh_softplus},
	{PK_FN_GELU, 0.5, pk_part_is_one_plus_erf},
	{PK_FN_GELU_TANH, 0.5, pk_part_is_one_plus_tanh},
};

struct pk_act_match {
	enum pk_fn fn;
	double alpha, beta;
	struct pk_value *x;
};

static bool pk_act_match_pair(
	const struct pk_product *product, enum pk_dtype dtype, struct pk_act_match *out)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_act_patterns); i++) {
		const struct pk_act_pattern *pattern = &pk_act_patterns[i];
		if (!pk_match_near(dtype, product->number, pattern->number))
			continue;
		for (int x_idx = 0; x_idx < 2; x_idx++) {
			struct pk_value *x = product->factors[x_idx];
			if (pattern->is_part(product->factors[1 - x_idx], x)) {
				*out = (struct pk_act_match){pattern->fn, 0, 0, x};
				return true;
			}
		}
	}
	return false;
}

// clip(x + 3, 0, 6) / 6
static bool pk_act_match_single(
	const struct pk_product *product, enum pk_dtype dtype, struct pk_act_match *out)
{
	struct pk_value *x = pk_part_clip_6(product->factors[0]);
	if (!x || !pk_match_near(dtype, product->number, 1.0 / 6))
		return false;
	*out = (struct pk_act_match){PK_FN_HARD_SIGMOID, 1.0 / 6, 0.5, x};
	return true;
}

static bool pk_act_match(struct pk_node *root, struct pk_act_match *out)
{
	const struct pk_value *y = root->outputs[0];
	struct pk_product product = {.number = 1};
	if (!pk_dtype_is_float(y->dtype) || !pk_product_is_node(root) ||
		!pk_product_add_node(&product, root, 0))
		return false;
	bool found = false;
	if (product.n == 2)
		found = pk_act_match_pair(&product, y->dtype, out);
	else if (product.n == 1)
		found = pk_act_match_single(&product, y->dtype, out);
	return found && pk_match_same_type(out->x, y);
}

static int pk_fuse_act_root(struct pk_graph *graph, struct pk_node *root, struct pk_err *err)
{
	struct pk_act_match match;
	if (!pk_act_match(root, &match))
		return 0;
	struct pk_node *unary = pk_rewrite_new_unary(graph, match.fn, match.x, root, err);
	if (!unary)
		return -ENOMEM;
	pk_node_set_float(unary, PK_ATTR_ALPHA, match.alpha);
	pk_node_set_float(unary, PK_ATTR_BETA, match.beta);
	int r = pk_rewrite_replace(graph, root->outputs[0], unary->outputs[0], unary);
	return r < 0 ? r : 1;
}

int pk_pass_fuse_act(struct pk_graph *graph, struct pk_pass_ctx *ctx)
{
	int n = 0;
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		int r = node->op == PK_OP_BINARY ? pk_fuse_act_root(graph, node, ctx->err) : 0;
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}
