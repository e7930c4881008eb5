// SPDX-License-Identifier: Apache-2.0
// gst-rtsp-server: who may connect, how many, and what they are told when there is nothing to see.
#include <errno.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "pipeline/sinks/restream.h"

#define PK_RESTREAM_ROLE       "viewer"
#define PK_RESTREAM_SECRET_MAX 4096
// Mark of a client that is one too many: it is told so, and hung up on after a moment.
#define PK_RESTREAM_REFUSED    "picket-refused"
#define PK_RESTREAM_REFUSAL_MS 1000

// Clients count themselves out when they close, perhaps after the server.
struct pk_restream_count {
	_Atomic int refs, n_clients, n_refused;
	int max_clients;
};

struct pk_restream_server {
	GstRTSPServer *server;
	GSource *source; // that accepts
	GstRTSPMountPoints *mounts;
	struct pk_restream_count *count;
	bool authorised;
};

static void pk_count_unref(struct pk_restream_count *count)
{
	if (count && atomic_fetch_sub(&count->refs, 1) == 1)
		free(count);
}

static void pk_restream_on_closed(GstRTSPClient *client, gpointer user_data)
{
	struct pk_restream_count *count = user_data;
	atomic_fetch_sub(&count->n_clients, 1);
	pk_count_unref(count);
}

// 503 at once: to one too many, and instead of a wait for pictures that do not come.
static GstRTSPStatusCode pk_restream_on_describe(
	GstRTSPClient *client, GstRTSPContext *context, gpointer unused)
{
	if (g_object_get_data(G_OBJECT(client), PK_RESTREAM_REFUSED))
		return GST_RTSP_STS_SERVICE_UNAVAILABLE;
	GstRTSPMountPoints *mounts = gst_rtsp_client_get_mount_points(client);
	GstRTSPMediaFactory *factory = mounts && context->uri ? gst_rtsp_mount_points_match(mounts,
									context->uri->abspath, NULL)
							      : NULL;
	struct pk_restream_stream *stream = factory ? pk_restream_factory_stream(factory) : NULL;
	bool silent = stream && !pk_restream_stream_is_there(stream);
	g_clear_object(&factory);
	g_clear_object(&mounts);
	return silent ? GST_RTSP_STS_SERVICE_UNAVAILABLE : GST_RTSP_STS_OK;
}

static gboolean pk_restream_refuse(gpointer data)
{
	gst_rtsp_client_close(data);
	return G_SOURCE_REMOVE;
}

static void pk_restream_on_client(GstRTSPServer *server, GstRTSPClient *client, gpointer user_data)
{
	struct pk_restream_count *count = user_data;
	atomic_fetch_add(&count->refs, 1);
	int n = atomic_fetch_add(&count->n_clients, 1) + 1;
	g_signal_connect(client, "closed", G_CALLBACK(pk_restream_on_closed), count);
	g_signal_connect(client, "pre-describe-request", G_CALLBACK(pk_restream_on_describe), NULL);
	if (n <= count->max_clients)
		return;
	atomic_fetch_add(&count->n_refused, 1);
	g_object_set_data(G_OBJECT(client), PK_RESTREAM_REFUSED, count);
	GSource *timer = g_timeout_source_new(PK_RESTREAM_REFUSAL_MS);
	g_source_set_callback(timer, pk_restream_refuse, g_object_ref(client), g_object_unref);
	g_source_attach(timer, g_main_context_get_thread_default());
	g_source_unref(timer);
}

static int pk_restream_authorise(struct pk_restream_server *server,
	const struct pk_restream_server_setup *setup, struct pk_err *err)
{
	if (!*setup->user)
		return 0;
	pk_auto_buf struct pk_buf secret;
	pk_buf_init(&secret, PK_RESTREAM_SECRET_MAX + 1);
	int r = pk_fs_read(setup->password_file, PK_RESTREAM_SECRET_MAX, &secret, err);
	if (r < 0)
		return r;
	if (secret.len)
		secret.data[strcspn(secret.data, "\r\n")] = '\0';
	if (!*pk_buf_cstr(&secret))
		return pk_fail(err, -EINVAL, "%s: no password in it", setup->password_file);
	GstRTSPAuth *auth = gst_rtsp_auth_new();
	GstRTSPToken *token = gst_rtsp_token_new(
		GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, PK_RESTREAM_ROLE, NULL);
	gst_rtsp_auth_set_supported_methods(auth, GST_RTSP_AUTH_DIGEST);
	gst_rtsp_auth_add_digest(auth, setup->user, secret.data, token);
	gst_rtsp_token_unref(token);
	gst_rtsp_server_set_auth(server->server, auth);
	g_object_unref(auth);
	explicit_bzero(secret.data, secret.cap);
	server->authorised = true;
	return 0;
}

