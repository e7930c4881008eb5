// SPDX-License-Identifier: Apache-2.0
// Users' door of the engine: build from ONNX, load, run. Nothing here knows a network or GLib.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/image/image.h"
#include "engine/plan/plan.h"
#include "engine/tensor.h"

#define PK_ENGINE_MAX_BINDINGS 16
#define PK_ENGINE_MAX_DISABLED 32
#define PK_ENGINE_MAX_SLOTS    8

// What the arithmetic of an engine is mostly done in.
enum pk_precision {
	PK_PRECISION_FP32 = 0,
	PK_PRECISION_FP16,
	PK_PRECISION_INT8,
};
const char *pk_precision_name(enum pk_precision precision); // "fp32"

struct pk_input_shape {
	const char *name; // graph input, or a symbolic dimension (then shape is rank 1: its value)
	struct pk_shape shape;
};

struct pk_gate_sample; // engine/gate/gate.h

// The output of a classifier: rows of n_classes scores. name NULL: the model is none.
struct pk_class_output {
	const char *name;
	int64_t n_classes;
	bool is_logits; // a softmax or sigmoid comes after it
};

// Zero means default everywhere.
struct pk_build_options {
	const char *onnx_path;
	const char *runtime;     // "cpu", "cuda"
	const char *engine_path; // written here, atomically
	const char *timing_path; // timing cache file; NULL: none is kept
	int opt_level; // 0: default tactics, no measuring; 1: each measured; 2: in the graph too
	struct pk_input_shape shapes[PK_ENGINE_MAX_BINDINGS];
	size_t n_shapes;
	const char *disabled_passes[PK_ENGINE_MAX_DISABLED];
	size_t n_disabled_passes;
	const void *card; // bytes kept in the engine; NULL: none
	size_t card_size;
	enum pk_precision precision; // stands in the key and chooses the gate's profile
	const void *calibration; // what pk_engine_calibrate wrote; needed for int8, for it alone
	size_t calibration_size;
	// The engine is compared with the reference before it is written (engine/gate/): largest
	// difference as a part of the output's range, and cosine. 0: those of the precision's
	// profile.
	double max_rel_err, min_cosine;
	// Pictures for the same comparison, as tensors of the only input; for large models only the
	// first is used.
	const struct pk_gate_sample *gate_samples;
	size_t n_gate_samples;
	struct pk_class_output classes; // judged by its winner and distribution, on the samples
	// Called often enough for a heartbeat; phase: "import", "optimise", "tune", "gate",
	// "write". Non-zero cancels (-ECANCELED).
	int (*progress)(void *ctx, const char *phase, int done, int total, const char *what);
	void *ctx;
};

struct pk_build_report {
	struct pk_digest key;
	int64_t engine_bytes, weight_bytes, peak_bytes, lower_bound_bytes;
	int n_layers, n_measured, n_cache_hits;
	int n_islands; // layers that an accelerator leaves to the cpu, between copies
	double max_rel_err, min_cosine; // gate figures
	int64_t wall_ns;
};

// -ENOTSUP: the model uses what this runtime cannot do; -EINVAL: broken model; -ENODEV: no such
// runtime here; -EBADE: the gate refused the result; -ECANCELED; -ENOMEM; errno of files.
int pk_engine_build(const struct pk_build_options *options, struct pk_build_report *report,
	struct pk_err *err) pk_must_check;

#define PK_CALIBRATION_MAX_BYTES (16u << 20) // of a record

struct pk_calibrate_options {
	const char *onnx_path;
	struct pk_input_shape shapes[PK_ENGINE_MAX_BINDINGS];
	size_t n_shapes;
	const char *disabled_passes[PK_ENGINE_MAX_DISABLED]; // as the build will have them
	size_t n_disabled_passes;
	const char *method; // "minmax", "percentile", "entropy"
	double percentile;  // 0: 99.99
	bool keep_first;    // the first layer stays in float
	// While the outputs of the integer form are worse than these, the worst layers are taken
	// back to float, up to max_float_share of them. 0: 20 dB, 0.99, 0.2; negative share: none.
	double min_sqnr_db, min_cosine, max_float_share;
	const char *state_path; // kept up while it runs, so that it can go on; NULL: none
	// Sample i as the dense f32 bytes of the model's only input.
	int (*sample)(void *ctx, size_t idx, void *data, const struct pk_shape *shape,
		struct pk_err *err);
	size_t n_samples; // above 0; the last few also judge the outputs
	int (*progress)(void *ctx, const char *phase, int done, int total, const char *what);
	void *ctx;
};

struct pk_calibrate_report {
	int n_resumed, n_ranges, n_layers, n_float;
	double first_sqnr_db, sqnr_db, cosine; // all layers integer; as recorded
};

