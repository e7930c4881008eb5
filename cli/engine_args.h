// SPDX-License-Identifier: Apache-2.0
// The options that the `picketctl engine` verbs share.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "engine/engine.h"

#define PK_MAX_INPUT_FILES 16

struct pk_engine_args {
	const char *path; // MODEL.onnx or FILE.engine
	bool json;
	struct pk_build_options build;
	const char *card_path;
	struct pk_buf card_text;
	struct {
		char *name; // malloc'ed; "" means the only input
		const char *file;
	} inputs[PK_MAX_INPUT_FILES];
	size_t n_inputs;
	char *shape_names[PK_ENGINE_MAX_BINDINGS]; // what build.shapes' names point to
	const char *output_dir;
	double seconds;
	int n_threads; // of run, bench and profile
	struct pk_cpu_pool *pool;
	bool dot;
	const char *other_path; // second file of verbs that take two
	const char *golden_dir;
	double budget_ms, budget_mib; // 0: none
	struct pk_progress progress;
	double tolerance; // 0: the verb's own
	bool poison;      // --poison or PICKET_POISON=1
	struct pk_buf calibration_text;
	const char *samples_dir, *method, *state_path; // of calibrate
	double percentile, float_share;
	bool keep_first;
};

// Parses (cli/options.h): PK_GO_ON, or the exit code. argv[0] is the verb.
int pk_engine_args_parse(struct pk_engine_args *args, int argc, char **argv, const char *usage);
// The same for verbs that take n_files files (1 or 2).
int pk_engine_args_parse_files(
	struct pk_engine_args *args, int argc, char **argv, int n_files, const char *usage);
void pk_engine_args_finish(struct pk_engine_args *args);

// "1x3x320x320", "scalar" or "": false when it is no such thing.
bool pk_engine_args_dims(const char *text, struct pk_shape *shape);

bool pk_engine_args_is_onnx(const struct pk_engine_args *args);
// Opens args->path: an engine as it is; an ONNX file is built first into a temporary file (removed
// again at once; the map stays).
int pk_engine_args_open(struct pk_engine_args *args, struct pk_engine **engine, struct pk_err *err)
	pk_must_check;
// A context of one slot on args->n_threads threads.
int pk_engine_args_context(struct pk_engine_args *args, struct pk_engine *engine,
	struct pk_context **context, struct pk_err *err) pk_must_check;
// Progress on stderr (cli/progress.h).
int pk_engine_args_progress(void *ctx, const char *phase, int done, int total, const char *what);

// JSON of an engine's section; null when it is none.
json_t *pk_engine_json(const char *text) pk_must_check;
// One line on stdout; takes the reference.
void pk_engine_print_json(json_t *json);
// Clears the progress line, tells a failure, gives the exit code.
int pk_engine_verb_end(struct pk_engine_args *args, const struct pk_err *err, int r);

// The verbs.
int pk_engine_build_verb(int argc, char **argv);
int pk_engine_calibrate_verb(int argc, char **argv);
int pk_engine_run_verb(int argc, char **argv);
int pk_engine_inspect_verb(int argc, char **argv);
int pk_engine_check_verb(int argc, char **argv);
int pk_engine_bench_verb(int argc, char **argv);
int pk_engine_profile_verb(int argc, char **argv);
int pk_engine_gate_verb(int argc, char **argv);
int pk_engine_diff_verb(int argc, char **argv);
int pk_engine_bisect_verb(int argc, char **argv);
