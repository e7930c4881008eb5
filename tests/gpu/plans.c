// SPDX-License-Identifier: Apache-2.0
// Makes a cuDNN plan for every operation graph that engines of the given models would hand to
// cuDNN, for a device that is only described. No GPU: nothing runs.
//
//   gpu-plans [--float f16|f32] [--calibration FILE] [--integer] [--kinds] [--sample K/N] [--list]
//             [--changes] DEVICE.json MODEL.onnx…
//
// --calibration: the integer graphs that this record makes of the only model. --integer: every
// convolution of one group as if calibrated. --kinds: the first graph of each kind only (core,
// steps, groups, window, types). --changes: what a changed plan of the first graph answers instead,
// one object
// {"change", "error", "expected"} a line.
//
// One JSON object a line: {"graph", "kind", "model", "node", "status", "engine", "ms", "bytes",
// "round_trip", "wrong_shape"}; status is "ok" or the reason. Equal graphs appear once.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "engine/calibrate/calibration.h"
#include "engine/calibrate/insert.h"
#include "engine/compile/compile.h"
#include "engine/cpu/eval.h"
#include "engine/cuda/cudnn/constants.h"
#include "engine/cuda/cudnn/search.h"
#include "engine/cuda/lower.h"
#include "engine/cuda/steps.h"
#include "engine/passes/pass.h"

#define MAX_GRAPHS     2000
#define MAX_TEXT       1024
#define MAX_JSON_BYTES (64u << 20)

struct item {
	char text[MAX_TEXT], kind[MAX_TEXT];
	char *model, *node;
	struct pk_cudnn_fusion fusion;
};

struct job {
	enum pk_dtype float_type;
	const char *calibration_path;
	bool integer, kinds, list, changes;
	int part, n_parts; // every n_parts-th graph from part on
	struct item *items;
	int n;
	struct pk_cudnn_functions fn;
	struct pk_cudnn_device device;
};

// What decides which engines and kernels are asked; sizes are left out.
static void kind_of(const struct pk_cudnn_fusion *f, char out[MAX_TEXT])
{
	const int64_t *w = f->w.dims;
	bool depthwise = w[1] == 1, grouped = w[1] != f->x.dims[1] && !depthwise;
	int n = snprintf(out, MAX_TEXT, "%d %d %d groups%d", f->core, f->x.type, f->y.type,
		depthwise ? 2 : grouped);
	if (f->core != PK_CUDNN_MATMUL_CORE)
		n += snprintf(out + n, MAX_TEXT - (size_t)n, " w%d s%d d%d even%d",
			w[2] * w[3] == 1 ? 1 : 3, (int)f->strides[0], (int)f->dilations[0],
			f->pre_pads[0] == f->post_pads[0] && f->pre_pads[1] == f->post_pads[1]);
	for (int i = 0; i < f->n_steps && n < MAX_TEXT; i++)
		n += snprintf(out + n, MAX_TEXT - (size_t)n, " %d(%d)", f->steps[i].mode,
			f->steps[i].operand);
}

static void add(
	struct job *job, const struct pk_cudnn_fusion *fusion, const char *model, const char *node)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, MAX_TEXT - 1);
	if (job->n == MAX_GRAPHS || pk_cudnn_fusion_text(fusion, &text) < 0) {
		fprintf(stderr, "gpu-plans: too many graphs, or one too long\n");
		exit(1);
	}
	struct item *item = &job->items[job->n];
	kind_of(fusion, item->kind);
	for (int i = 0; i < job->n; i++) {
		if (strcmp(job->items[i].text, text.data) == 0 ||
			(job->kinds && strcmp(job->items[i].kind, item->kind) == 0))
			return;
	}
	job->n++;
	memcpy(item->text, text.data, text.len + 1);
	item->model = strdup(model);
	item->node = strdup(node);
	item->fusion = *fusion;
}

