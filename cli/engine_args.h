// SPDX-License-Identifier: Apache-2.0
// The options that the `picketctl engine` verbs share.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
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
	struct pk_buf calibration_text;
	const char *samples_dir, *method, *state_path; // of calibrate
	double percentile, float_share;
	bool keep_first;
	int done_permille; // progress shown so far
};

// Parses; on a mistake prints it and `usage` and returns the exit code, else -1. argv[0] is the
// verb.
int pk_engine_args_parse(
	struct pk_engine_args *args, int argc, char **argv, void (*usage)(FILE *out));
void pk_engine_args_finish(struct pk_engine_args *args);

bool pk_engine_args_is_onnx(const struct pk_engine_args *args);
// Opens args->path: an engine as it is; an ONNX file is built first into a temporary file (removed
// again at once; the map stays).
int pk_engine_args_open(struct pk_engine_args *args, struct pk_engine **engine, struct pk_err *err)
	pk_must_check;
// Progress on stderr: a bar on a terminal, nothing otherwise.
int pk_engine_args_progress(void *ctx, const char *phase, int done, int total, const char *what);

// The verbs.
int pk_engine_build_verb(int argc, char **argv);
int pk_engine_calibrate_verb(int argc, char **argv);
int pk_engine_run_verb(int argc, char **argv);
int pk_engine_inspect_verb(int argc, char **argv);
int pk_engine_check_verb(int argc, char **argv);
int pk_engine_bench_verb(int argc, char **argv);