static int pk_restream_listen(struct pk_restream_server *server,
	const struct pk_restream_server_setup *setup, struct pk_err *err)
{
	char port[16];
	GError *error = NULL;
	snprintf(port, sizeof(port), "%d", setup->port);
	gst_rtsp_server_set_address(server->server, setup->address);
	gst_rtsp_server_set_service(server->server, port);
	server->source = gst_rtsp_server_create_source(server->server, NULL, &error);
	if (!server->source) {
		pk_fail(err, -EADDRINUSE, "cannot listen on %s port %s: %s", setup->address, port,
			error ? error->message : "no reason given");
		g_clear_error(&error);
		return -EADDRINUSE;
	}
	g_source_attach(server->source, g_main_context_get_thread_default());
	return 0;
}

// A client that waits for the first picture of its stream must not make others wait.
static void pk_restream_set_threads(struct pk_restream_server *server, int n)
{
	GstRTSPThreadPool *pool = gst_rtsp_server_get_thread_pool(server->server);
	gst_rtsp_thread_pool_set_max_threads(pool, n);
	g_object_unref(pool);
}

int pk_restream_server_create(const struct pk_restream_server_setup *setup,
	struct pk_restream_server **out, struct pk_err *err)
{
	struct pk_restream_server *server = calloc(1, sizeof(*server));
	struct pk_restream_count *count = calloc(1, sizeof(*count));
	if (!server || !count) {
		free(server);
		free(count);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	count->refs = 1;
	count->max_clients = setup->max_clients;
	server->count = count;
	server->server = gst_rtsp_server_new();
	server->mounts = gst_rtsp_server_get_mount_points(server->server);
	pk_restream_set_threads(server, setup->max_clients);
	g_signal_connect(
		server->server, "client-connected", G_CALLBACK(pk_restream_on_client), count);
	int r = pk_restream_authorise(server, setup, err);
	if (r == 0)
		r = pk_restream_listen(server, setup, err);
	if (r < 0) {
		pk_restream_server_destroy(server);
		return r;
	}
	*out = server;
	return 0;
}

static GstRTSPFilterResult pk_restream_hang_up(
	GstRTSPServer *server, GstRTSPClient *client, gpointer unused)
{
	return GST_RTSP_FILTER_REMOVE;
}

void pk_restream_server_destroy(struct pk_restream_server *server)
{
	if (!server)
		return;
	if (server->source) {
		g_source_destroy(server->source);
		g_source_unref(server->source);
	}
	g_list_free(gst_rtsp_server_client_filter(server->server, pk_restream_hang_up, NULL));
	g_object_unref(server->mounts);
	g_object_unref(server->server);
	pk_count_unref(server->count);
	free(server);
}

void pk_restream_server_mount(
	struct pk_restream_server *server, const char *path, struct pk_restream_stream *stream)
{
	GstRTSPMediaFactory *factory = pk_restream_factory_create(stream);
	if (server->authorised)
		gst_rtsp_media_factory_add_role(factory, PK_RESTREAM_ROLE,
			GST_RTSP_PERM_MEDIA_FACTORY_ACCESS, G_TYPE_BOOLEAN, TRUE,
			GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT, G_TYPE_BOOLEAN, TRUE, NULL);
	gst_rtsp_mount_points_add_factory(server->mounts, path, factory);
}

void pk_restream_server_unmount(struct pk_restream_server *server, const char *path)
{
	gst_rtsp_mount_points_remove_factory(server->mounts, path);
}

int pk_restream_server_n_clients(const struct pk_restream_server *server)
{
	return atomic_load(&server->count->n_clients);
}

int pk_restream_server_n_refused(const struct pk_restream_server *server)
{
	return atomic_load(&server->count->n_refused);
}
