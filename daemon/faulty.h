// SPDX-License-Identifier: Apache-2.0
// Cameras whose pictures keep ending the worker: which of them are set aside, and for how long, so
// that the others go on. Pure: no clock, no I/O.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "config/config.h"

#define PK_FAULTY_FROM 3 // ends of the worker by one camera

struct pk_faulty_camera {
	char name[64];
	unsigned n;       // ends in a row
	int64_t last_ns;  // the last of them
	int64_t until_ns; // set aside until then; 0: it is not
	int64_t wait_ns;  // how long the next time, at least
};

// Zero-initialise.
struct pk_faulty {
	PK_ARRAY(struct pk_faulty_camera) items;
};
void pk_faulty_finish(struct pk_faulty *faulty);

// The worker has crashed with this camera's picture in hand. The third time within ten minutes, and
// each time after it came back, it is set aside: for a minute, then for twice as long up to an
// hour. What it is then, or NULL: it goes on.
const struct pk_faulty_camera *pk_faulty_crashed(
	struct pk_faulty *faulty, const char *camera, int64_t now_ns);
bool pk_faulty_is_aside(const struct pk_faulty *faulty, const char *camera);
// When the next one is to be tried again; INT64_MAX: none is set aside.
int64_t pk_faulty_next_ns(const struct pk_faulty *faulty);
// One whose time has come, which goes on from now; NULL: none (any more).
const struct pk_faulty_camera *pk_faulty_release(struct pk_faulty *faulty, int64_t now_ns);
// Its config is another one, or it is gone: nothing counts against it any more.
void pk_faulty_forget(struct pk_faulty *faulty, const char *camera);

// config without the cameras that are set aside, as pk_config_dump writes it. NULL: no memory.
char *pk_faulty_dump(const struct pk_faulty *faulty, const struct pk_config *config);
