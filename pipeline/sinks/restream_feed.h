// SPDX-License-Identifier: Apache-2.0
// What one RTSP client of the restream sink is fed from: a relay, from a key frame on, as fast as
// the client takes it.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>
#include <stdint.h>

#include "base/attr.h"
#include "pipeline/relay.h"

// What is served under one path. Reference counted: clients may be there a little longer.
struct pk_restream_stream {
	_Atomic int refs;
	struct pk_relay *relay;     // the camera's own encoded stream; may be NULL
	struct pk_relay *fallback;  // what is encoded on demand when it has none; may be NULL
	_Atomic uint64_t n_dropped; // pictures that a client was too slow for
};

// Takes a reference of each relay. NULL: no memory.
struct pk_restream_stream *pk_restream_stream_create(
	struct pk_relay *relay, struct pk_relay *fallback) pk_must_check;
struct pk_restream_stream *pk_restream_stream_ref(struct pk_restream_stream *stream);
void pk_restream_stream_unref(struct pk_restream_stream *stream);

// May a client be told to come in: is there a stream now that can be sent over RTP?
bool pk_restream_stream_is_there(struct pk_restream_stream *stream);

// A factory whose media are fed from stream (a reference is taken), one for each client, so that
// none waits for another. The caller's.
GstRTSPMediaFactory *pk_restream_factory_create(struct pk_restream_stream *stream) pk_must_check;
// NULL when factory is none of those.
struct pk_restream_stream *pk_restream_factory_stream(GstRTSPMediaFactory *factory);
