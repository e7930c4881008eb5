// SPDX-License-Identifier: Apache-2.0
// A page that outlives its process: what each thread was doing when a crash or a hang ended it.
// Made by the parent, mapped by the child, read by the parent afterwards.
#pragma once

#include <stdbool.h>

#include "base/attr.h"

enum pk_blackbox_work {
	PK_BLACKBOX_NONE,
	PK_BLACKBOX_CONFIG, // takes a config
	PK_BLACKBOX_LOAD,   // loads an engine: model
	PK_BLACKBOX_INFER,  // runs an engine: model, runtime, camera
	PK_BLACKBOX_CAMERA, // has a picture of a camera in hand
	PK_N_BLACKBOX_WORKS,
};
const char *pk_blackbox_work_name(enum pk_blackbox_work work); // "none", "config", "load", …

#define PK_BLACKBOX_NAME 64

struct pk_blackbox_mark {
	enum pk_blackbox_work work;
	char model[PK_BLACKBOX_NAME], camera[PK_BLACKBOX_NAME], runtime[PK_BLACKBOX_NAME]; // or ""
};

struct pk_blackbox_report {
	struct pk_blackbox_mark crashed; // of the thread that got a fatal signal; NONE: none did
	char thread[16];                 // its name; ""
	// What was under way, in any thread, when the process ended.
	struct pk_blackbox_mark loading, inferring;
};

// Parent: a descriptor for the page, close-on-exec, or -errno. What the child left in it, every
// text bounded and ended; false when there is nothing of this version.
int pk_blackbox_create(void) pk_must_check;
bool pk_blackbox_read(int fd, struct pk_blackbox_report *out);

// Child, once, before other threads: maps the page and has fatal signals noted before they do what
// they do anyway. 0 or -errno; without it marks go nowhere.
int pk_blackbox_open(int fd);

// Any thread: from here until leave it works on this; names may be NULL. Nothing is allocated or
// locked. Not nested.
void pk_blackbox_enter(
	enum pk_blackbox_work work, const char *model, const char *camera, const char *runtime);
void pk_blackbox_leave(void);
