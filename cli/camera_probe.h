// SPDX-License-Identifier: Apache-2.0
// Runs picket-worker --probe as a child: picketctl itself knows no video.
#pragma once

#include <jansson.h>

#include "base/attr.h"
#include "base/err.h"

struct pk_camera_probe {
	const char *config; // a whole document
	const char *camera; // a name in it
	double seconds;
	const char *snapshot; // NULL: none
};

// Progress goes to stderr. *line: its last line, a report or a failure (daemon/worker_probe.h), or
// NULL; the caller's reference in either outcome. 0 when it is a report.
int pk_camera_probe_run(const struct pk_camera_probe *probe, json_t **line, struct pk_err *err)
	pk_must_check;
