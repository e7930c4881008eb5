// SPDX-License-Identifier: Apache-2.0
// Messages between picketd and picket-worker: one JSON object a line over a socketpair (fd 3 in the
// worker), bounded, versioned. Tables of plain structs on both sides; nothing else crosses.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

#define PK_PROTO_VERSION     1
#define PK_PROTO_MAX_LINE    (2u << 20) // a config document fits
#define PK_PROTO_WORKER_FD   3
#define PK_PROTO_BLACKBOX_FD 4 // base/blackbox.h

// Exit code of a worker whose accelerator is lost to it (pk_engine_is_lost): it has said so by a
// fault or an assign_done, and is to be started anew.
#define PK_WORKER_EXIT_DEVICE 70

// picketd → worker
//   {"v":1,"type":"config","yaml":"…"}            first message, and after each reload
//   {"v":1,"type":"assign","model":"…","engine":"path","key":"…","rung":"…","cause":"…",
//    "digest":"sha256:…","serial":N}
//     (engine and key are left out for passthrough)
//   {"v":1,"type":"shed","cameras":[{"name":"…","max_rate_hz":X}]}   all that are held back
//   {"v":1,"type":"stop"}
// worker → picketd
//   {"v":1,"type":"hello","pid":N}
//   {"v":1,"type":"busy"}   it begins with a config or an assignment, and may be silent meanwhile
//   {"v":1,"type":"busy","model":"…","phase":"read"|"prepare"|"run"}   how far it is with an engine
//   {"v":1,"type":"config_done","error":null|"…"}
//   {"v":1,"type":"assign_done","model":"…","serial":N,"error":null|"…","code":0|-errno,
//    "mismatch":"match"|"corrupt"|…}
//   {"v":1,"type":"heartbeat","progress_age_ms":N,"rss_bytes":N,"cameras":[{…}],"sinks":[{…}]}
//     each second
//   {"v":1,"type":"camera","name":"…","state":"…","cause":"…"}
//   {"v":1,"type":"sink","name":"…","state":"ok"|"failing","cause":"…"}
//   {"v":1,"type":"camera_note","name":"…","text":"…"}   an event that changes no state
//   {"v":1,"type":"fault","model":"…","code":-errno,"cause":"…"}
//   {"v":1,"type":"serving","model":"…","rung":"…","gap_ms":N}   (gap_ms not at first)
//
// Members of a camera in a heartbeat: name, model, state, cause, captured, inferred, passthrough,
// dropped, detections, restarts, sink_drops, skipped, late, copies (counts since the camera
// started), fps (results a second over the last heartbeats), age_p50_ms, age_p99_ms,
// inference_p50_ms,
// inference_p95_ms (over the last ~10 s), sinks [{name, taken, dropped}] (its results there, since
// that sink was started).
// Members of a sink: name, kind, state, cause, taken, dropped (results), readers, readers_dropped,
// waiting_bytes.

// One end of the pair: buffers both ways, never blocks.
struct pk_channel {
	int fd; // non-blocking; owned
	struct pk_buf in, out;
};
void pk_channel_init(struct pk_channel *channel, int fd);
void pk_channel_finish(struct pk_channel *channel); // closes fd

// Queues one message (adds "v" and '\n') and sends what fits. Takes the reference. -ENOBUFS when
// the peer has not read for too long, -EPIPE when it is gone.
int pk_channel_send(struct pk_channel *channel, json_t *message);
int pk_channel_flush(struct pk_channel *channel); // 0, or as above
bool pk_channel_wants_write(const struct pk_channel *channel);
// Reads what is there and calls handle for each whole line, parsed and of the right version. -EPIPE
// at the end of the stream; -EBADMSG on anything malformed.
int pk_channel_receive(struct pk_channel *channel,
	void (*handle)(void *ctx, const char *type, const json_t *message), void *ctx,
	struct pk_err *err);