// The same layer as calibration would make it integer: a scale per channel, then i8 again.
static bool to_integer(struct pk_cudnn_fusion *fusion)
{
	struct pk_cudnn_fusion out = *fusion;
	if (fusion->core != PK_CUDNN_CONV || fusion->w.dims[1] != fusion->x.dims[1] ||
		pk_cudnn_fusion_uses(fusion, PK_CUDNN_RESIDUAL))
		return false;
	out.x.type = out.w.type = out.y.type = PK_CUDNN_DATA_INT8;
	out.compute_type = PK_CUDNN_DATA_INT32;
	out.steps[0] = (struct pk_cudnn_step){.mode = PK_CUDNN_MUL, .operand = PK_CUDNN_SCALE};
	memcpy(&out.steps[1], fusion->steps, (size_t)fusion->n_steps * sizeof(out.steps[0]));
	out.n_steps = fusion->n_steps + 2;
	out.steps[out.n_steps - 1] = (struct pk_cudnn_step){
		.mode = PK_CUDNN_MUL, .operand = PK_CUDNN_SCALAR, .scalar = out.n_scalars};
	out.scalars[out.n_scalars++].source = PK_CUDNN_INVERSE_Y_SCALE;
	*fusion = out;
	return true;
}

static int collect_steps(
	struct job *job, struct pk_graph *graph, const char *model, struct pk_err *err)
{
	pk_cleanup(pk_cuda_steps_finish) struct pk_cuda_steps steps = {0};
	int r = pk_cuda_insert_borders(graph, err);
	if (r == 0)
		r = pk_cuda_steps_init(&steps, graph, job->float_type, err);
	for (int i = 0; r == 0 && i < steps.n; i++) {
		struct pk_cudnn_fusion fusion;
		if (pk_cudnn_fusion_from(&steps.items[i].call, &fusion, NULL) == 0 &&
			(!job->integer || to_integer(&fusion)))
			add(job, &fusion, model, steps.items[i].call.node->name);
	}
	return r;
}

static int quantize(const struct job *job, struct pk_graph *graph, struct pk_err *err)
{
	struct pk_calibration calibration;
	pk_auto_buf struct pk_buf text;
	int n = 0;
	pk_buf_init(&text, MAX_JSON_BYTES);
	int r = pk_fs_read(job->calibration_path, MAX_JSON_BYTES, &text, err);
	if (r < 0)
		return r;
	r = pk_calibration_parse(text.data, text.len, &calibration, err);
	if (r < 0)
		return r;
	r = pk_float_form(graph, NULL, 0, err);
	if (r == 0)
		r = pk_calibration_insert(graph, &calibration, &n, err);
	pk_calibration_finish(&calibration);
	return r;
}

// "PATH@name=1x3x224x224": the shape of an input that the file leaves open.
static int open_model(char *argument, struct pk_source_model *model, struct pk_err *err)
{
	struct pk_input_shape shape = {0};
	char *at = strchr(argument, '@'), *equals = at ? strchr(at, '=') : NULL;
	if (equals) {
		*at = *equals = '\0';
		shape.name = at + 1;
		for (char *dim = equals + 1; *dim && shape.shape.rank < PK_MAX_RANK;) {
			shape.shape.dims[shape.shape.rank++] = strtoll(dim, &dim, 10);
			dim += *dim == 'x';
		}
	}
	return pk_source_model_open(model, argument, &shape, equals != NULL, NULL, err);
}

static int collect(struct job *job, char *argument, struct pk_err *err)
{
	struct pk_source_model model = {0};
	struct pk_pass_options passes = {.evaluator = &pk_cpu_evaluator};
	int r = open_model(argument, &model, err);
	if (r == 0 && job->calibration_path)
		r = quantize(job, model.graph, err);
	if (r == 0)
		r = pk_passes_run(model.graph, &passes, NULL, err);
	if (r == 0)
		r = collect_steps(job, model.graph, argument, err);
	pk_source_model_close(&model);
	if (r < 0)
		pk_err_prefix(err, "%s", argument);
	return r;
}

