// SPDX-License-Identifier: Apache-2.0
// Private to the restream sink: the RTSP server behind it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "pipeline/sinks/restream_feed.h"

struct pk_restream_server;

// Strings are copied.
struct pk_restream_server_setup {
	const char *address;
	int port, max_clients;
	const char *user, *password_file; // user "": everybody may look
};

// On the thread whose default GMainContext is to serve it; that thread owns it. -EADDRINUSE and
// others with the reason.
int pk_restream_server_create(const struct pk_restream_server_setup *setup,
	struct pk_restream_server **out, struct pk_err *err) pk_must_check;
void pk_restream_server_destroy(struct pk_restream_server *server); // hangs up on all clients

// path: "/camera". A stream that is there already stays as it is.
void pk_restream_server_mount(
	struct pk_restream_server *server, const char *path, struct pk_restream_stream *stream);
// Clients that it has go on until they leave or the server is destroyed.
void pk_restream_server_unmount(struct pk_restream_server *server, const char *path);
int pk_restream_server_n_clients(const struct pk_restream_server *server);
int pk_restream_server_n_refused(const struct pk_restream_server *server); // there were too many
