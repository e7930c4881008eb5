// SPDX-License-Identifier: Apache-2.0
// picketctl engine bench and profile: how long an engine takes, and which layer takes how much.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "cli/print.h"
#include "engine/compile/cost.h"
#include "engine/compile/op_key.h"

#define MAX_RUNS      100000
#define PROFILE_RUNS  20
#define MAX_KEY_BYTES 8192

static int run_once(struct pk_context *context, struct pk_err *err)
{
	int r = pk_context_submit(context, 0, err);
	return r < 0 ? r : pk_context_wait(context, 0, err);
}

static const char bench_usage[] =
	"usage: picketctl engine bench [--seconds N] [--threads N] [--json]\n"
	"                              FILE.engine|MODEL.onnx\n\n"
	"Runs the engine on zeros, one run at a time, on N threads (default: 1; 0: one per\n"
	"processor). load: from the file, or from the model with its build, to ready to "
	"run.\n";

struct bench {
	int64_t *ns; // sorted after measuring
	int n_runs;
	int64_t load_ns, load_cpu_ns;
	int64_t min_cpu_ns; // least of a run, all threads
};

static int compare_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return a < b ? -1 : a > b;
}

// Of the process: other processes' share of the machine does not count.
static int64_t cpu_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * PK_NS_PER_S + t.tv_nsec;
}

static int measure(
	struct bench *bench, struct pk_context *context, double seconds, struct pk_err *err)
{
	int64_t end = pk_now_ns() + (int64_t)(seconds * (double)PK_NS_PER_S);
	int r = run_once(context, err);
	while (r == 0 && bench->n_runs < MAX_RUNS && (bench->n_runs < 3 || pk_now_ns() < end)) {
		int64_t start = pk_now_ns(), cpu_start = cpu_now_ns();
		r = run_once(context, err);
		int64_t cpu_ns = cpu_now_ns() - cpu_start;
		bench->min_cpu_ns = bench->n_runs ? PK_MIN(bench->min_cpu_ns, cpu_ns) : cpu_ns;
		bench->ns[bench->n_runs++] = pk_now_ns() - start;
	}
	qsort(bench->ns, (size_t)bench->n_runs, sizeof(bench->ns[0]), compare_ns);
	return r;
}

static double at_quantile_ms(const struct bench *bench, double q)
{
	int i = (int)(q * (bench->n_runs - 1) + 0.5);
	return (double)bench->ns[i] / (double)PK_NS_PER_MS;
}

static void print_bench(const struct bench *bench, bool json)
{
	double p50 = at_quantile_ms(bench, 0.5), p90 = at_quantile_ms(bench, 0.9);
	double p99 = at_quantile_ms(bench, 0.99), min = at_quantile_ms(bench, 0);
	double load = (double)bench->load_ns / (double)PK_NS_PER_MS;
	if (json)
		pk_engine_print_json(json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "runs",
			bench->n_runs, "p50_ms", p50, "p90_ms", p90, "p99_ms", p99, "min_ms", min,
			"min_cpu_ms", (double)bench->min_cpu_ns / (double)PK_NS_PER_MS, "load_ms",
			load, "load_cpu_ms", (double)bench->load_cpu_ns / (double)PK_NS_PER_MS));
	else
		printf("%d runs: p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, min %.3f ms, load %.3f "
		       "ms\n",
			bench->n_runs, p50, p90, p99, min, load);
}

static int bench(struct pk_engine_args *args, struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	int64_t start = pk_now_ns(), cpu_start = cpu_now_ns();
	int r = pk_engine_args_open(args, &engine, err);
	if (r < 0)
		return r;
	pk_auto_free int64_t *ns = calloc(MAX_RUNS, sizeof(*ns));
	if (!ns)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_auto(pk_context) context = NULL; // goes before the engine
	struct bench found = {.ns = ns};
	r = pk_engine_args_context(args, engine, &context, err);
	found.load_ns = pk_now_ns() - start;
	found.load_cpu_ns = cpu_now_ns() - cpu_start;
	if (r == 0)
		r = measure(&found, context, args->seconds, err);
	if (r == 0)
		print_bench(&found, args->json);
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
	return pk_engine_verb_end(&args, &err, r);
}

static const char profile_usage[] =
	"usage: picketctl engine profile [--threads N] [--json] FILE.engine|MODEL.onnx\n\n"
	"Times each layer on zeros, best of 20 runs, slowest first. GFLOP/s and traffic are\n"
	"of the operation as such: a fused or sparse kernel may do less.\n";

struct row {
	int layer_idx;
	const struct pk_node *node;
	struct pk_cost cost;
	int64_t ns; // least over PROFILE_RUNS
};

static int compare_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->layer_idx - b->layer_idx;
}

static int time_layers(struct pk_context *context, struct row *rows, int n, struct pk_err *err)
{
	pk_auto_free int64_t *once = calloc((size_t)n + 1, sizeof(*once));
	if (!once)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = run_once(context, err);
	for (int run = 0; r == 0 && run < PROFILE_RUNS; run++) {
		r = pk_context_profile(context, 0, once, n, err);
		for (int i = 0; r == 0 && i < n; i++)
			rows[i].ns = run == 0 ? once[i] : PK_MIN(rows[i].ns, once[i]);
	}
	return r;
}

