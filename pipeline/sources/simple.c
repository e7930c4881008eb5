// SPDX-License-Identifier: Apache-2.0
// Sources of one element or of the operator's own: file, test, gst.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/sources/build.h"

int pk_graph_file(const struct pk_graph_build *build, struct pk_err *err)
{
	const char *path = build->config->uri;
	if (access(path, R_OK) < 0)
		return pk_fail(err, -errno, "%s", strerror(errno));
	GstElement *file = pk_graph_add(build->pipeline, "filesrc", err);
	GstElement *decode = file ? pk_graph_add_decodebin(build, err) : NULL;
	if (!decode)
		return -ENOENT;
	g_object_set(file, "location", path, NULL);
	if (!gst_element_link(file, decode))
		return pk_fail(err, -EINVAL, "cannot connect the file to the decoder");
	return 0;
}

static int pk_graph_set_pattern(GstElement *test, const char *nick, struct pk_err *err)
{
	GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(test), "pattern");
	GEnumClass *patterns = G_ENUM_CLASS(g_type_class_ref(spec->value_type));
	GEnumValue *value = g_enum_get_value_by_nick(patterns, nick);
	if (value)
		g_object_set(test, "pattern", value->value, NULL);
	g_type_class_unref(patterns);
	return value ? 0 : pk_fail(err, -EINVAL, "there is no test pattern \"%s\"", nick);
}

int pk_graph_test(const struct pk_graph_build *build, struct pk_err *err)
{
	const struct pk_source_config *config = build->config;
	GstElement *test = pk_graph_add(build->pipeline, "videotestsrc", err);
	if (!test)
		return -ENOENT;
	int r = pk_graph_set_pattern(test, config->pattern, err);
	if (r < 0)
		return r;
	g_object_set(test, "is-live", TRUE, NULL);
	gint num = 15, den = 1;
	gst_util_double_to_fraction(config->rate_hz, &num, &den);
	GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "I420", "width",
		G_TYPE_INT, config->width, "height", G_TYPE_INT, config->height, "framerate",
		GST_TYPE_FRACTION, num, den, NULL);
	gboolean linked = gst_element_link_filtered(test, build->tail, caps);
	gst_caps_unref(caps);
	if (!linked)
		return pk_fail(err, -EINVAL, "cannot make %dx%d pictures at %g/s", config->width,
			config->height, config->rate_hz);
	return 0;
}

int pk_graph_gst(const struct pk_graph_build *build, struct pk_err *err)
{
	GstElement *bin = pk_graph_add_text(build->pipeline, build->config->launch, "launch", err);
	if (!bin)
		return -EINVAL;
	return gst_element_link(bin, build->tail)
		       ? 0
		       : pk_fail(err, -EINVAL, "launch: does not end in raw video");
}
