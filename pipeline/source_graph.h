// SPDX-License-Identifier: Apache-2.0
// Builds the GStreamer elements of a source, from its configuration to the appsink.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "pipeline/source.h"

struct _GstElement;
struct pk_frame_memory;

struct pk_source_graph {
	struct _GstElement *pipeline; // owned
	struct _GstElement *appsink;  // owned by the pipeline
};

// receiver: skipped and ctx are copied. memory: offered to whatever makes the pictures. 0, or
// -EINVAL / -ENOENT with the reason; nothing is left behind then.
int pk_source_graph_build(const struct pk_source_config *config,
	const struct pk_source_receiver *receiver, struct pk_frame_memory *memory,
	struct pk_source_graph *out, struct pk_err *err) pk_must_check;

void pk_source_graph_inspect(const struct pk_source_graph *graph, struct pk_source_facts *out);
