// SPDX-License-Identifier: Apache-2.0
// A running video source: one GStreamer pipeline that hands out frames as they come.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "engine/memory.h"
#include "pipeline/frame.h"
#include "pipeline/relay.h"

struct pk_source;

struct pk_source_receiver {
	// Takes the reference. On the source's streaming thread: must not block. frame->index
	// counts from 0 through loops of a file; no frame that reached us is missing from the
	// count.
	void (*frame)(void *ctx, struct pk_frame *frame);
	// A picture came but could not be taken (all frames out, or not mappable). Same thread.
	void (*lost)(void *ctx);
	// The next frame had to be copied into `memory`. Same thread. May be NULL.
	void (*copied)(void *ctx);
	// An encoded picture was left out because packets before it were lost, or a decoded one
	// because it is damaged. A streaming thread. This and format may be NULL.
	void (*skipped)(void *ctx);
	// An encoded picture was left out because it was more than max_late_ns behind; first: it is
	// the first of several. A streaming thread. May be NULL.
	void (*late)(void *ctx, bool first);
	int64_t max_late_ns; // 0: late pictures are decoded all the same
	// The pictures have another size or format from now on. Same thread as frame.
	void (*format)(void *ctx, const char *before, const char *now);
	// An encoded picture is about to be decoded. A streaming thread: must not block. May be
	// NULL.
	void (*encoded)(void *ctx, const struct pk_relay_unit *unit);
	// What frames are to lie in; must outlive them. NULL: the heap.
	const struct pk_memory_kind *memory;
	void *ctx;
};

// Builds and starts it. run: frame->source_run. config is read during the call only. Errors name
// the source ("file /clips/a.mp4: …"), without credentials. -EACCES: it refused our credentials;
// -ENOENT: no such thing; -EINVAL: the description is wrong; -EIO and others. The caller's thread
// drives it from then on.
int pk_source_create(const struct pk_source_config *config,
	const struct pk_source_receiver *receiver, uint32_t run, struct pk_source **out,
	struct pk_err *err) pk_must_check;
// Stops it; no call to the receiver happens afterwards. May take as long as the elements need to
// let go.
void pk_source_destroy(struct pk_source *source);
PK_DEFINE_AUTO(pk_source, pk_source_destroy);

// Handles what the elements report, for up to timeout_ns. 0: nothing of interest; 1: the stream has
// ended by itself (a file without loop); negative as for create: it has failed.
int pk_source_poll(struct pk_source *source, int64_t timeout_ns, struct pk_err *err) pk_must_check;
// Makes a waiting poll return. Any thread.
void pk_source_wake(struct pk_source *source);
// How people see it: "rtsp rtsp://***@host/path", "file /x.mp4", "test ball".
const char *pk_source_text(const struct pk_source *source);

// How the stream is read. "" where that is not known (yet).
struct pk_source_facts {
	char codec[32];              // caps name of the encoded stream: "video/x-h264"
	char decoder[48];            // element factory: "avdec_h264"
	char encoded[192], raw[192]; // caps of the encoded stream and of the pictures
	int width, height;
	char format[16]; // "NV12"
	double rate_hz;  // as declared; 0: not declared or variable
};
// The caller's thread.
void pk_source_inspect(const struct pk_source *source, struct pk_source_facts *out);

// Replaces what stands between "://" and "@" by "***", in place.
void pk_source_redact(char *text);
