// SPDX-License-Identifier: Apache-2.0
// Steps that passes take on a graph; private to engine/passes.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/ir/graph.h"

// node stands for other too from now on: its name becomes "node+other", or "other+node" when first.
// Kept as it is beyond PK_REWRITE_NAME_MAX bytes. 0 or -ENOMEM.
#define PK_REWRITE_NAME_MAX 1024
int pk_rewrite_join_name(struct pk_graph *graph, struct pk_node *node, const struct pk_node *other,
	bool first) pk_must_check;

// Removes value's producer when nothing uses its outputs, then what only it used, and so on (to a
// bounded depth; dce takes the rest). Their names are put before into's; into may be NULL.
int pk_rewrite_drop_dead(struct pk_graph *graph, struct pk_value *value, struct pk_node *into)
	pk_must_check;

// Uses of old become uses of value; old's producer goes as above.
int pk_rewrite_replace(struct pk_graph *graph, struct pk_value *old, struct pk_value *value,
	struct pk_node *into) pk_must_check;

// node now computes what its sole user did too: user goes, node's output 0 takes its place. The
// output must have exactly user's type.
int pk_rewrite_absorb_user(struct pk_graph *graph, struct pk_node *node, struct pk_node *user)
	pk_must_check;

// Moves node, which stands before `before`, to right before it.
void pk_rewrite_move(struct pk_node *node, struct pk_node *before);

// A unary node in front of `before`, of the same output type as x. NULL: error in err.
struct pk_node *pk_rewrite_new_unary(struct pk_graph *graph, enum pk_fn fn, struct pk_value *x,
	struct pk_node *before, struct pk_err *err) pk_must_check;
