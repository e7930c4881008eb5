// SPDX-License-Identifier: Apache-2.0
// The cameras' own encoded streams over RTSP, whatever becomes of inference: a server on a thread
// of its own, a mount for each camera that is routed here.
#include <errno.h>
#include <gst/gst.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/thread.h"
#include "pipeline/roster.h"
#include "pipeline/sink.h"
#include "pipeline/sinks/restream.h"
#include "pipeline/sinks/restream_encoder.h"

#define PK_RESTREAM_TURN_MS  250
#define PK_RESTREAM_RETRY_NS PK_NS_PER_S
#define PK_RESTREAM_JOIN_NS  (3 * PK_NS_PER_S / 2)
// A camera that runs for so long without an encoded picture has none.
#define PK_RESTREAM_RAW_NS (3 * PK_NS_PER_S)

struct pk_restream_camera {
	char name[64];
	struct pk_relay *relay;
	struct pk_restream_stream *stream, *overlay;           // overlay: NULL when not wanted
	struct pk_restream_encoder *encoder, *overlay_encoder; // likewise
	bool listed;
	int64_t running_ns; // since when; 0: it does not run
};

struct pk_restream {
	struct pk_sink sink;
	char *address, *user, *password_file;
	int port, max_clients;
	bool encode, with_overlay;
	const char *encoder_element; // NULL: none is installed
	pthread_t thread;
	GMainContext *context;
	GMainLoop *loop;
	// Own thread only
	struct pk_restream_server *server;
	int64_t retry_ns;
	uint64_t roster_version;
	PK_ARRAY(struct pk_restream_camera) cameras; // changed under lock: inference reads it
	pthread_mutex_t lock;
	uint64_t n_dropped_gone; // of streams that are no more
	char complaint[256];     // told last; "" all is well
};

static struct pk_restream_camera *pk_restream_find(struct pk_restream *restream, const char *name)
{
	pk_array_each (camera, &restream->cameras) {
		if (strcmp(camera->name, name) == 0)
			return camera;
	}
	return NULL;
}

// What passes here is the stream itself; results only matter where pictures are encoded.
static bool pk_restream_take(
	struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	struct pk_restream *restream = (struct pk_restream *)sink;
	if (!restream->encode && !restream->with_overlay)
		return true;
	pthread_mutex_lock(&restream->lock);
	struct pk_restream_camera *camera = pk_restream_find(restream, result->camera);
	if (camera && camera->encoder)
		pk_restream_encoder_offer(camera->encoder, result);
	if (camera && camera->overlay_encoder)
		pk_restream_encoder_offer(camera->overlay_encoder, result);
	pthread_mutex_unlock(&restream->lock);
	return true;
}

static void pk_restream_say(struct pk_restream *restream, int code, const char *text)
{
	if (strncmp(restream->complaint, text, sizeof(restream->complaint) - 1) == 0)
		return;
	snprintf(restream->complaint, sizeof(restream->complaint), "%s", text);
	pk_sink_fault(&restream->sink, code, text);
}

static void pk_restream_mount(struct pk_restream *restream, const struct pk_restream_camera *camera)
{
	char path[80];
	if (!restream->server)
		return;
	snprintf(path, sizeof(path), "/%s", camera->name);
	if (camera->stream)
		pk_restream_server_mount(restream->server, path, camera->stream);
	snprintf(path, sizeof(path), "/%s/overlay", camera->name);
	if (camera->overlay)
		pk_restream_server_mount(restream->server, path, camera->overlay);
}

static void pk_restream_unmount(
	struct pk_restream *restream, const struct pk_restream_camera *camera)
{
	char path[80];
	if (!restream->server)
		return;
	snprintf(path, sizeof(path), "/%s", camera->name);
	if (camera->stream)
		pk_restream_server_unmount(restream->server, path);
	snprintf(path, sizeof(path), "/%s/overlay", camera->name);
	if (camera->overlay)
		pk_restream_server_unmount(restream->server, path);
}

static void pk_restream_start_server(struct pk_restream *restream)
{
	const struct pk_restream_server_setup setup = {.address = restream->address,
		.port = restream->port,
		.max_clients = restream->max_clients,
		.user = restream->user,
		.password_file = restream->password_file};
	struct pk_err err = {0};
	int r = pk_restream_server_create(&setup, &restream->server, &err);
	restream->retry_ns = pk_now_ns() + PK_RESTREAM_RETRY_NS;
	if (r < 0) {
		pk_restream_say(restream, r, pk_err_text(&err, r));
		return;
	}
	pk_array_each (camera, &restream->cameras)
		pk_restream_mount(restream, camera);
}

static uint64_t pk_restream_n_dropped(const struct pk_restream_camera *camera)
{
	return (camera->stream ? atomic_load(&camera->stream->n_dropped) : 0) +
	       (camera->overlay ? atomic_load(&camera->overlay->n_dropped) : 0);
}

