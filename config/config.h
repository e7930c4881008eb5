// SPDX-License-Identifier: Apache-2.0
// The typed snapshot of picket.yaml: what the operator wants, validated, immutable after loading.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/problem.h"

enum pk_source_kind {
	PK_SOURCE_FILE,
	PK_SOURCE_TEST,
	PK_SOURCE_RTSP,
	PK_SOURCE_GST,
	PK_SOURCE_V4L2,
	PK_SOURCE_CSI,
	PK_SOURCE_HTTP,
	PK_SOURCE_IMAGES,
	PK_N_SOURCE_KINDS,
};

// What a v4l2 device is asked for.
enum pk_v4l2_format {
	PK_V4L2_ANY,
	PK_V4L2_MJPEG,
	PK_V4L2_YUYV,
	PK_V4L2_UYVY,
	PK_V4L2_NV12,
	PK_V4L2_I420,
	PK_V4L2_GRAY8,
	PK_V4L2_H264,
	PK_V4L2_H265,
	PK_N_V4L2_FORMATS,
};

enum pk_sink_kind {
	PK_SINK_JSONL,
	PK_SINK_SNAPSHOT,
	PK_SINK_MQTT,
	PK_SINK_RESTREAM,
};

// Every string is owned by the snapshot and never NULL unless the comment says so.
struct pk_source_config {
	enum pk_source_kind kind;
	char *uri;           // file, images: path; rtsp, http: address; "" otherwise
	char *launch;        // gst: elements ending in raw video; "" otherwise
	char *pattern;       // test: a videotestsrc pattern name, default "ball"
	char *user;          // rtsp, http; "": none
	char *password_file; // rtsp, http: its first line is read at each start; "": none
	char *tls_ca;        // rtsps, https: PEM file; "": the system's
	bool tls_verify;     // rtsps, https: the certificate must be valid
	char *device;        // v4l2: /dev/…
	char **controls;     // v4l2: "name=integer"
	size_t n_controls;
	enum pk_v4l2_format format; // v4l2
	int sensor_id;              // csi
	char **recovery;            // csi: program and arguments that restart the camera service
	size_t n_recovery;
	int width, height;  // test, csi: frame size in pixels; v4l2: 0: what the device has
	double rate_hz;     // frames per second; v4l2: 0: what the device has
	bool loop;          // file, images: start again at the end
	bool paced;         // file, images: deliver at their rate (true) or as fast as they decode
	bool tcp;           // rtsp: TCP transport (default) or UDP
	bool resync;        // rtsp: after lost packets, nothing until the next key frame
	int64_t latency_ns; // rtsp: jitter buffer
};

// How long the pictures must look so before it is said; 0: not looked at.
struct pk_picture_checks {
	int64_t frozen_ns, black_ns, covered_ns, blurred_ns;
	bool restart; // a frozen source is started again
};

struct pk_camera_config {
	char *name;
	struct pk_source_config source;
	char *model;  // a key of models
	char **sinks; // keys of sinks
	size_t n_sinks;
	double max_rate_hz;     // inferences per second at most; 0: every frame
	int priority;           // 0..100, default 50; higher is served first
	int64_t first_frame_ns; // limit from start to the first frame
	int64_t stall_ns;       // limit between frames
	int64_t max_late_ns;    // what is later before decoding is left out; 0: nothing
	int64_t retry_max_ns;   // longest delay between tries after a failure; 0: the default
	double roi[4];          // x, y, width, height in parts of the picture
	struct pk_picture_checks checks;
};

// When and how a model may become another (daemon/update.h).
enum pk_tristate { PK_FALSE, PK_TRUE, PK_AUTO };

struct pk_poll_config {
	int64_t interval_ns, backoff_max_ns;
	double jitter; // 0..1
};

struct pk_window_config {
	char **days; // "mon" … "sun"; none: every day
	size_t n_days;
	char *from, *to; // "HH:MM"; both "": always
	int utc;         // bool: else local time
	int64_t holdoff_ns;
};

// What a key may sign: times as in pk_parse_utc, "": no bound.
struct pk_key_rule_config {
	char *id; // 64 hex digits
	char *not_before, *not_after;
	int64_t seq_min, seq_max; // seq_max 0: no end
};

struct pk_signature_config {
	int required; // enum pk_tristate; AUTO: for whatever comes over a network
	char **keys;  // PEM files
	size_t n_keys;
	char **revoked; // ids of keys: 64 hex digits
	size_t n_revoked;
	struct pk_key_rule_config *key_rules;
	size_t n_key_rules;
	int threshold;
	char **formats; // "cosign", "bundle"; none: both
	size_t n_formats;
	char *model;   // the signed name; "": not compared
	bool insecure; // unsigned models over a network are meant
};

struct pk_limits_config {
	int64_t artifact_bytes, bandwidth_bytes_per_s, bytes_per_day; // 0: no limit
};

// Probation of a new model, against what the last one did.
struct pk_check_config {
	int64_t observe_ns;
	double min_fps_ratio, max_p95_ratio, max_error_rate;
	double min_detections_ratio, max_detections_ratio; // 0: not judged
	int max_restarts;
};

