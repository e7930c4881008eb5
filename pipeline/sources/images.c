// SPDX-License-Identifier: Apache-2.0
// Pictures of a folder as a source: read when they are due, the folder again at each loop.
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <gst/app/app.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "pipeline/sources/build.h"

#define PK_IMAGE_MAX_BYTES (64u << 20)

// Lives as long as its appsrc. Streaming thread, after the start.
struct pk_images {
	char *pattern;        // of glob(3)
	const char *suffixes; // " .jpg .jpeg ": those of the first picture's kind
	glob_t found;
	size_t idx;
	bool loop;
	uint64_t n_sent, n_sent_this_turn;
	int64_t interval_ns;
};

static const struct {
	const char *suffixes;
	enum pk_codec codec;
	const char *caps;
} pk_image_kinds[] = {
	{" .jpg .jpeg ", PK_CODEC_JPEG, "image/jpeg"},
	{" .png ", PK_CODEC_PNG, "image/png"},
};

static bool pk_image_is(const char *path, const char *suffixes)
{
	char word[16];
	const char *dot = strrchr(path, '.');
	if (!dot || snprintf(word, sizeof(word), " %s ", dot) >= (int)sizeof(word))
		return false;
	return strcasestr(suffixes, word) != NULL;
}

static void pk_images_free(struct pk_images *images)
{
	if (!images)
		return;
	globfree(&images->found);
	free(images->pattern);
	free(images);
}

static void pk_images_free_data(gpointer data)
{
	pk_images_free(data);
}

// A folder means all that is in it.
static char *pk_images_pattern(const char *uri)
{
	struct stat st;
	if (stat(uri, &st) == 0 && S_ISDIR(st.st_mode))
		return pk_fs_join(uri, "*");
	return strdup(uri);
}

static void pk_images_scan(struct pk_images *images)
{
	globfree(&images->found);
	images->found = (glob_t){0};
	images->idx = 0;
	images->n_sent_this_turn = 0;
	if (glob(images->pattern, 0, NULL, &images->found) != 0)
		images->found.gl_pathc = 0;
}

// The kind of the first picture there is; -1: there is none.
static int pk_images_kind(const struct pk_images *images)
{
	for (size_t i = 0; i < images->found.gl_pathc; i++)
		for (size_t k = 0; k < PK_ARRAY_LEN(pk_image_kinds); k++)
			if (pk_image_is(images->found.gl_pathv[i], pk_image_kinds[k].suffixes))
				return (int)k;
	return -1;
}

// The next picture's path, or NULL at the end.
static const char *pk_images_next(struct pk_images *images)
{
	for (int turn = 0; turn < 2; turn++) {
		while (images->idx < images->found.gl_pathc) {
			const char *path = images->found.gl_pathv[images->idx++];
			if (pk_image_is(path, images->suffixes))
				return path;
		}
		if (!images->loop || images->n_sent_this_turn == 0)
			return NULL; // a turn without a picture would be repeated for ever
		pk_images_scan(images);
	}
	return NULL;
}

static GstBuffer *pk_images_read(const struct pk_images *images, const char *path)
{
	struct pk_buf bytes;
	pk_buf_init(&bytes, PK_IMAGE_MAX_BYTES + 1);
	if (pk_fs_read(path, PK_IMAGE_MAX_BYTES, &bytes, NULL) < 0 || bytes.len == 0) {
		pk_buf_finish(&bytes); // gone or unreadable: it is left out
		return NULL;
	}
	GstBuffer *buffer = gst_buffer_new_wrapped_full(
		0, bytes.data, bytes.len, 0, bytes.len, bytes.data, free);
	GST_BUFFER_PTS(buffer) = images->n_sent * (uint64_t)images->interval_ns;
	GST_BUFFER_DURATION(buffer) = (GstClockTime)images->interval_ns;
	return buffer;
}

static void pk_images_need_data(GstAppSrc *appsrc, guint unused, gpointer user_data)
{
	struct pk_images *images = user_data;
	const char *path;
	while ((path = pk_images_next(images))) {
		GstBuffer *buffer = pk_images_read(images, path);
		if (!buffer)
			continue;
		images->n_sent++;
		images->n_sent_this_turn++;
		gst_app_src_push_buffer(appsrc, buffer);
		return;
	}
	if (images->loop || images->n_sent == 0)
		GST_ELEMENT_ERROR(appsrc, RESOURCE, NOT_FOUND,
			("no picture can be read there any more"), (NULL));
	gst_app_src_end_of_stream(appsrc);
}

static int pk_images_create(
	const struct pk_source_config *config, struct pk_images **out, struct pk_err *err)
{
	struct pk_images *images = calloc(1, sizeof(*images));
	if (!images || !(images->pattern = pk_images_pattern(config->uri))) {
		pk_images_free(images);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	images->loop = config->loop;
	images->interval_ns = (int64_t)((double)PK_NS_PER_S / config->rate_hz);
	pk_images_scan(images);
	int kind = pk_images_kind(images);
	if (kind < 0) {
		pk_images_free(images);
		return pk_fail(err, -ENOENT, "no .jpg, .jpeg or .png picture is there");
	}
	images->suffixes = pk_image_kinds[kind].suffixes;
	*out = images;
	return 0;
}

static GstCaps *pk_images_caps(
	const struct pk_images *images, const struct pk_source_config *config)
{
	gint num, den;
	gst_util_double_to_fraction(config->rate_hz, &num, &den);
	return gst_caps_new_simple(pk_image_kinds[pk_images_kind(images)].caps, "framerate",
		GST_TYPE_FRACTION, num, den, NULL);
}

int pk_graph_images(const struct pk_graph_build *build, struct pk_err *err)
{
	struct pk_images *images = NULL;
	int r = pk_images_create(build->config, &images, err);
	if (r < 0)
		return r;
	GstElement *appsrc = pk_graph_add(build->pipeline, "appsrc", err);
	const char *decoder =
		pk_elements_decoder(build->elements, pk_image_kinds[pk_images_kind(images)].codec);
	GstElement *decode = appsrc && decoder ? pk_graph_add_filter(build->pipeline, decoder,
							 "its decoder", err)
					       : NULL;
	if (!decode) {
		pk_images_free(images);
		return decoder ? -ENOENT : pk_fail(err, -ENOENT, "no decoder is installed");
	}
	GstCaps *caps = pk_images_caps(images, build->config);
	g_object_set(
		appsrc, "format", GST_FORMAT_TIME, "caps", caps, "max-bytes", (guint64)1, NULL);
	gst_caps_unref(caps);
	GstAppSrcCallbacks callbacks = {.need_data = pk_images_need_data};
	gst_app_src_set_callbacks(GST_APP_SRC(appsrc), &callbacks, images, pk_images_free_data);
	if (!gst_element_link_many(appsrc, decode, build->tail, NULL))
		return pk_fail(err, -EINVAL, "cannot connect the pictures to the decoder");
	return 0;
}