// Opened again, the plan must print the same bytes.
static bool round_trip(const struct job *job, const struct pk_buf *json, struct pk_err *err)
{
	pk_auto(pk_cudnn_plan) plan = NULL;
	pk_auto_buf struct pk_buf again;
	pk_buf_init(&again, PK_CUDNN_MAX_PLAN_BYTES);
	return pk_cudnn_plan_parse(&job->device, json->data, json->len, &plan, err) == 0 &&
	       pk_cudnn_plan_print(plan, &again, err) == 0 && again.len == json->len &&
	       memcmp(again.data, json->data, json->len) == 0;
}

// A result of one row more than the convolution makes must be refused as a wrong call.
static bool refuses_wrong_shape(const struct job *job, const struct pk_cudnn_fusion *fusion)
{
	struct pk_cudnn_fusion wrong = *fusion;
	pk_cleanup(pk_cudnn_graph_finish) struct pk_cudnn_graph graph = {0};
	int dim = fusion->core == PK_CUDNN_MATMUL_CORE ? 1 : 2;
	if (fusion->core == PK_CUDNN_TRANSPOSED_CONV)
		wrong.x.dims[dim]++;
	else
		wrong.y.dims[dim]++;
	return pk_cudnn_graph_init(&graph, &job->device, &wrong, NULL) == -EINVAL;
}

static bool make(const struct job *job, const struct item *item)
{
	struct pk_err err = {0};
	char tag[PK_CUDNN_MAX_TAG] = "";
	pk_auto(pk_cudnn_plan) plan = NULL;
	pk_auto_buf struct pk_buf json;
	pk_buf_init(&json, PK_CUDNN_MAX_PLAN_BYTES);
	int64_t start = pk_now_ns();
	int r = pk_cudnn_find(&job->device, &item->fusion, 0, &plan, tag, &err);
	int64_t ns = pk_now_ns() - start;
	if (r == 0)
		r = pk_cudnn_plan_print(plan, &json, &err);
	bool same = r == 0 && round_trip(job, &json, &err);
	json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:I, s:b, s:b}", "graph",
		item->text, "kind", item->kind, "model", item->model, "node", item->node, "status",
		r < 0 ? pk_err_text(&err, r) : "ok", "engine", tag, "ms", (double)ns / 1e6, "bytes",
		(json_int_t)json.len, "round_trip", same, "wrong_shape",
		refuses_wrong_shape(job, &item->fusion));
	json_dumpf(line, stdout, JSON_COMPACT);
	json_decref(line);
	puts("");
	fflush(stdout);
	return r == 0 && same;
}

// The text behind KEY": is replaced up to the next comma; "" cuts the plan in half.
static int parse_changed(const struct job *job, const struct pk_buf *json, const char *key,
	const char *value, struct pk_err *err)
{
	pk_auto(pk_cudnn_plan) plan = NULL;
	pk_auto_buf struct pk_buf text;
	const char *at = strstr(json->data, key), *end = at ? strpbrk(at, ",}") : NULL;
	pk_buf_init(&text, PK_CUDNN_MAX_PLAN_BYTES);
	if (!*key)
		pk_buf_append(&text, json->data, json->len / 2);
	else if (!end)
		return pk_fail(err, -ENOENT, "no %s in a plan", key);
	else {
		pk_buf_append(&text, json->data, (size_t)(at - json->data));
		pk_buf_printf(&text, "%s%s", key, value);
		pk_buf_append(&text, end, json->len - (size_t)(end - json->data));
	}
	return pk_cudnn_plan_parse(&job->device, text.data, text.len, &plan, err);
}

