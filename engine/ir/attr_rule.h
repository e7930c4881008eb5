// SPDX-License-Identifier: Apache-2.0
// What each attribute holds: how many items, their range, and the value that means "nothing
// special".
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"

// The neutral value: what a new node has and what the text form leaves out.
void pk_attr_rule_neutral(
	const struct pk_node *node, enum pk_attr_id id, struct pk_attr_value *out);
// -EINVAL when value cannot be id of this node: count, range, unknown word or function.
int pk_attr_rule_check(const struct pk_node *node, enum pk_attr_id id,
	const struct pk_attr_value *value, struct pk_err *err) pk_must_check;
// True for FLOAT and FLOATS: pk_attr_value.f is the live member, else .i.
bool pk_attr_rule_is_float(enum pk_attr_id id);
