// SPDX-License-Identifier: Apache-2.0
// The table of attribute rules.
#include "engine/ir/attr_rule.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

enum pk_count {
	PK_COUNT_ONE,
	PK_COUNT_SPATIAL,   // rank - 2
	PK_COUNT_SPATIAL_2, // begins and ends
	PK_COUNT_RANK,
	PK_COUNT_RANK_2,
	PK_COUNT_FREE,
};

enum pk_fill {
	PK_FILL_SAME, // every item is `neutral`
	PK_FILL_IOTA, // 0, 1, 2, …
	PK_FILL_UNIT, // first half 0, second half 1
};

struct pk_attr_rule {
	enum pk_count count;
	enum pk_fill fill;
	double neutral;
	int64_t min, max; // of integers
};

#define PK_MAX_STEP PK_MAX_ELEMENTS

// Words and functions are checked by their own tables, so their range is left open here.
static const struct pk_attr_rule pk_attr_rules[PK_N_ATTRS] = {
	[PK_ATTR_STRIDES] = {PK_COUNT_SPATIAL, PK_FILL_SAME, 1, 1, PK_MAX_STEP},
	[PK_ATTR_DILATIONS] = {PK_COUNT_SPATIAL, PK_FILL_SAME, 1, 1, PK_MAX_STEP},
	[PK_ATTR_PADS] = {PK_COUNT_SPATIAL_2, PK_FILL_SAME, 0, 0, PK_MAX_STEP},
	[PK_ATTR_OUTPUT_PADDING] = {PK_COUNT_SPATIAL, PK_FILL_SAME, 0, 0, PK_MAX_STEP},
	[PK_ATTR_KERNEL] = {PK_COUNT_SPATIAL, PK_FILL_SAME, 1, 1, PK_MAX_STEP},
	[PK_ATTR_GROUP] = {PK_COUNT_ONE, PK_FILL_SAME, 1, 1, PK_MAX_STEP},
	[PK_ATTR_ACT] = {PK_COUNT_ONE, PK_FILL_SAME, PK_FN_NONE, INT64_MIN, INT64_MAX},
	[PK_ATTR_ALPHA] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 0},
	[PK_ATTR_BETA] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 0},
	[PK_ATTR_RESIDUAL] = {PK_COUNT_ONE, PK_FILL_SAME, PK_RESIDUAL_NONE, INT64_MIN, INT64_MAX},
	[PK_ATTR_FN] = {PK_COUNT_ONE, PK_FILL_SAME, PK_FN_NONE, INT64_MIN, INT64_MAX},
	[PK_ATTR_AXIS] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, PK_MAX_RANK - 1},
	[PK_ATTR_AXES] = {PK_COUNT_FREE, PK_FILL_SAME, 0, 0, PK_MAX_RANK - 1},
	[PK_ATTR_KEEPDIMS] = {PK_COUNT_ONE, PK_FILL_SAME, 1, 0, 1},
	[PK_ATTR_PERM] = {PK_COUNT_RANK, PK_FILL_IOTA, 0, 0, PK_MAX_RANK - 1},
	[PK_ATTR_STARTS] = {PK_COUNT_RANK, PK_FILL_SAME, 0, 0, PK_MAX_STEP},
	[PK_ATTR_STEPS] = {PK_COUNT_RANK, PK_FILL_SAME, 1, -PK_MAX_STEP, PK_MAX_STEP},
	[PK_ATTR_MODE] = {PK_COUNT_ONE, PK_FILL_SAME, PK_MODE_CONSTANT, INT64_MIN, INT64_MAX},
	[PK_ATTR_COORD] = {PK_COUNT_ONE, PK_FILL_SAME, PK_COORD_HALF_PIXEL, INT64_MIN, INT64_MAX},
	[PK_ATTR_NEAREST] = {PK_COUNT_ONE, PK_FILL_SAME, PK_NEAREST_ROUND_PREFER_FLOOR, INT64_MIN,
		INT64_MAX},
	[PK_ATTR_SCALES] = {PK_COUNT_RANK, PK_FILL_SAME, 1, 0, 0},
	[PK_ATTR_ROI] = {PK_COUNT_RANK_2, PK_FILL_UNIT, 0, 0, 0},
	[PK_ATTR_CUBIC] = {PK_COUNT_ONE, PK_FILL_SAME, -0.75, 0, 0},
	[PK_ATTR_EXCLUDE_OUTSIDE] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_ANTIALIAS] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_VALUE] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 0},
	[PK_ATTR_COUNT_PAD] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_TRANS_A] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_TRANS_B] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_EPSILON] = {PK_COUNT_ONE, PK_FILL_SAME, 1e-5, 0, 0},
	[PK_ATTR_TO] = {PK_COUNT_ONE, PK_FILL_SAME, PK_DTYPE_NONE, INT64_MIN, INT64_MAX},
	[PK_ATTR_K] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, PK_MAX_ELEMENTS},
	[PK_ATTR_LARGEST] = {PK_COUNT_ONE, PK_FILL_SAME, 1, 0, 1},
	[PK_ATTR_BLOCK] = {PK_COUNT_ONE, PK_FILL_SAME, 1, 1, PK_MAX_STEP},
	[PK_ATTR_SELECT_LAST] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_BATCH_DIMS] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, PK_MAX_RANK - 1},
	[PK_ATTR_PADDING] = {PK_COUNT_ONE, PK_FILL_SAME, PK_PADDING_ZEROS, INT64_MIN, INT64_MAX},
	[PK_ATTR_ALIGN_CORNERS] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_SAMPLING] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1024},
	[PK_ATTR_SPATIAL_SCALE] = {PK_COUNT_ONE, PK_FILL_SAME, 1, 0, 0},
	[PK_ATTR_EXCLUSIVE] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
	[PK_ATTR_REVERSE] = {PK_COUNT_ONE, PK_FILL_SAME, 0, 0, 1},
};

