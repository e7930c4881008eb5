// SPDX-License-Identifier: Apache-2.0
// The cpu runtime's row: what this machine is, and how an engine is put together.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "engine/compile/memory_plan.h"
#include "engine/cpu/exec.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/kernel.h"
#include "engine/cpu/tune.h"
#include "engine/ir/text.h"
#include "engine/runtime.h"

#define MAX_TEXT_BYTES   (64u << 20)
#define MAX_WEIGHT_BYTES (size_t)(UINT64_C(4) << 30)

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
	pk_buf_printf(&text, ",\"isa\":\"" ARCHITECTURE " %s\"}", pk_cpu_isa_name(pk_cpu_isa()));
	if (pk_buf_error(&text) < 0)
		return pk_fail(err, -ENODEV, "cpu: core type is too long a text");
	snprintf(target->identity, sizeof(target->identity), "%s", pk_buf_cstr(&text));
	snprintf(target->device, sizeof(target->device), "%s", pk_buf_cstr(&text));
	return 0;
}

// Collects constants and packed weights into one section; the same bytes are stored once.
struct weights {
	struct pk_buf bytes;
	struct {
		const void *data;
		int64_t offset;
	} * seen;
	size_t n_seen, cap_seen;
	int error;
};

static int64_t weights_offset(void *ctx, const void *data, size_t n)
{
	struct weights *weights = ctx;
	for (size_t i = 0; i < weights->n_seen; i++) {
		if (weights->seen[i].data == data)
			return weights->seen[i].offset;
	}
	size_t at = pk_align_up(weights->bytes.len, PK_CPU_ALIGN);
	void *seen = weights->seen;
	if (pk_array_grow_impl(
		    &seen, &weights->cap_seen, weights->n_seen + 1, sizeof(*weights->seen)) < 0 ||
		!pk_buf_reserve(&weights->bytes, at - weights->bytes.len) ||
		pk_buf_append(&weights->bytes, data, n) < 0) {
		weights->error = -ENOMEM;
		return 0;
	}
	weights->seen = seen;
	weights->seen[weights->n_seen].data = data;
	weights->seen[weights->n_seen++].offset = (int64_t)at;
	return (int64_t)at;
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

static int write_memory_plan(struct pk_plan_writer *writer, struct pk_err *err)
{
	// Planned on the graph as it will be loaded: value ids are those of the text.
	pk_auto(pk_graph) graph = NULL;
	struct pk_plan_section text = pk_plan_writer_section(writer, PK_SECTION_GRAPH);
	struct pk_plan_section weights = pk_plan_writer_section(writer, PK_SECTION_WEIGHTS);
	int r = pk_text_parse(
		(const char *)text.data, text.size, weights.data, weights.size, &graph, err);
	if (r < 0)
		return r;
	struct pk_memory_plan plan;
	r = pk_memory_plan_make(graph, &pk_cpu_memory_rules, &plan, err);
	if (r < 0)
		return r;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, MAX_TEXT_BYTES);
	r = pk_memory_plan_write(&plan, &bytes);
	pk_memory_plan_finish(&plan);
	if (r == 0)
		r = pk_plan_writer_add(writer, PK_SECTION_MEMPLAN, bytes.data, bytes.len);
	return r < 0 ? pk_fail(err, r, "memory plan: %s", strerror(-r)) : 0;
}

static int write_sections(struct pk_graph *graph, struct pk_plan_writer *writer,
	struct weights *weights, struct pk_buf *text, struct pk_err *err)
{
	struct pk_text_options options = {.offset_of = weights_offset, .ctx = weights};
	elide_packed(graph);
	int r = pk_text_print(graph, &options, text);
	if (r == 0)
		r = weights->error;
	if (r == 0)
		r = pk_plan_writer_add(writer, PK_SECTION_GRAPH, text->data, text->len);
	if (r == 0)
		r = pk_plan_writer_add(
			writer, PK_SECTION_WEIGHTS, weights->bytes.data, weights->bytes.len);
	if (r < 0)
		return pk_fail(err, r, "engine sections: %s", strerror(-r));
	pk_buf_finish(&weights->bytes); // the writer has them
	return write_memory_plan(writer, err);
}

static int cpu_build(
	struct pk_runtime_build *build, struct pk_plan_writer *writer, struct pk_err *err)
{
	int r = pk_cpu_tune(build, err);
	if (r < 0)
		return r;
	struct weights weights = {0};
	struct pk_buf text;
	pk_buf_init(&weights.bytes, MAX_WEIGHT_BYTES);
	pk_buf_init(&text, MAX_TEXT_BYTES);
	r = write_sections(build->graph, writer, &weights, &text, err);
	pk_buf_finish(&weights.bytes);
	pk_buf_finish(&text);
	free(weights.seen);
	return r;
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