// Of a camera that inference does not find any more.
static void pk_restream_drop(struct pk_restream *restream, struct pk_restream_camera *camera)
{
	pk_restream_unmount(restream, camera);
	restream->n_dropped_gone += pk_restream_n_dropped(camera);
	pk_restream_stream_unref(camera->stream);
	pk_restream_stream_unref(camera->overlay);
	pk_restream_encoder_destroy(camera->encoder);
	pk_restream_encoder_destroy(camera->overlay_encoder);
	pk_relay_unref(camera->relay);
}

// Without memory for one of them there is that much less to see.
static struct pk_restream_encoder *pk_restream_make_encoder(
	const struct pk_restream *restream, bool wanted, bool boxes)
{
	struct pk_restream_encoder *encoder = NULL;
	if (wanted && restream->encoder_element &&
		pk_restream_encoder_create(boxes, &encoder, NULL) < 0)
		return NULL;
	return encoder;
}

static void pk_restream_open(struct pk_restream *restream, const struct pk_roster_camera *from)
{
	struct pk_restream_camera camera = {.relay = pk_relay_ref(from->relay)};
	snprintf(camera.name, sizeof(camera.name), "%s", from->name);
	pk_relay_keep(camera.relay);
	camera.encoder = pk_restream_make_encoder(restream, restream->encode, false);
	camera.overlay_encoder = pk_restream_make_encoder(restream, restream->with_overlay, true);
	camera.stream = pk_restream_stream_create(
		camera.relay, camera.encoder ? pk_restream_encoder_relay(camera.encoder) : NULL);
	if (camera.overlay_encoder)
		camera.overlay = pk_restream_stream_create(
			NULL, pk_restream_encoder_relay(camera.overlay_encoder));
	pthread_mutex_lock(&restream->lock);
	struct pk_restream_camera *place = pk_array_push(&restream->cameras);
	if (place)
		*place = camera;
	pthread_mutex_unlock(&restream->lock);
	if (place)
		pk_restream_mount(restream, place);
	else
		pk_restream_drop(restream, &camera);
}

static void pk_restream_take_out(struct pk_restream *restream, size_t i)
{
	struct pk_restream_camera gone = restream->cameras.items[i];
	pthread_mutex_lock(&restream->lock);
	restream->cameras.items[i] = restream->cameras.items[--restream->cameras.n];
	pthread_mutex_unlock(&restream->lock);
	pk_restream_drop(restream, &gone);
}

// Another relay: another camera of the same name, with another source.
static void pk_restream_list(struct pk_restream *restream, const struct pk_roster_camera *from)
{
	struct pk_restream_camera *camera = pk_restream_find(restream, from->name);
	if (camera && camera->relay != from->relay) {
		pk_restream_take_out(restream, (size_t)(camera - restream->cameras.items));
		camera = NULL;
	}
	if (!camera) {
		pk_restream_open(restream, from);
		camera = pk_restream_find(restream, from->name);
	}
	if (!camera)
		return;
	camera->listed = true;
	if (from->state != PK_CAMERA_RUNNING && from->state != PK_CAMERA_DEGRADED)
		camera->running_ns = 0;
	else if (!camera->running_ns)
		camera->running_ns = pk_now_ns();
}

static void pk_restream_sync(struct pk_restream *restream)
{
	struct pk_roster *roster = restream->sink.env.roster;
	uint64_t version = roster ? pk_roster_version(roster) : restream->roster_version;
	if (version == restream->roster_version)
		return;
	restream->roster_version = version;
	pk_array_each (camera, &restream->cameras)
		camera->listed = false;
	struct pk_roster_camera from;
	for (size_t at = 0; pk_roster_next(roster, restream->sink.name, &at, &from);) {
		pk_restream_list(restream, &from);
		pk_relay_unref(from.relay);
	}
	for (size_t i = restream->cameras.n; i-- > 0;)
		if (!restream->cameras.items[i].listed)
			pk_restream_take_out(restream, i);
}

// A camera that has no encoded stream is a mistake in the configuration that shows only now.
static void pk_restream_check(struct pk_restream *restream)
{
	char text[sizeof(restream->complaint)] = "";
	int64_t now_ns = pk_now_ns(), last_ns;
	pk_array_each (camera, &restream->cameras) {
		char media[32];
		pk_relay_look(camera->relay, media, &last_ns);
		bool raw = !restream->encode && camera->running_ns && !media[0] &&
			   now_ns - camera->running_ns > PK_RESTREAM_RAW_NS;
		if (raw && !text[0])
			snprintf(text, sizeof(text),
				"camera `%s` delivers raw pictures: they need `encode: true`",
				camera->name);
	}
	if ((restream->encode || restream->with_overlay) && !restream->encoder_element)
		snprintf(text, sizeof(text),
			"nothing is encoded: no H.264 encoder is installed (nvv4l2h264enc, "
			"x264enc or openh264enc); encoded streams pass through");
	if (restream->server)
		pk_restream_say(restream, text[0] ? -EINVAL : 0, text);
}