static int try_changes(const struct job *job)
{
	static const struct {
		const char *key, *value;
		int expected;
	} changes[] = {
		{"\"cudnnVersion\":", "90300", -ESTALE},
		{"\"schemaVersion\":", "1", -ESTALE},
		{"\"deviceVer\":", "860", -ESTALE},
		{"\"multiProcessorCount\":", "14", -ESTALE},
		{"\"maxSharedMemoryPerBlockOptin\":", "101376", -ESTALE},
		{"\"driverVer\":", "12060", -ESTALE},
		{"\"deviceName\":", "\"other\"", 0},
		{"", "", -ESTALE},
	};
	struct pk_err err = {0};
	pk_auto(pk_cudnn_plan) plan = NULL;
	pk_auto_buf struct pk_buf json;
	pk_buf_init(&json, PK_CUDNN_MAX_PLAN_BYTES);
	int r = pk_cudnn_find(&job->device, &job->items[0].fusion, 0, &plan, NULL, &err);
	if (r == 0)
		r = pk_cudnn_plan_print(plan, &json, &err);
	for (size_t i = 0; r == 0 && i < PK_ARRAY_LEN(changes); i++) {
		struct pk_err why = {0};
		int error = parse_changed(job, &json, changes[i].key, changes[i].value, &why);
		json_t *line = json_pack("{s:s, s:i, s:i, s:s}", "change", changes[i].key, "error",
			error, "expected", changes[i].expected, "text", why.text);
		json_dumpf(line, stdout, JSON_COMPACT);
		json_decref(line);
		puts("");
	}
	return r;
}

static int describe_device(struct job *job, const char *path, struct pk_err *err)
{
	pk_auto_buf struct pk_buf json;
	pk_buf_init(&json, 65536);
	int r = pk_fs_read(path, 65536, &json, err);
	if (r == 0)
		r = pk_cudnn_device_describe(&job->fn, json.data, json.len, &job->device, err);
	return r;
}

static bool parse_flag(struct job *job, const char *word)
{
	const struct {
		const char *name;
		bool *value;
	} flags[] = {{"--integer", &job->integer}, {"--kinds", &job->kinds}, {"--list", &job->list},
		{"--changes", &job->changes}};
	for (size_t i = 0; i < PK_ARRAY_LEN(flags); i++) {
		if (strcmp(word, flags[i].name) == 0)
			return *flags[i].value = true;
	}
	return false;
}

static bool parse_value(struct job *job, const char *name, const char *value)
{
	if (strcmp(name, "--float") == 0)
		job->float_type = pk_dtype_from_name(value);
	else if (strcmp(name, "--calibration") == 0)
		job->calibration_path = value;
	else
		return strcmp(name, "--sample") == 0 &&
		       sscanf(value, "%d/%d", &job->part, &job->n_parts) == 2;
	return true;
}

static int parse(struct job *job, int argc, char **argv)
{
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (parse_flag(job, argv[i]))
			continue;
		if (i + 1 == argc || !parse_value(job, argv[i], argv[i + 1]))
			return -1;
		i++;
	}
	return argc - i >= 2 && job->n_parts > 0 ? i : -1;
}

int main(int argc, char **argv)
{
	static struct job job = {.float_type = PK_F16, .n_parts = 1};
	struct pk_err err = {0};
	int at = parse(&job, argc, argv), r = 0;
	if (at < 0) {
		fputs("usage: see tests/gpu/plans.c\n", stderr);
		return 2;
	}
	job.items = calloc(MAX_GRAPHS, sizeof(*job.items));
	if (!job.items)
		return 1;
	r = pk_cudnn_open(&job.fn, &err);
	if (r == 0)
		r = describe_device(&job, argv[at], &err);
	if (r == -ENODEV || r == -ENOTSUP) {
		fprintf(stderr, "%s\n", err.text);
		return 77;
	}
	for (int i = at + 1; r == 0 && i < argc; i++)
		r = collect(&job, argv[i], &err);
	if (r < 0) {
		fprintf(stderr, "gpu-plans: %s\n", pk_err_text(&err, r));
		return 1;
	}
	int n_bad = job.changes && try_changes(&job) < 0;
	for (int i = job.changes ? job.n : job.part; i < job.n; i += job.n_parts) {
		if (job.list)
			puts(job.items[i].text);
		else
			n_bad += !make(&job, &job.items[i]);
	}
	fprintf(stderr, "%d graphs\n", job.n);
	return n_bad != 0;
}
