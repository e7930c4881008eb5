// SPDX-License-Identifier: Apache-2.0
// The data plane of one worker process: all cameras, all models, all sinks. Users' door.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/metric.h"
#include "config/config.h"

enum pk_camera_state {
	PK_CAMERA_STARTING, // waiting for the first frame
	PK_CAMERA_RUNNING,
	PK_CAMERA_RETRYING, // lost; next try is scheduled
	PK_CAMERA_ENDED,    // a file without loop has ended
	PK_CAMERA_STOPPED,
	PK_CAMERA_DEGRADED, // frames come, but the pictures are frozen, black, covered or blurred
};
const char *pk_camera_state_name(enum pk_camera_state state);

// How far the loading of an engine is.
enum pk_load_phase {
	PK_LOAD_READ,    // its file is read and checked
	PK_LOAD_PREPARE, // memory and kernels are made ready
	PK_LOAD_RUN,     // it runs for the first time
};
const char *pk_load_phase_name(enum pk_load_phase phase); // "read", "prepare", "run"

// Called on the pipeline's own threads; must not block. Each may be NULL. Strings are valid during
// the call.
struct pk_pipeline_events {
	void (*camera_state)(
		void *ctx, const char *camera, enum pk_camera_state state, const char *cause);
	// Something about a camera that is worth an event but is no state: its pictures changed
	// their size, its service was restarted.
	void (*camera_note)(void *ctx, const char *camera, const char *text);
	// A model's engine failed while serving (code: negative errno); frames go on as passthrough
	// until another assignment comes.
	void (*model_fault)(void *ctx, const char *model, int code, const char *cause);
	// An assignment took effect: the first frame after it has been inferred (gap_ns: time
	// between the last result of the old engine and the first of the new one, of any camera;
	// -1: this process had none before).
	void (*model_serving)(void *ctx, const char *model, const char *rung, int64_t gap_ns);
	// An assignment goes on: what is done with the engine now (pk_load_phase). On the thread
	// that assigns.
	void (*loading)(void *ctx, const char *model, enum pk_load_phase phase);
	// A sink cannot deliver (code: negative errno, once until it recovers) or does again (0).
	void (*sink_fault)(void *ctx, const char *sink, int code, const char *cause);
	void *ctx;
};

// What a model is to be served with from now on. engine_path NULL: passthrough.
struct pk_assignment {
	const char *model; // config name
	const char *engine_path;
	const char *engine_key;   // canonical JSON the engine must have; NULL: any for this machine
	const char *rung;         // as results say it
	const char *cause;        // as results say it; "" for engine
	const char *model_digest; // manifest digest
};

struct pk_pipeline;

// config is copied (pk_config_dump round trip is the caller's); cameras start at once, models stay
// in passthrough ("no engine yet") until assigned.
int pk_pipeline_create(const struct pk_config *config, const struct pk_pipeline_events *events,
	struct pk_pipeline **out, struct pk_err *err) pk_must_check;
void pk_pipeline_destroy(struct pk_pipeline *pipeline); // stops everything first, bounded to ~2 s
PK_DEFINE_AUTO(pk_pipeline, pk_pipeline_destroy);

// Takes a new snapshot: stops removed cameras, starts added ones, restarts changed ones; others do
// not notice. The pipeline keeps its own copy. Main thread.
int pk_pipeline_apply(struct pk_pipeline *pipeline, const struct pk_config *config,
	struct pk_err *err) pk_must_check;

// Holds a camera's inference back to max_rate_hz below what its config says, until the next call
// or config; 0: not any more. camera NULL: all. An unknown name is passed over. Main thread.
void pk_pipeline_shed(struct pk_pipeline *pipeline, const char *camera, double max_rate_hz);

// Loads the engine beside the old one, warms it up and swaps at a frame boundary. On error nothing
// changed and err says why (-ESTALE / -EBADMSG as pk_engine_load; -EINVAL: card and outputs do not
// fit). Main thread; takes as long as loading takes, cameras go on meanwhile.
int pk_pipeline_assign(struct pk_pipeline *pipeline, const struct pk_assignment *assignment,
	struct pk_err *err) pk_must_check;

// Results of one camera at one sink, since the sink was started.
struct pk_camera_sink_stats {
	char name[64];
	uint64_t n_taken, n_dropped;
};
#define PK_CAMERA_STATS_SINKS 16

// Counters of one camera since it was started, copied. Main thread.
struct pk_camera_stats {
	char name[64];
	char model[64];
	enum pk_camera_state state;
	char cause[256];
	uint64_t n_captured, n_inferred, n_passthrough, n_dropped, n_detections, n_restarts;
	uint64_t n_sink_drops; // results that a sink could not take or deliver in time
	struct pk_camera_sink_stats sinks[PK_CAMERA_STATS_SINKS]; // those that got any
	size_t n_sinks;
	uint64_t n_late;               // pictures not decoded because decoding did not keep up
	uint64_t n_skipped;            // pictures not decoded after lost packets, or damaged
	uint64_t n_copies;             // frames that had to be copied into our memory
	struct pk_histogram age;       // capture to result
	struct pk_histogram inference; // taken to inferred
};
size_t pk_pipeline_n_cameras(struct pk_pipeline *pipeline);
// -ENOENT when there is no such index (any more).
int pk_pipeline_stats(struct pk_pipeline *pipeline, size_t camera_idx, struct pk_camera_stats *out);

// One sink, all cameras, since it was started. Main thread.
struct pk_sink_stats {
	char name[64];
	const char *kind;
	int code; // 0: delivers; else what it fails with
	char cause[256];
	uint64_t n_taken, n_dropped; // results; dropped ones may have been taken before
	uint64_t n_readers, n_readers_dropped;
	uint64_t n_waiting_bytes; // held for delivery
};
size_t pk_pipeline_n_sinks(const struct pk_pipeline *pipeline);
// sink_idx: below that.
void pk_pipeline_sink_stats(
	const struct pk_pipeline *pipeline, size_t sink_idx, struct pk_sink_stats *out);

// Monotonic time of the last turn of the slowest inference thread: what the heartbeat reports. A
// camera or sink whose thread hangs is no reason to restart the others, so theirs do not count.
int64_t pk_pipeline_last_progress_ns(struct pk_pipeline *pipeline);