// What is done per nanosecond is also giga-things per second.
static double per_ns(int64_t what, int64_t ns)
{
	return ns > 0 ? (double)what / (double)ns : 0;
}

static json_t *row_json(const struct row *row, const json_t *layers, int64_t total_ns)
{
	const json_t *layer = json_array_get(layers, (size_t)row->layer_idx);
	pk_auto_buf struct pk_buf what;
	pk_buf_init(&what, MAX_KEY_BYTES);
	(void)pk_op_key(row->node, &what);
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:f, s:f}", "index",
		row->layer_idx, "name", pk_json_text(layer, "name"), "op",
		pk_op_info(row->node->op)->name, "what", pk_buf_cstr(&what), "kernel",
		row->node->kernel ? row->node->kernel : "", "us",
		(double)row->ns / (double)PK_NS_PER_US, "share", per_ns(row->ns, total_ns), "flops",
		(json_int_t)row->cost.flops, "bytes", (json_int_t)row->cost.bytes, "gflops",
		per_ns(row->cost.flops, row->ns), "gb_per_s", per_ns(row->cost.bytes, row->ns));
}

static void print_profile_json(
	const struct row *rows, int n, const json_t *layers, const struct row *total)
{
	json_t *list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, row_json(&rows[i], layers, total->ns));
	pk_engine_print_json(json_pack("{s:f, s:I, s:I, s:f, s:o}", "us",
		(double)total->ns / (double)PK_NS_PER_US, "flops", (json_int_t)total->cost.flops,
		"bytes", (json_int_t)total->cost.bytes, "gflops",
		per_ns(total->cost.flops, total->ns), "layers", list));
}

static void add_row(struct pk_table *table, const struct row *row, int64_t total_ns,
	const char *kernel, const char *name)
{
	char bytes[PK_SIZE_TEXT];
	pk_format_size((double)row->cost.bytes, bytes);
	pk_table_add(table, "%.1f", (double)row->ns / (double)PK_NS_PER_US);
	pk_table_add(table, "%.1f %%", 100 * per_ns(row->ns, total_ns));
	pk_table_add(table, "%.2f", per_ns(row->cost.flops, row->ns));
	pk_table_add(table, "%s", bytes);
	pk_table_add(table, "%.2f", per_ns(row->cost.bytes, row->ns));
	pk_table_add(table, "%s", row->node ? pk_op_info(row->node->op)->name : "");
	pk_table_add(table, "%s", kernel);
	pk_table_add(table, "%.60s", name);
}

static void print_profile(
	const struct row *rows, int n, const json_t *layers, const struct row *total)
{
	static const char *const headings[] = {
		"us", "share", "GFLOP/s", "traffic", "GB/s", "op", "kernel", "layer"};
	struct pk_table table = {
		.headings = headings, .n_columns = PK_ARRAY_LEN(headings), .right = 0x1f};
	for (int i = 0; i < n; i++) {
		const json_t *layer = json_array_get(layers, (size_t)rows[i].layer_idx);
		add_row(&table, &rows[i], total->ns,
			rows[i].node->kernel ? rows[i].node->kernel : "",
			pk_json_text(layer, "name"));
	}
	char all[32];
	snprintf(all, sizeof(all), "all %d layers", n);
	add_row(&table, total, total->ns, "", all);
	pk_table_print(&table);
	pk_table_finish(&table);
}

static int profile(struct pk_engine_args *args, struct pk_err *err)
{
	pk_auto(pk_engine) engine = NULL;
	int r = pk_engine_args_open(args, &engine, err), n = 0;
	if (r < 0)
		return r;
	const struct pk_graph *graph = pk_engine_graph(engine);
	pk_auto_json layers = pk_engine_json(pk_engine_info(engine)->layers_json);
	pk_auto_free struct row *rows = calloc((size_t)graph->n_nodes + 1, sizeof(*rows));
	if (!rows)
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_node *node;
	pk_graph_each_node (node, graph) {
		rows[n] = (struct row){.layer_idx = n, .node = node, .cost = pk_cost_of_node(node)};
		n++;
	}
	pk_auto(pk_context) context = NULL; // goes before the engine
	r = pk_engine_args_context(args, engine, &context, err);
	if (r == 0)
		r = time_layers(context, rows, n, err);
	if (r < 0)
		return r;
	struct row total = {0};
	pk_cost_of_graph(graph, &total.cost);
	for (int i = 0; i < n; i++)
		total.ns += rows[i].ns;
	qsort(rows, (size_t)n, sizeof(*rows), compare_rows);
	if (args->json)
		print_profile_json(rows, n, layers, &total);
	else
		print_profile(rows, n, layers, &total);
	return 0;
}

int pk_engine_profile_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, profile_usage);
	if (code >= 0)
		return code;
	struct pk_err err = {0};
	int r = profile(&args, &err);
	return pk_engine_verb_end(&args, &err, r);
}
