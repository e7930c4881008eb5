// SPDX-License-Identifier: Apache-2.0
// Private to the source graph: what the builder of each kind is given.
#pragma once

#include <gst/gst.h>

#include "base/err.h"
#include "config/config.h"
#include "pipeline/elements.h"
#include "pipeline/source.h"

struct pk_graph_build {
	const struct pk_source_config *config;
	const struct pk_elements *elements;
	struct pk_source_receiver receiver; // skipped and ctx are used while it runs
	GstElement *pipeline;               // everything goes in here
	GstElement *tail;                   // raw video in system memory goes in here
	bool at_leisure;                    // as fast as it decodes, whenever that is
};

// Each adds its elements and links them to the tail, now or when their pads appear.
int pk_graph_file(const struct pk_graph_build *build, struct pk_err *err);
int pk_graph_images(const struct pk_graph_build *build, struct pk_err *err);
int pk_graph_test(const struct pk_graph_build *build, struct pk_err *err);
int pk_graph_rtsp(const struct pk_graph_build *build, struct pk_err *err);
int pk_graph_gst(const struct pk_graph_build *build, struct pk_err *err);
// v4l2, csi, http: by their plan (plan.h).
int pk_graph_planned(const struct pk_graph_build *build, struct pk_err *err);

// Shared by the builders.
GstElement *pk_graph_add(GstElement *pipeline, const char *factory, struct pk_err *err);
// Launch text as a bin in the pipeline, with a pad "src" at its end, not linked yet. what: for
// errors.
GstElement *pk_graph_add_text(
	GstElement *pipeline, const char *text, const char *what, struct pk_err *err);
// The same for a text that begins with an element that takes a stream: with a pad "sink".
GstElement *pk_graph_add_filter(
	GstElement *pipeline, const char *text, const char *what, struct pk_err *err);
// A decodebin whose video is linked to the tail when it appears, out of an accelerator's memory if
// need be.
GstElement *pk_graph_add_decodebin(const struct pk_graph_build *build, struct pk_err *err);
// The first line of the file, without its end, at most 255 bytes; malloc'ed.
int pk_graph_read_password(const char *path, char **out, struct pk_err *err);
// Sets user, password and TLS of a network source.
int pk_graph_set_access(
	GstElement *element, const struct pk_source_config *config, struct pk_err *err);
