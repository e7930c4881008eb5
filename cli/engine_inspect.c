// SPDX-License-Identifier: Apache-2.0
// picketctl engine inspect and bench: what an engine is made of and where its time goes.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"

static void inspect_usage(FILE *out)
{
	fputs("usage: picketctl engine inspect [--json] FILE.engine|MODEL.onnx\n", out);
}

static json_t *bindings_json(const struct pk_binding *bindings, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		char shape[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&bindings[i].shape, shape);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "name", bindings[i].name, "dtype",
				      pk_dtype_name(bindings[i].dtype), "shape", shape));
	}
	return list;
}

static json_t *load_json(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	return json ? json : json_null();
}

static json_t *info_json(const struct pk_engine_info *info)
{
	char key[PK_DIGEST_TEXT];
	pk_digest_format(&info->key, key);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "runtime",
		info->runtime, "key_digest", key, "key", load_json(info->key_json), "inputs",
		bindings_json(info->inputs, info->n_inputs), "outputs",
		bindings_json(info->outputs, info->n_outputs), "layers",
		load_json(info->layers_json), "weight_bytes", (json_int_t)info->weight_bytes,
		"activation_bytes", (json_int_t)info->activation_bytes, "lower_bound_bytes",
		(json_int_t)info->lower_bound_bytes, "card_bytes", (json_int_t)info->card_size);
}

static void print_json(json_t *json)
{
	pk_auto_json owned = json;
	pk_auto_free char *text = owned ? json_dumps(owned, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
	puts(text ? text : "{}");
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static void print_bindings(const char *what, const struct pk_binding *bindings, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char shape[PK_SHAPE_TEXT_MAX];
		pk_shape_format(&bindings[i].shape, shape);
		printf("  %-11s %s: %s%s\n", what, bindings[i].name,
			pk_dtype_name(bindings[i].dtype), shape);
	}
}

static void print_info(const char *path, const struct pk_engine_info *info)
{
	char key[PK_DIGEST_TEXT];
	pk_digest_format(&info->key, key);
	printf("%s  runtime %s\n  key         %s\n", path, info->runtime, key);
	print_bindings("input", info->inputs, info->n_inputs);
	print_bindings("output", info->outputs, info->n_outputs);
	printf("  memory      weights %.2f MiB, activations %.2f MiB (lower bound %.2f)\n\n",
		(double)info->weight_bytes / 1048576, (double)info->activation_bytes / 1048576,
		(double)info->lower_bound_bytes / 1048576);
	pk_auto_json layers = load_json(info->layers_json);
	size_t i;
	json_t *layer;
	json_array_foreach (layers, i, layer) {
		printf("  %3zu  %-14s %-22s %s%-20s %.60s\n", i, text_of(layer, "op"),
			text_of(layer, "kernel"), text_of(layer, "dtype"), text_of(layer, "shape"),
			text_of(layer, "name"));
	}
}

int pk_engine_inspect_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, inspect_usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	pk_auto(pk_engine) engine = NULL;
	int r = pk_engine_args_open(&args, &engine, &err);
	if (r < 0) {
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
		return PK_EXIT_FAIL;
	}
	if (args.json)
		print_json(info_json(pk_engine_info(engine)));
	else
		print_info(args.path, pk_engine_info(engine));
	return PK_EXIT_OK;
}

static void bench_usage(FILE *out)
{
	fputs("usage: picketctl engine bench [--seconds N] [--json] FILE.engine|MODEL.onnx\n\n"
	      "Runs the engine on zeros, one run at a time; then times each layer.\n",
		out);
}

#define MAX_RUNS     100000
#define PROFILE_RUNS 20
#define MAX_LAYERS   10000

struct bench {
	int64_t *ns; // sorted after measuring
	int n_runs;
	int64_t *layer_ns; // minimum over PROFILE_RUNS
	int n_layers;
};

static int compare_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return a < b ? -1 : a > b;
}

static int run_once(struct pk_context *context, struct pk_err *err)
{
	int r = pk_context_submit(context, 0, err);
	return r < 0 ? r : pk_context_wait(context, 0, err);
}

