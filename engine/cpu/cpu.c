// SPDX-License-Identifier: Apache-2.0
// The cpu runtime's row: what this machine is, and how an engine is put together.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/compile/timing_cache.h"
#include "engine/cpu/confirm.h"
#include "engine/cpu/exec.h"
#include "engine/cpu/kernel.h"
#include "engine/cpu/kernels/block.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/tune.h"
#include "engine/cpu/write.h"
#include "engine/isa.h"
#include "engine/runtime.h"

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "generic"
#endif

// The value of the first line of /proc/cpuinfo that starts with one of the names, or "unknown".
static void read_core_type(char *out, size_t size)
{
	static const char *const names[] = {"model name", "CPU part"};
	char line[512];
	snprintf(out, size, "unknown");
	FILE *file = fopen("/proc/cpuinfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		for (size_t i = 0; colon && i < PK_ARRAY_LEN(names); i++) {
			if (strncmp(line, names[i], strlen(names[i])) != 0)
				continue;
			colon[strcspn(colon, "\n")] = '\0';
			snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
			goto out;
		}
	}
out:
	if (file)
		fclose(file);
}

static int cpu_probe(struct pk_target *target, struct pk_err *err)
{
	char core[128];
	read_core_type(core, sizeof(core));
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, sizeof(target->device));
	pk_buf_str(&text, "{\"core\":");
	pk_buf_json_string(&text, core);
	pk_buf_printf(&text, ",\"isa\":\"" ARCHITECTURE " %s\"}", pk_isa_name(pk_isa()));
	if (pk_buf_error(&text) < 0)
		return pk_fail(err, -ENODEV, "cpu: core type is too long a text");
	snprintf(target->identity, sizeof(target->identity), "%s", pk_buf_cstr(&text));
	snprintf(target->device, sizeof(target->device), "%s", pk_buf_cstr(&text));
	return 0;
}

// Constants that only a packing kernel reads are not stored a second time.
static void elide_packed(struct pk_graph *graph)
{
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		struct pk_value *value = node->n_inputs > 1 ? node->inputs[1] : NULL;
		if (node->packed && value && value->data && value->n_uses == 1 && !value->is_output)
			value->elided = true;
	}
}

static int cpu_build(
	struct pk_runtime_build *build, struct pk_plan_writer *writer, struct pk_err *err)
{
	int r = pk_cpu_layout(build->graph, pk_block_preferred(), err);
	if (r == 0)
		r = pk_cpu_tune(build, err);
	if (r == 0 && build->opt_level > 1)
		r = pk_cpu_confirm(build, err);
	(void)pk_timing_cache_save(build->timing, NULL);
	if (r < 0)
		return r;
	elide_packed(build->graph);
	return pk_cpu_write(build->graph, writer, err);
}

const struct pk_runtime_ops pk_cpu_runtime = {
	.abi = PK_RUNTIME_ABI,
	.name = "cpu",
	.probe = cpu_probe,
	.build = cpu_build,
	.load = pk_cpu_load,
	.describe = pk_cpu_describe,
	.context_create = pk_cpu_context_create,
	.input = pk_cpu_input,
	.submit = pk_cpu_submit,
	.wait = pk_cpu_wait,
	.output = pk_cpu_output,
	.profile = pk_cpu_profile,
	.set_poison = pk_cpu_set_poison,
	.set_pool = pk_cpu_set_pool,
	.context_destroy = pk_cpu_context_destroy,
	.unload = pk_cpu_unload,
};
