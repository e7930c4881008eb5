// SPDX-License-Identifier: Apache-2.0
// The names of one graph body and what each stands for.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/checked.h"
#include "base/err.h"
#include "engine/ir/graph.h"
#include "engine/onnx/model.h"

// Sorted, so that no prepared set of names makes look-ups slow.
struct pk_name {
	struct pk_onnx_str text;
	const struct pk_onnx_tensor *initializer; // or NULL
	const struct pk_onnx_value_info *input;   // or NULL; not used where initializer is set
	int node_idx;                             // producer, -1: none
	struct pk_value *value;                   // once imported
	bool poisoned; // its producer is unsupported and stands in the report
};

struct pk_names {
	struct pk_name *items;
	size_t n;
	const struct pk_names *outer; // scope around an If branch, or NULL
};

int pk_onnx_str_compare(struct pk_onnx_str a, struct pk_onnx_str b);
bool pk_onnx_str_is(struct pk_onnx_str str, const char *text);
// As a C string that may stand in the IR and in messages: control characters become '?'. NULL: no
// memory.
char *pk_onnx_str_dup(struct pk_arena *arena, struct pk_onnx_str str) pk_must_check;
// For "%.*s"; precision is bounded.
#define PK_STR_ARG(s) (int)PK_MIN((s).n, (size_t)200), ((s).n ? (s).data : "")

// Collects inputs, initialisers and node outputs of body. -EINVAL when a name is defined twice.
int pk_names_build(struct pk_names *names, const struct pk_onnx_graph *body, struct pk_arena *arena,
	struct pk_err *err) pk_must_check;
// In this scope only; NULL when it is not defined here.
struct pk_name *pk_names_find(const struct pk_names *names, struct pk_onnx_str text);
// In this scope or one around it.
struct pk_name *pk_names_find_outer(const struct pk_names *names, struct pk_onnx_str text);
