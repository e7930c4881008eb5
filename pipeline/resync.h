// SPDX-License-Identifier: Apache-2.0
// After a loss: which encoded pictures must not be decoded, because they lean on what is missing.
#pragma once

#include <stdbool.h>

// Zero-initialise. One thread.
struct pk_resync {
	bool begun;   // the first picture came
	bool waiting; // for a key frame
};

// Whether this picture may be decoded. lost: something is missing before or in it; leans: it is no
// key frame. A key frame that comes with a loss may itself be the damaged one: it is left out too.
// Before the very first picture nothing can be missing; it too must be a key frame.
bool pk_resync_pass(struct pk_resync *resync, bool lost, bool leans);