static void pk_restream_count(struct pk_restream *restream)
{
	uint64_t n = 0, n_dropped = restream->n_dropped_gone;
	pk_array_each (camera, &restream->cameras)
		n_dropped += pk_restream_n_dropped(camera);
	atomic_store(&restream->sink.n_evicted, n_dropped);
	if (restream->server) {
		n = (uint64_t)pk_restream_server_n_clients(restream->server);
		atomic_store(&restream->sink.n_readers_dropped,
			(uint64_t)pk_restream_server_n_refused(restream->server));
	}
	atomic_store(&restream->sink.n_readers, n);
}

static gboolean pk_restream_turn(gpointer data)
{
	struct pk_restream *restream = data;
	if (!restream->server && pk_now_ns() >= restream->retry_ns)
		pk_restream_start_server(restream);
	pk_restream_sync(restream);
	pk_restream_check(restream);
	pk_restream_count(restream);
	return G_SOURCE_CONTINUE;
}

static void *pk_restream_run(void *arg)
{
	struct pk_restream *restream = arg;
	g_main_context_push_thread_default(restream->context);
	GSource *timer = g_timeout_source_new(PK_RESTREAM_TURN_MS);
	g_source_set_callback(timer, pk_restream_turn, restream, NULL);
	g_source_attach(timer, restream->context);
	pk_restream_turn(restream);
	g_main_loop_run(restream->loop);
	g_source_destroy(timer);
	g_source_unref(timer);
	pk_restream_server_destroy(restream->server);
	restream->server = NULL;
	g_main_context_pop_thread_default(restream->context);
	return NULL;
}

static void pk_restream_free(struct pk_restream *restream)
{
	pk_array_each (camera, &restream->cameras)
		pk_restream_drop(restream, camera);
	pk_array_finish(&restream->cameras);
	pthread_mutex_destroy(&restream->lock);
	if (restream->loop)
		g_main_loop_unref(restream->loop);
	if (restream->context)
		g_main_context_unref(restream->context);
	free(restream->address);
	free(restream->user);
	free(restream->password_file);
	pk_sink_finish(&restream->sink);
	free(restream);
}

// Also when the loop does not run yet: it is told from within.
static gboolean pk_restream_quit(gpointer data)
{
	g_main_loop_quit(((struct pk_restream *)data)->loop);
	return G_SOURCE_REMOVE;
}

static void pk_restream_destroy(struct pk_sink *sink)
{
	struct pk_restream *restream = (struct pk_restream *)sink;
	GSource *quit = g_idle_source_new();
	g_source_set_callback(quit, pk_restream_quit, restream, NULL);
	g_source_attach(quit, restream->context);
	g_source_unref(quit);
	if (pk_thread_join(restream->thread, PK_RESTREAM_JOIN_NS))
		pk_restream_free(restream);
}

static int pk_restream_prepare(struct pk_restream *restream, const struct pk_sink_config *config)
{
	restream->address = strdup(config->host);
	restream->user = strdup(config->user);
	restream->password_file = strdup(config->password_file);
	restream->port = config->port;
	restream->max_clients = config->max_clients;
	restream->encode = config->encode;
	restream->with_overlay = config->overlay;
	restream->encoder_element = pk_restream_encoder_element();
	restream->context = g_main_context_new();
	restream->loop = g_main_loop_new(restream->context, FALSE);
	if (!restream->address || !restream->user || !restream->password_file)
		return -ENOMEM;
	return pk_thread_start(&restream->thread, "pk-restream", pk_restream_run, restream);
}

static int pk_restream_create(const struct pk_sink_config *config, const struct pk_sink_env *env,
	struct pk_sink **out, struct pk_err *err)
{
	struct pk_restream *restream = calloc(1, sizeof(*restream));
	if (!restream)
		return pk_fail(err, -ENOMEM, "out of memory");
	gst_init(NULL, NULL);
	pthread_mutex_init(&restream->lock, NULL);
	pk_sink_init(&restream->sink, &pk_sink_restream, config, env);
	int r = pk_restream_prepare(restream, config);
	if (r < 0) {
		pk_restream_free(restream);
		return pk_fail(err, r, "cannot start its thread");
	}
	*out = &restream->sink;
	return 0;
}

const struct pk_sink_ops pk_sink_restream = {
	.kind = PK_SINK_RESTREAM,
	.create = pk_restream_create,
	.take = pk_restream_take,
	.destroy = pk_restream_destroy,
};