// Runs the samples through the float graph and appends the calibration record to out. -ENOTSUP:
// more than one input; -ECANCELED; -EINVAL; -ENOMEM; what sample gives; errno of files.
int pk_engine_calibrate(const struct pk_calibrate_options *options, struct pk_buf *out,
	struct pk_calibrate_report *report, struct pk_err *err) pk_must_check;

// The key an engine built with these options on this machine has, without building: canonical JSON
// in text (nullable) and its digest. Reads and hashes the ONNX file.
int pk_engine_key(const struct pk_build_options *options, struct pk_buf *text,
	struct pk_digest *out, struct pk_err *err) pk_must_check;

// Support report: one line per node that would be refused, into report. 0: would be accepted;
// -ENOTSUP: not; other negatives: could not even be read.
int pk_engine_check(const char *onnx_path, const struct pk_input_shape *shapes, size_t n_shapes,
	struct pk_buf *report, struct pk_err *err) pk_must_check;

struct pk_engine;

// expect: the key's canonical JSON text from pk_engine_key, or NULL to take any engine meant for
// this machine. *mismatch tells the kind when the file is not taken (-ESTALE; -EBADMSG for
// corrupt); -ENOENT when there is no file.
int pk_engine_load(const char *path, const char *expect, struct pk_engine **out,
	enum pk_mismatch *mismatch, struct pk_err *err) pk_must_check;
void pk_engine_unload(struct pk_engine *engine); // contexts first
PK_DEFINE_AUTO(pk_engine, pk_engine_unload);

// Whether this error of loading or running means that the accelerator is lost to this process for
// good: its context is broken (-ENOTRECOVERABLE) or a kernel ran too long (-ETIME).
bool pk_engine_is_lost(int error);

struct pk_binding {
	const char *name;
	enum pk_dtype dtype;
	struct pk_shape shape;
	size_t bytes;
};
struct pk_engine_info {
	const char *runtime;
	const char *key_json;
	struct pk_digest key;
	const struct pk_binding *inputs, *outputs;
	size_t n_inputs, n_outputs;
	const void *card; // bytes or NULL
	size_t card_size;
	const char *layers_json;               // for people
	const char *gate_json;                 // verdict (engine/gate/verdict.h)
	size_t weight_bytes, activation_bytes; // mapped; per slot
	size_t lower_bound_bytes;              // of any placement of the activations
};
const struct pk_engine_info *pk_engine_info(const struct pk_engine *engine);

struct pk_graph;
// The graph with its kernels, for tools; owned by the engine.
const struct pk_graph *pk_engine_graph(const struct pk_engine *engine);

struct pk_context;
// n_slots 1..8 runs may be in flight. One thread drives a context.
int pk_context_create(struct pk_engine *engine, int n_slots, struct pk_context **out,
	struct pk_err *err) pk_must_check;
void pk_context_destroy(struct pk_context *context);
PK_DEFINE_AUTO(pk_context, pk_context_destroy);

struct pk_cpu_pool; // engine/cpu/pool.h
// Host threads that a runtime on the host's cores shares among its contexts; borrowed, outlives the
// context. Without it a run stays on the thread that waits for it. Other runtimes ignore it. Not
// while a slot is in flight. -ENOMEM leaves it as it was.
int pk_context_set_pool(struct pk_context *context, struct pk_cpu_pool *pool, struct pk_err *err)
	pk_must_check;

// Where to put input input_idx of a slot before submit (dense, binding's bytes). A picture goes
// there with pk_preprocess_run. Not while the slot is in flight.
void *pk_context_input(struct pk_context *context, int slot, size_t input_idx);
int pk_context_submit(struct pk_context *context, int slot, struct pk_err *err) pk_must_check;
// Blocks until done. Outputs are valid until the slot's next submit.
int pk_context_wait(struct pk_context *context, int slot, struct pk_err *err) pk_must_check;
const void *pk_context_output(const struct pk_context *context, int slot, size_t output_idx);

// Runs what lies in the slot's inputs once more, timing each layer of layers_json in order.
int pk_context_profile(struct pk_context *context, int slot, int64_t *ns, int n_layers,
	struct pk_err *err) pk_must_check;

// A check on memory planning: from now on everything in the slots that holds no live tensor is
// filled with NaN before each layer. Results must stay the same to the bit; runs get slow. Inputs
// do not survive a run. -ENOTSUP: the runtime cannot.
int pk_context_set_poison(struct pk_context *context, bool on, struct pk_err *err) pk_must_check;

// The runtimes of this build and what probe said: name, 0 or -errno, reason or identity.
struct pk_runtime_status {
	const char *name;
	int error;
	char text[1024];
};
size_t pk_engine_runtimes(struct pk_runtime_status *out, size_t max);