static int measure(
	struct bench *bench, struct pk_context *context, double seconds, struct pk_err *err)
{
	int64_t end = pk_now_ns() + (int64_t)(seconds * (double)PK_NS_PER_S);
	int r = run_once(context, err);
	while (r == 0 && bench->n_runs < MAX_RUNS && (bench->n_runs < 3 || pk_now_ns() < end)) {
		int64_t start = pk_now_ns();
		r = run_once(context, err);
		bench->ns[bench->n_runs++] = pk_now_ns() - start;
	}
	qsort(bench->ns, (size_t)bench->n_runs, sizeof(bench->ns[0]), compare_ns);
	return r;
}

static int profile(struct bench *bench, struct pk_context *context, struct pk_err *err)
{
	pk_auto_free int64_t *once = calloc((size_t)bench->n_layers + 1, sizeof(*once));
	if (!once)
		return pk_fail(err, -ENOMEM, "out of memory");
	for (int run = 0; run < PROFILE_RUNS; run++) {
		int r = pk_context_profile(context, 0, once, bench->n_layers, err);
		if (r < 0)
			return r;
		for (int i = 0; i < bench->n_layers; i++)
			bench->layer_ns[i] =
				run == 0 ? once[i] : PK_MIN(bench->layer_ns[i], once[i]);
	}
	return 0;
}

static double at_quantile_ms(const struct bench *bench, double q)
{
	int i = (int)(q * (bench->n_runs - 1) + 0.5);
	return (double)bench->ns[i] / (double)PK_NS_PER_MS;
}

static void print_bench(const struct bench *bench, json_t *layers, bool json)
{
	json_t *rows = json_array();
	int64_t total = 0;
	for (int i = 0; i < bench->n_layers; i++)
		total += bench->layer_ns[i];
	for (int i = 0; i < bench->n_layers; i++) {
		const json_t *layer = json_array_get(layers, (size_t)i);
		double us = (double)bench->layer_ns[i] / (double)PK_NS_PER_US;
		double share = total ? 100.0 * (double)bench->layer_ns[i] / (double)total : 0;
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:f}", "name", text_of(layer, "name"),
				      "op", text_of(layer, "op"), "kernel",
				      text_of(layer, "kernel"), "us", us));
		if (!json && share >= 1)
			printf("  %5.1f %%  %9.1f us  %-14s %-20s %.60s\n", share, us,
				text_of(layer, "op"), text_of(layer, "kernel"),
				text_of(layer, "name"));
	}
	double p50 = at_quantile_ms(bench, 0.5), p90 = at_quantile_ms(bench, 0.9);
	if (json)
		print_json(json_pack("{s:i, s:f, s:f, s:f, s:o}", "runs", bench->n_runs, "p50_ms",
			p50, "p90_ms", p90, "min_ms", at_quantile_ms(bench, 0), "layers",
			json_incref(rows)));
	else
		printf("%d runs: p50 %.3f ms, p90 %.3f ms, min %.3f ms (layers below 1 %% not "
		       "listed)\n",
			bench->n_runs, p50, p90, at_quantile_ms(bench, 0));
	json_decref(rows);
}

static int bench(struct pk_engine_args *args, struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	int r = pk_engine_args_open(args, &engine, err);
	if (r < 0)
		return r;
	pk_auto_json layers = load_json(pk_engine_info(engine)->layers_json);
	int n_layers = (int)PK_MIN(json_array_size(layers), (size_t)MAX_LAYERS);
	pk_auto_free int64_t *ns = calloc(MAX_RUNS, sizeof(*ns));
	pk_auto_free int64_t *layer_ns = calloc((size_t)n_layers + 1, sizeof(*layer_ns));
	if (!ns || !layer_ns)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_auto(pk_context) context = NULL; // goes before the engine
	struct bench found = {.ns = ns, .layer_ns = layer_ns, .n_layers = n_layers};
	r = pk_context_create(engine, 1, &context, err);
	if (r == 0)
		r = measure(&found, context, args->seconds, err);
	if (r == 0)
		r = profile(&found, context, err);
	if (r == 0)
		print_bench(&found, layers, args->json);
	return r;
}

int pk_engine_bench_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, bench_usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	int r = bench(&args, &err);
	if (r < 0)
		fprintf(stderr, "picketctl: %s\n", pk_err_text(&err, r));
	return r == 0 ? PK_EXIT_OK : PK_EXIT_FAIL;
}
