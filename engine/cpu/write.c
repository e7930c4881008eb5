// SPDX-License-Identifier: Apache-2.0
// Writes the sections of a cpu engine.
#include "engine/cpu/write.h"

#include <string.h>

#include "engine/compile/memory_plan.h"
#include "engine/compile/weights.h"
#include "engine/cpu/exec.h"
#include "engine/cpu/kernel.h"

#define MAX_PLAN_BYTES (64u << 20)

static int write_memory_plan(struct pk_plan_writer *writer, struct pk_err *err)
{
	// Planned on the graph as it will be loaded: value ids are those of the text.
	pk_auto(pk_graph) graph = NULL;
	struct pk_memory_plan plan;
	int r = pk_weights_reload(writer, &graph, err);
	if (r == 0)
		r = pk_memory_plan_make(graph, &pk_cpu_memory_rules, &plan, err);
	if (r < 0)
		return r;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_PLAN_BYTES);
	r = pk_memory_plan_write(&plan, &bytes);
	pk_memory_plan_finish(&plan);
	if (r == 0)
		r = pk_plan_writer_add(writer, PK_SECTION_MEMPLAN, bytes.data, bytes.len);
	return r < 0 ? pk_fail(err, r, "memory plan: %s", strerror(-r)) : 0;
}

int pk_cpu_write(const struct pk_graph *graph, struct pk_plan_writer *writer, struct pk_err *err)
{
	int r = pk_weights_write(graph, PK_CPU_ALIGN, writer, err);
	return r < 0 ? r : write_memory_plan(writer, err);
}
