// SPDX-License-Identifier: Apache-2.0
// picketd itself: brings the parts of the control plane together. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "config/config.h"
#include "daemon/events.h"
#include "daemon/model.h"
#include "daemon/paths.h"

struct pk_daemon;

// Takes config. paths outlives the daemon. On failure nothing was started.
int pk_daemon_create(const struct pk_paths *paths, struct pk_config *config, struct pk_daemon **out,
	struct pk_err *err) pk_must_check;
void pk_daemon_destroy(struct pk_daemon *daemon);
PK_DEFINE_AUTO(pk_daemon, pk_daemon_destroy);
// Runs until SIGTERM or SIGINT. 0 or -errno.
int pk_daemon_run(struct pk_daemon *daemon, struct pk_err *err) pk_must_check;

// For the control API. Each gives a new reference; NULL: there is no such thing.
json_t *pk_daemon_status_json(const struct pk_daemon *daemon);
json_t *pk_daemon_health_json(const struct pk_daemon *daemon);
void pk_daemon_write_metrics(const struct pk_daemon *daemon, bool open, struct pk_buf *out);
json_t *pk_daemon_cameras_json(const struct pk_daemon *daemon);
json_t *pk_daemon_camera_json(const struct pk_daemon *daemon, const char *name);
json_t *pk_daemon_models_json(const struct pk_daemon *daemon);
json_t *pk_daemon_model_json(const struct pk_daemon *daemon, const char *name);
struct pk_events *pk_daemon_events(struct pk_daemon *daemon);
// Reads the config again. False: it has mistakes, the old one stays; *problems is a list of
// "file:line:col: text" in any case.
bool pk_daemon_reload(struct pk_daemon *daemon, json_t **problems);
struct pk_model *pk_daemon_model(struct pk_daemon *daemon, const char *name); // NULL: none
int pk_daemon_rebuild(struct pk_daemon *daemon, const char *model);           // 0 or -ENOENT

// A new config file that came over the control socket.
struct pk_config_request {
	const void *bytes;
	size_t n;
	int64_t confirm_ns; // it is taken back after so long; 0: it stays
	bool plan;          // only says what it would do
};
// *answer: {ok, problems, changes, confirm_s} in any case. -EINVAL: it has mistakes; -EBUSY: one is
// on trial; errno of writing it.
int pk_daemon_config_apply(struct pk_daemon *daemon, const struct pk_config_request *request,
	json_t **answer, struct pk_err *err) pk_must_check;
// -ENOENT: none is on trial; -EBUSY: not all cameras came back.
int pk_daemon_config_confirm(struct pk_daemon *daemon, struct pk_err *err) pk_must_check;
int pk_daemon_config_revert(struct pk_daemon *daemon, struct pk_err *err) pk_must_check;
