// SPDX-License-Identifier: Apache-2.0
// One bounded YAML document as a tree of located nodes. No anchors, tags or duplicate keys.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "config/problem.h"

#define PK_YAML_MAX_BYTES (1024u * 1024u)
#define PK_YAML_MAX_DEPTH 32
#define PK_YAML_MAX_NODES 100000

enum pk_yaml_kind {
	PK_YAML_SCALAR,
	PK_YAML_LIST,
	PK_YAML_MAP,
	PK_YAML_BAD, // a problem was noted for it already; readers pass over it
};

// Where text came from; outlives the nodes.
struct pk_yaml_source {
	const char *name; // as the user called the file
	const char *dir;  // what relative paths inside are relative to
};

struct pk_yaml_node {
	enum pk_yaml_kind kind;
	const struct pk_yaml_source *source;
	int line, column;           // from 1; of the value
	bool plain;                 // scalar: unquoted, so it may mean null, true or a number
	const char *text;           // scalar, UTF-8, no control character but tab and line feed
	const char *key;            // its key when it stands in a map, else NULL
	int key_line, key_column;   // of the key; of the value where there is no key
	struct pk_yaml_node *first; // list, map: children in order of the text
	struct pk_yaml_node *last;
	struct pk_yaml_node *next; // sibling
	size_t n;                  // children
};

// Parses n bytes. Nodes live in arena; source is borrowed as long. 0 and *root (an empty map node
// for an empty document); -EINVAL when problems were added (*root may then be NULL or a tree of
// what could be read, with BAD nodes); -ENOMEM. Any thread.
int pk_yaml_parse(struct pk_arena *arena, const char *text, size_t n,
	const struct pk_yaml_source *source, struct pk_yaml_node **root,
	struct pk_problems *problems) pk_must_check;

// The child of a map under key, NULL when there is none or map is no map (NULL is fine).
struct pk_yaml_node *pk_yaml_get(const struct pk_yaml_node *map, const char *key);
// A plain scalar that stands for nothing: empty, ~ or null.
bool pk_yaml_is_null(const struct pk_yaml_node *node);
// "text", "a list", …: for messages.
const char *pk_yaml_kind_name(const struct pk_yaml_node *node);

// Lays `over` onto `base` (both maps): maps merge key by key, anything else replaces, and a null
// leaves a map as it is. Nodes of `over` are moved into base.
void pk_yaml_merge(struct pk_yaml_node *base, struct pk_yaml_node *over);

// Adds a problem located at the node's value, or at its key where it has one.
void pk_yaml_problem(struct pk_problems *problems, const struct pk_yaml_node *node, const char *fmt,
	...) pk_printf(3, 4);
void pk_yaml_key_problem(struct pk_problems *problems, const struct pk_yaml_node *node,
	const char *fmt, ...) pk_printf(3, 4);