// Where an operator differs from the row above.
struct pk_attr_exception {
	enum pk_op op;
	enum pk_attr_id id;
	struct pk_attr_rule rule;
};
static const struct pk_attr_exception pk_attr_exceptions[] = {
	{PK_OP_PAD, PK_ATTR_PADS, {PK_COUNT_RANK_2, PK_FILL_SAME, 0, -PK_MAX_STEP, PK_MAX_STEP}},
	{PK_OP_GEMM, PK_ATTR_ALPHA, {PK_COUNT_ONE, PK_FILL_SAME, 1, 0, 0}},
	{PK_OP_GEMM, PK_ATTR_BETA, {PK_COUNT_ONE, PK_FILL_SAME, 1, 0, 0}},
	{PK_OP_RESIZE, PK_ATTR_MODE,
		{PK_COUNT_ONE, PK_FILL_SAME, PK_MODE_NEAREST, INT64_MIN, INT64_MAX}},
	{PK_OP_GRID_SAMPLE, PK_ATTR_MODE,
		{PK_COUNT_ONE, PK_FILL_SAME, PK_MODE_LINEAR, INT64_MIN, INT64_MAX}},
	{PK_OP_DEPTH_TO_SPACE, PK_ATTR_MODE,
		{PK_COUNT_ONE, PK_FILL_SAME, PK_MODE_DCR, INT64_MIN, INT64_MAX}},
};

static const struct pk_attr_rule *pk_attr_rule_of(enum pk_op op, enum pk_attr_id id)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(pk_attr_exceptions); i++)
		if (pk_attr_exceptions[i].op == op && pk_attr_exceptions[i].id == id)
			return &pk_attr_exceptions[i].rule;
	return &pk_attr_rules[id];
}

static int pk_attr_rule_items(const struct pk_node *node, enum pk_count count)
{
	const struct pk_value *x = node->n_inputs > 0 ? node->inputs[0] : NULL;
	int rank = x ? PK_MIN(PK_MAX(x->shape.rank, 0), PK_MAX_RANK) : 0;
	int spatial = PK_MAX(rank - 2, 0);
	const int items[] = {
		[PK_COUNT_ONE] = 1,
		[PK_COUNT_SPATIAL] = spatial,
		[PK_COUNT_SPATIAL_2] = 2 * spatial,
		[PK_COUNT_RANK] = rank,
		[PK_COUNT_RANK_2] = 2 * rank,
		[PK_COUNT_FREE] = -1,
	};
	return items[count];
}

bool pk_attr_rule_is_float(enum pk_attr_id id)
{
	enum pk_attr_kind kind = pk_attr_kind(id);
	return kind == PK_ATTR_KIND_FLOAT || kind == PK_ATTR_KIND_FLOATS;
}

void pk_attr_rule_neutral(const struct pk_node *node, enum pk_attr_id id, struct pk_attr_value *out)
{
	const struct pk_attr_rule *rule = pk_attr_rule_of(node->op, id);
	memset(out, 0, sizeof(*out));
	out->n = PK_MAX(pk_attr_rule_items(node, rule->count), 0);
	for (int i = 0; i < out->n; i++) {
		double v = rule->neutral;
		if (rule->fill == PK_FILL_IOTA)
			v = i;
		else if (rule->fill == PK_FILL_UNIT)
			v = i >= out->n / 2;
		if (pk_attr_rule_is_float(id))
			out->f[i] = v;
		else
			out->i[i] = (int64_t)v;
	}
}

static int pk_attr_check_item(enum pk_attr_id id, const struct pk_attr_rule *rule,
	const struct pk_attr_value *value, int item, struct pk_err *err)
{
	const char *name = pk_attr_name(id);
	if (pk_attr_rule_is_float(id))
		return 0;
	int64_t v = value->i[item];
	if (pk_attr_kind(id) == PK_ATTR_KIND_FN && (v < 0 || v >= PK_N_FNS))
		return pk_fail(err, -EINVAL, "%s: %lld is no function", name, (long long)v);
	if (pk_attr_kind(id) == PK_ATTR_KIND_ENUM && !pk_enum_text(id, v))
		return pk_fail(err, -EINVAL, "%s: %lld is none of its words", name, (long long)v);
	if (v < rule->min || v > rule->max)
		return pk_fail(err, -EINVAL, "%s: %lld is not in %lld..%lld", name, (long long)v,
			(long long)rule->min, (long long)rule->max);
	return 0;
}

int pk_attr_rule_check(const struct pk_node *node, enum pk_attr_id id,
	const struct pk_attr_value *value, struct pk_err *err)
{
	const struct pk_attr_rule *rule = pk_attr_rule_of(node->op, id);
	int want = pk_attr_rule_items(node, rule->count);
	if (value->n < 0 || value->n > PK_ATTR_MAX_ITEMS)
		return pk_fail(err, -EINVAL, "%s: %d items", pk_attr_name(id), value->n);
	if (want >= 0 && value->n != want)
		return pk_fail(
			err, -EINVAL, "%s: %d items, %d needed", pk_attr_name(id), value->n, want);
	for (int i = 0; i < value->n; i++) {
		int r = pk_attr_check_item(id, rule, value, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}
