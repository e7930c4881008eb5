// SPDX-License-Identifier: Apache-2.0
// Why a network camera cannot be reached: asked of the network itself when the client did not say.
#pragma once

#include "base/attr.h"

// Connects to the address's host and port (rtsp 554, rtsps 322, http 80, https 443 by default) and
// hangs up. 0: it can be reached; -ECONNREFUSED, -ETIMEDOUT after timeout_ms, -EHOSTUNREACH (also
// when the name is unknown) or another -errno. -EINVAL: no such address. Blocks, looking up a name
// also for longer.
int pk_reach(const char *uri, int timeout_ms) pk_must_check;
