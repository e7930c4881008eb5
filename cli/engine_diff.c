// SPDX-License-Identifier: Apache-2.0
// picketctl engine diff: key members, sizes and layers in which two engine files differ. Works on
// files of other machines too: they are only read.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/print.h"
#include "engine/plan/plan.h"

#define MAX_SECTION_BYTES (64u << 20)
#define MAX_DEPTH         6

static const char diff_usage[] =
	"usage: picketctl engine diff [--json] A.engine B.engine\n\n"
	"Key members, section sizes and layers that differ. Exit code 0 when both could be\n"
	"read.\n";

static int read_json(const struct pk_plan *plan, enum pk_section type, const char *what,
	json_t **out, struct pk_err *err)
{
	struct pk_plan_section section = pk_plan_section(plan, type);
	if (!section.data || section.size > MAX_SECTION_BYTES)
		return pk_fail(err, -EBADMSG, "%s: absent or too large", what);
	return pk_json_parse(section.data, section.size, what, out, err);
}

static char *as_text(const json_t *json)
{
	if (!json)
		return strdup("absent");
	const char *text = json_string_value(json);
	return text ? strdup(text) : json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void add_difference(json_t *list, const char *name, const json_t *a, const json_t *b)
{
	pk_auto_free char *text_a = as_text(a);
	pk_auto_free char *text_b = as_text(b);
	json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "a",
					    text_a ? text_a : "", "b", text_b ? text_b : ""));
}

// Members by path, "options.opt_level"; objects are gone into, all else is compared whole.
static void diff_members(
	json_t *list, const char *path, const json_t *a, const json_t *b, int depth)
{
	const char *key;
	json_t *value;
	if (!json_is_object(a) || !json_is_object(b) || depth == MAX_DEPTH) {
		if (!(a && b && json_equal(a, b)))
			add_difference(list, path, a, b);
		return;
	}
	pk_auto_json all = json_copy((json_t *)(uintptr_t)a);
	json_object_update(all, (json_t *)(uintptr_t)b);
	json_object_foreach (all, key, value) {
		char below[256];
		snprintf(below, sizeof(below), "%s%s%s", path, path[0] ? "." : "", key);
		diff_members(
			list, below, json_object_get(a, key), json_object_get(b, key), depth + 1);
	}
}

static void diff_sizes(json_t *list, const struct pk_plan *a, const struct pk_plan *b)
{
	static const struct {
		enum pk_section type;
		const char *name;
	} sections[] = {
		{PK_SECTION_GRAPH, "graph"},
		{PK_SECTION_WEIGHTS, "weights"},
		{PK_SECTION_MEMPLAN, "memory plan"},
		{PK_SECTION_KERNELS, "kernels"},
		{PK_SECTION_CARD, "card"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(sections); i++) {
		size_t x = pk_plan_section(a, sections[i].type).size;
		size_t y = pk_plan_section(b, sections[i].type).size;
		pk_auto_json jx = json_integer((json_int_t)x);
		pk_auto_json jy = json_integer((json_int_t)y);
		if (x != y)
			add_difference(list, sections[i].name, jx, jy);
	}
}

// {name: layer}; a name that stands twice keeps its first layer under it.
static json_t *by_name(const json_t *layers)
{
	json_t *named = json_object();
	size_t i;
	json_t *layer;
	json_array_foreach (layers, i, layer) {
		const char *name = pk_json_text(layer, "name");
		char numbered[512];
		snprintf(numbered, sizeof(numbered), "%s", name);
		for (int k = 2; json_object_get(named, numbered) && k < 100; k++)
			snprintf(numbered, sizeof(numbered), "%.480s#%d", name, k);
		json_object_set(named, numbered, layer);
	}
	return named;
}

static void diff_layers(json_t *list, const json_t *layers_a, const json_t *layers_b)
{
	pk_auto_json a = by_name(layers_a);
	pk_auto_json b = by_name(layers_b);
	const char *name;
	json_t *layer;
	json_object_foreach (a, name, layer) {
		const json_t *other = json_object_get(b, name);
		if (!other)
			add_difference(list, name, json_object_get(layer, "op"), NULL);
		else
			diff_members(list, name, layer, other, 0);
	}
	json_object_foreach (b, name, layer) {
		if (!json_object_get(a, name))
			add_difference(list, name, NULL, json_object_get(layer, "op"));
	}
}

static void print_part(const char *what, const json_t *list)
{
	const char *const headings[] = {what, "a", "b"};
	struct pk_table table = {.headings = headings, .n_columns = PK_ARRAY_LEN(headings)};
	size_t i;
	json_t *row;
	if (json_array_size(list) == 0)
		return;
	json_array_foreach (list, i, row) {
		pk_table_add(&table, "%.80s", pk_json_text(row, "name"));
		pk_table_add(&table, "%.80s", pk_json_text(row, "a"));
		pk_table_add(&table, "%.80s", pk_json_text(row, "b"));
	}
	pk_table_print(&table);
	pk_table_finish(&table);
	putchar('\n');
}

struct side {
	struct pk_plan *plan;
	json_t *key, *layers;
};

static void side_finish(struct side *side)
{
	pk_plan_close(side->plan);
	json_decref(side->key);
	json_decref(side->layers);
}

static int side_open(struct side *side, const char *path, struct pk_err *err)
{
	enum pk_mismatch mismatch;
	int r = pk_plan_open(path, &side->plan, &mismatch, err);
	if (r == 0)
		r = read_json(side->plan, PK_SECTION_KEY, "key", &side->key, err);
	if (r == 0)
		r = read_json(side->plan, PK_SECTION_LAYERS, "layers", &side->layers, err);
	if (r < 0)
		pk_err_prefix(err, "%s", path);
	return r;
}

static int diff(const struct pk_engine_args *args, struct pk_err *err)
{
	pk_cleanup(side_finish) struct side a = {0};
	pk_cleanup(side_finish) struct side b = {0};
	int r = side_open(&a, args->path, err);
	if (r == 0)
		r = side_open(&b, args->other_path, err);
	if (r < 0)
		return r;
	pk_auto_json found = json_pack("{s:[], s:[], s:[]}", "key", "bytes", "layers");
	diff_members(json_object_get(found, "key"), "", a.key, b.key, 0);
	diff_sizes(json_object_get(found, "bytes"), a.plan, b.plan);
	diff_layers(json_object_get(found, "layers"), a.layers, b.layers);
	if (args->json) {
		pk_engine_print_json(json_incref(found));
		return 0;
	}
	print_part("key", json_object_get(found, "key"));
	print_part("bytes", json_object_get(found, "bytes"));
	print_part("layer", json_object_get(found, "layers"));
	printf("%zu key members, %zu sizes, %zu layers differ\n",
		json_array_size(json_object_get(found, "key")),
		json_array_size(json_object_get(found, "bytes")),
		json_array_size(json_object_get(found, "layers")));
	return 0;
}

int pk_engine_diff_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse_files(&args, argc, argv, 2, diff_usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	int r = diff(&args, &err);
	return pk_engine_verb_end(&args, &err, r);
}