struct pk_model_config {
	char *name;
	char *artifact; // a reference (registry/registry.h), folders and files absolute
	char **chain;   // runtime names in order; defaults to runtime.chain
	size_t n_chain;
	bool cpu_ok;    // cpu meanwhile is useful; else passthrough until the engine is ready
	double conf;    // overrides the card's confidence threshold; < 0: the card's
	double rollout; // percent of the fleet that takes new models
	bool int8;      // precision: int8; else fp32
	int keep;       // models before the active one that stay in the store
	struct pk_poll_config poll;
	struct pk_window_config window;
	struct pk_signature_config signature;
	struct pk_limits_config limits;
	struct pk_check_config check;
};

struct pk_sink_config {
	char *name;
	enum pk_sink_kind kind;
	char *path;           // jsonl: file, "-" for stdout, or "unix:/path" ; snapshot: folder
	int64_t interval_ns;  // snapshot: at most one picture per camera in this time
	bool detections_only; // snapshot: only frames with detections
	int64_t rotate_bytes; // jsonl file: starts a new one (one old kept) above this size; 0:
			      // never
	// mqtt and restream
	char *host; // mqtt: broker; restream: address to listen on
	int port;
	char *user, *password_file; // "": none
	// mqtt
	char *ca, *cert, *key; // PEM files; ca "": no TLS
	int qos;               // 0..2, of results
	char *client_id;       // "": picket-NODE-SINK
	char *prefix;          // topics begin with it
	int64_t spool_bytes;   // results held while the broker is away
	int64_t keepalive_ns;  // whole seconds count
	int64_t retry_max_ns;  // cap of the growing delay between tries
	// restream
	bool encode;     // pictures without an encoded stream of their own are encoded
	bool overlay;    // a second stream with boxes
	int max_clients; // served at once
};

// One registry by host[:port]. Paths are absolute, or "credential:NAME" (a systemd credential of
// the service); "" is "not given".
struct pk_registry_config {
	char *host;
	char *ca, *cert, *key;      // PEM files
	char *auth;                 // docker config.json
	char *user, *password_file; // Basic credentials
	bool insecure;              // plain http
	char **mirrors;             // host[:port]
	size_t n_mirrors;
	char **token_hosts; // may get the credentials for a token
	size_t n_token_hosts;
};

struct pk_config {
	char *node_name; // default: the host name
	char *node_id;   // "": from the machine id
	struct {
		int64_t interval_ns;
		char *metrics; // "127.0.0.1:9469"; "": no port
	} telemetry;
	struct {
		char **chain; // default {"cuda", "cpu"}
		size_t n_chain;
		int threads; // of the cpu runtime in the worker; 0: half of the processors
	} runtime;
	struct {
		int64_t time_limit_ns; // wall clock of one build
		int64_t memory_bytes;  // address space of the builder; 0: no limit
		int nice;              // added niceness, 0..19
		int opt_level;         // 0..2
		int64_t retry_min_ns;  // first delay before a failed build is tried again
		int64_t retry_max_ns;  // cap of the growing delay
		double pressure;       // PSI of memory, percent, from which builds wait; 0: never
	} build;
	struct {
		int64_t interval_ns; // between two looks at the machine
		bool shed;           // inference steps back before the machine slows down
	} health;
	struct {
		int64_t quota_bytes;   // of the store; 0: no limit
		int64_t reserve_bytes; // of the disk; 0: the larger of 64 MiB and 5 %
	} store;
	struct pk_registry_config *registries;
	size_t n_registries;
	struct pk_camera_config *cameras;
	size_t n_cameras;
	struct pk_model_config *models;
	size_t n_models;
	struct pk_sink_config *sinks;
	size_t n_sinks;
};

// Reads main_path and then, in name order, every *.yaml of drop_in_dir (NULL: none; a missing
// folder is fine); later files add entries and replace scalars. Relative paths inside are taken
// from the folder of the file that names them. On 0 *out is the caller's; on -EINVAL problems lists
// every mistake found (never only the first) and *out is untouched. Other negatives: errno of
// reading.
int pk_config_load(const char *main_path, const char *drop_in_dir, struct pk_config **out,
	struct pk_problems *problems) pk_must_check;
// The same for bytes that were read already (name: what problems call the file; base_dir: for
// relative paths).
int pk_config_parse(const char *text, size_t n, const char *name, const char *base_dir,
	struct pk_config **out, struct pk_problems *problems) pk_must_check;
void pk_config_destroy(struct pk_config *config);
PK_DEFINE_AUTO(pk_config, pk_config_destroy);

// A deep copy for whoever outlives the snapshot; NULL strings become "". 0 or -ENOMEM, then dst is
// finished already.
int pk_source_config_copy(struct pk_source_config *dst, const struct pk_source_config *src)
	pk_must_check;
void pk_source_config_finish(struct pk_source_config *config);

const struct pk_camera_config *pk_config_camera(const struct pk_config *config, const char *name);
const struct pk_model_config *pk_config_model(const struct pk_config *config, const char *name);
const struct pk_sink_config *pk_config_sink(const struct pk_config *config, const char *name);

// One YAML document that parses back into an equal snapshot (paths absolute): what the daemon hands
// to the worker. malloc'ed; NULL: no memory.
char *pk_config_dump(const struct pk_config *config) pk_must_check;
