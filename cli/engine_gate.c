// SPDX-License-Identifier: Apache-2.0
// picketctl engine gate: the verdict on an engine file, as a table.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/engine_args.h"
#include "config/card.h"
#include "daemon/golden.h"
#include "engine/compile/gate_file.h"

static const char gate_usage[] =
	"usage: picketctl engine gate --onnx MODEL.onnx [OPTIONS] FILE.engine\n\n"
	"  --onnx MODEL.onnx    the model that the engine was built from\n"
	"  --card CARD.yaml     model card: limits, and how pictures go in\n"
	"  --golden DIR         golden.json and its pictures (wants --card)\n"
	"  --budget-ms N        longest mean latency\n"
	"  --budget-mib N       largest weights and activations\n"
	"  --shape NAME=DIMS    binds open dimensions otherwise than the engine's inputs do\n"
	"  --json               the verdict as JSON\n\n"
	"Exit code 0: passed, 1: refused, or not to be judged.\n";

struct gate {
	struct pk_engine_args *args;
	struct pk_card *card;
	struct pk_golden *golden;
	struct pk_gate_verdict verdict;
};

static void gate_finish(struct gate *gate)
{
	pk_golden_destroy(gate->golden);
	pk_card_destroy(gate->card);
}

static int read_card(struct gate *gate, struct pk_err *err)
{
	const struct pk_engine_args *args = gate->args;
	struct pk_problems problems = {0};
	int r = pk_card_parse(
		args->card_text.data, args->card_text.len, args->card_path, &gate->card, &problems);
	if (r < 0)
		(void)pk_fail(err, r, "%s:%d: %s", args->card_path,
			problems.n ? problems.items[0].line : 0,
			problems.n ? problems.items[0].text : "unreadable");
	pk_problems_finish(&problems);
	return r;
}

// {name: path} of a folder's files, as an artifact's golden layers are given.
static int list_files(const char *folder, json_t *files, struct pk_err *err)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return pk_fail_errno(err, "%s", folder);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		json_object_set_new(
			files, entry->d_name, json_sprintf("%s/%s", folder, entry->d_name));
	}
	closedir(dir);
	return 0;
}

static int read_golden(struct gate *gate, struct pk_err *err)
{
	const char *folder = gate->args->golden_dir;
	if (!gate->card)
		return pk_fail(err, -EINVAL, "--golden wants --card");
	pk_auto_json files = json_object();
	int r = list_files(folder, files, err);
	if (r == 0)
		r = pk_golden_load(gate->card, files, &gate->golden, err);
	if (r == 0 && !gate->golden)
		r = pk_fail(err, -ENOENT, "%s: no golden.json", folder);
	return r;
}

static int tell(void *ctx, int done, int total, const char *what)
{
	struct pk_engine_args *args = ctx;
	pk_progress_tell(&args->progress, "gate", done, total, what);
	return 0;
}

static int judge_golden(struct gate *gate, struct pk_err *err)
{
	const struct pk_gate_profile *profile = pk_gate_profile_of(gate->verdict.precision);
	if (!gate->golden || pk_gate_verdict_reason(&gate->verdict) <= PK_GATE_NOISE)
		return 0; // lost already: its detections are of no interest
	return pk_golden_judge(gate->golden, gate->args->path, profile, &gate->verdict, err);
}

static int judge(struct gate *gate, struct pk_err *err)
{
	struct pk_engine_args *args = gate->args;
	int r = args->card_path ? read_card(gate, err) : 0;
	if (r == 0 && args->golden_dir)
		r = read_golden(gate, err);
	if (r < 0)
		return r;
	struct pk_gate_file_options options = {
		.engine_path = args->path,
		.onnx_path = args->build.onnx_path,
		.shapes = args->build.shapes,
		.n_shapes = args->build.n_shapes,
		.max_rel_err = gate->card ? gate->card->gate.max_abs_err : 0,
		.min_cosine = gate->card ? gate->card->gate.min_cosine : 0,
		.latency_ns = (int64_t)(args->budget_ms * (double)PK_NS_PER_MS),
		.memory_bytes = (int64_t)(args->budget_mib * 1048576),
		.progress = tell,
		.ctx = args,
	};
	options.samples = pk_golden_samples(gate->golden, &options.n_samples);
	r = pk_gate_file(&options, &gate->verdict, err);
	return r < 0 ? r : judge_golden(gate, err);
}

static void print_verdict(const struct gate *gate)
{
	if (gate->args->json) {
		pk_engine_print_json(pk_gate_verdict_json(&gate->verdict));
		return;
	}
	pk_auto_buf struct pk_buf out;
	pk_buf_init(&out, 1u << 16);
	pk_gate_verdict_print(&gate->verdict, &out);
	fputs(pk_buf_cstr(&out), stdout);
}

int pk_engine_gate_verb(int argc, char **argv)
{
	pk_cleanup(pk_engine_args_finish) struct pk_engine_args args;
	int code = pk_engine_args_parse(&args, argc, argv, gate_usage);
	if (code >= 0)
		return code;
	if (args.build.onnx_path == args.path) {
		fputs("picketctl engine: --onnx MODEL.onnx is wanted\n", stderr);
		return PK_EXIT_USAGE;
	}
	struct pk_err err = {0};
	pk_cleanup(gate_finish) struct gate gate = {.args = &args};
	int r = judge(&gate, &err);
	if (r == 0) {
		pk_progress_end(&args.progress);
		print_verdict(&gate);
		r = pk_gate_verdict_result(&gate.verdict, &err);
	}
	return pk_engine_verb_end(&args, &err, r);
}
