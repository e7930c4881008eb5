// SPDX-License-Identifier: Apache-2.0
// Socket addresses in a config: "127.0.0.1:9469", "[::1]:9469".
#pragma once

#include <sys/socket.h>

#include "base/attr.h"
#include "base/err.h"

// Reads an address of this machine alone. -EINVAL with the reason, which reads after "`key` ".
int pk_address_loopback(const char *text, struct sockaddr_storage *out, socklen_t *n,
	struct pk_err *err) pk_must_check;
