// SPDX-License-Identifier: Apache-2.0
// The control socket: HTTP/1.1 + JSON as control_api.h says, served from the loop.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "daemon/daemon.h"
#include "daemon/events.h"
#include "daemon/loop.h"

#define PK_CONTROL_MAX_BODY        (1u << 20) // of a config
#define PK_CONTROL_MAX_CONNECTIONS 128
#define PK_CONTROL_MAX_FOLLOWERS   32

struct pk_control;

// Listens on path (mode 0660). -EADDRINUSE: another picketd answers there; a socket that nobody
// listens on is replaced. Becomes the listener of events.
int pk_control_create(struct pk_loop *loop, const char *path, struct pk_daemon *daemon,
	struct pk_events *events, struct pk_control **out, struct pk_err *err) pk_must_check;
void pk_control_destroy(struct pk_control *control); // ends all answers, removes the socket
PK_DEFINE_AUTO(pk_control, pk_control_destroy);
