// SPDX-License-Identifier: Apache-2.0
// GET /metrics on a loopback port, for a collector on this machine: read only, nothing else.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "daemon/loop.h"

struct pk_metrics_port;

// address: "127.0.0.1:9469" or "[::1]:9469". write gives the text (daemon/metrics.h). -EINVAL: not
// a loopback address; -EADDRINUSE.
int pk_metrics_port_create(struct pk_loop *loop, const char *address,
	void (*write)(void *ctx, bool open, struct pk_buf *out), void *ctx,
	struct pk_metrics_port **out, struct pk_err *err) pk_must_check;
void pk_metrics_port_destroy(struct pk_metrics_port *port);
PK_DEFINE_AUTO(pk_metrics_port, pk_metrics_port_destroy);
const char *pk_metrics_port_address(const struct pk_metrics_port *port);
