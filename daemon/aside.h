// SPDX-License-Identifier: Apache-2.0
// Sets cameras aside that keep ending the worker (daemon/faulty.h), and takes them back in time.
// Loop's thread.
#pragma once

#include "config/diff.h"
#include "daemon/cameras.h"
#include "daemon/faulty.h"
#include "daemon/loop.h"

struct pk_aside {
	struct pk_loop *loop;
	struct pk_cameras *cameras;
	void (*changed)(void *ctx); // the worker's config is another one
	void *ctx;
	struct pk_faulty faulty;
	struct pk_timer timer;
};

// Zeroed before; loop and cameras outlive it.
void pk_aside_init(struct pk_aside *aside, struct pk_loop *loop, struct pk_cameras *cameras,
	void (*changed)(void *ctx), void *ctx);
void pk_aside_finish(struct pk_aside *aside); // safe on a zeroed one

// The worker crashed over this camera (NULL: over none).
void pk_aside_crashed(struct pk_aside *aside, const char *camera, const char *cause);
// A camera whose config is another one deserves another try. Before the worker gets the config.
void pk_aside_apply(struct pk_aside *aside, const struct pk_config_diff *diff);
// config without those that are set aside, as pk_config_dump writes it. NULL: no memory.
char *pk_aside_dump(const struct pk_aside *aside, const struct pk_config *config);
