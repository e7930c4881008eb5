// SPDX-License-Identifier: Apache-2.0
// Builds the GStreamer elements of a source, from its configuration to the appsink.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"

struct _GstElement;

struct pk_source_graph {
	struct _GstElement *pipeline; // owned
	struct _GstElement *appsink;  // owned by the pipeline
};

// 0, or -EINVAL / -ENOENT with the reason; nothing is left behind then.
int pk_source_graph_build(const struct pk_source_config *config, struct pk_source_graph *out,
	struct pk_err *err) pk_must_check;
