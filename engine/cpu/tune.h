// SPDX-License-Identifier: Apache-2.0
// Chooses a kernel for every node and packs its weights.
#pragma once

#include "engine/cpu/kernel.h"
#include "engine/runtime.h"

#define PK_CPU_MAX_TACTICS 16

// The rows that may run the node, in the table's order; the reference only when there is no other.
// Their number.
int pk_cpu_tactics(
	const struct pk_node *node, const struct pk_cpu_kernel *tactics[PK_CPU_MAX_TACTICS]);
// Sets the node's kernel and packs its weights, in the graph's arena. -ENOMEM.
int pk_cpu_use(struct pk_graph *graph, struct pk_node *node, const struct pk_cpu_kernel *kernel,
	struct pk_err *err) pk_must_check;

// Sets node->kernel and node->packed of every node of build->graph; fills the results of build.
// -ENOTSUP names the first node that no kernel supports.
int pk_cpu_tune(struct pk_runtime_build *build, struct pk_err *err) pk_must_check;
