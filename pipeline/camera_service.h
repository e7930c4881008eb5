// SPDX-License-Identifier: Apache-2.0
// Restarts the board's camera service, which all csi cameras share: the second step of recovery.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "config/config.h"

// config: const struct pk_source_config *. Whether it names a command and none was run by any
// camera of this process in the last PK_LADDER_SERVICE_NS; then that is taken. Any thread.
bool pk_camera_service_claim(void *config);
// Runs config->recovery for up to 30 s or until `stopping`, and says in text what came of it.
void pk_camera_service_restart(const struct pk_source_config *config, bool (*stopping)(void *ctx),
	void *ctx, char text[PK_ERR_TEXT_MAX]);
