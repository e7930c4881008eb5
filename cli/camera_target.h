// SPDX-License-Identifier: Apache-2.0
// What `picketctl camera test` was asked to look at, as a configuration.
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "config/problem.h"

struct pk_camera_target {
	const char *text;                 // a camera's name, or an address
	const char *user, *password_file; // NULL: none; for addresses
	bool udp, insecure;               // likewise
};

// *config: a whole configuration document, *camera: the name in it; both malloc'ed, the caller's.
// -EINVAL with problems for what is wrong in a config or address; else err says why not.
int pk_camera_target_config(const struct pk_camera_target *target, char **config, char **camera,
	struct pk_problems *problems, struct pk_err *err) pk_must_check;
