// SPDX-License-Identifier: Apache-2.0
// Runs the operator's command that restarts the board's camera service.
#include "pipeline/camera_service.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/subprocess.h"
#include "pipeline/ladder.h"

#define PK_SERVICE_TURN_MS 100
#define PK_SERVICE_TURNS   300

static _Atomic int64_t pk_service_last_ns;

bool pk_camera_service_claim(void *config)
{
	const struct pk_source_config *source = config;
	return source->n_recovery > 0 && pk_ladder_claim(&pk_service_last_ns, pk_now_ns());
}

static int pk_service_wait(struct pk_subprocess *proc, bool (*stopping)(void *ctx), void *ctx,
	struct pk_exit_status *status)
{
	int r = 0;
	for (int i = 0; i < PK_SERVICE_TURNS && r == 0 && !stopping(ctx); i++)
		r = pk_subprocess_wait(proc, PK_SERVICE_TURN_MS, status);
	if (r != 0)
		return r;
	(void)pk_subprocess_signal(proc, SIGKILL);
	return pk_subprocess_wait(proc, -1, status);
}

void pk_camera_service_restart(const struct pk_source_config *config, bool (*stopping)(void *ctx),
	void *ctx, char text[PK_ERR_TEXT_MAX])
{
	struct pk_subprocess proc = {.pidfd = -1};
	struct pk_exit_status status;
	struct pk_err err = {0};
	char ended[PK_EXIT_TEXT_MAX];
	const struct pk_subprocess_options options = {
		.argv = (const char *const *)config->recovery};
	int r = pk_subprocess_start(&proc, &options, &err);
	if (r == 0)
		r = pk_service_wait(&proc, stopping, ctx, &status);
	if (r < 0) {
		snprintf(text, PK_ERR_TEXT_MAX, "the camera service could not be restarted: %.400s",
			pk_err_text(&err, r));
		return;
	}
	pk_exit_status_format(&status, ended);
	snprintf(text, PK_ERR_TEXT_MAX, "the camera service was restarted: %.200s … ended with %s",
		config->recovery[0], ended);
}
