// SPDX-License-Identifier: Apache-2.0
// The control API as clients see it: HTTP/1.1 + JSON over a unix socket, versioned paths.
#pragma once

#define PK_CONTROL_SOCKET "run/picket/control.sock" // below the root

// GET  /v1/status            {node, version, uptime_s, config, worker{pid, restarts, rss_bytes},
// rss_bytes,
//                             models:[model], cameras:[camera], sinks:[sink], alarms:[alarm],
//                             status:"one line"}
// GET  /v1/cameras           {cameras:[camera]}
// GET  /v1/cameras/{name}    camera
// GET  /v1/models            {models:[model]}
// GET  /v1/models/{name}     model
// GET  /v1/events?after=ID   {events:[event], last_id}; ?follow=1: chunked, one event object a line
// POST /v1/reload            {ok, problems:[text]} 200, or 409 with problems
// POST /v1/models/{name}/rebuild  {ok}
// GET  /v1/models/{name}/explain  {model, lines:[text], update}: why nothing happens, or what does
// GET  /v1/models/{name}/history  {model, history:[{time, what, digest, reason}]}
// POST /v1/models/{name}/VERB     {ok} or 409 {error}; VERB: check, pull, pin[?digest=…&any_seq=1],
//                                 unpin, cancel, rollback
// POST /v1/config?confirm=SECONDS body: the new picket.yaml; {ok, problems, confirm_s, changes}
// POST /v1/config/confirm, /v1/config/revert  {ok} or 409 {error}
// Errors: {error: "text"} with 400, 404, 405, 409, 413.
//
// camera: worker_proto.h's heartbeat members + {rung, cause}
// model:  {name, artifact, digest, rung, cause, since, runtime, build{phase, done, total,
// eta_s}|null,
//          engine{path, key}|null, next_retry_s|null, update}
// update: {phase, reason, active, previous, candidate: {digest, version, seq}|null, pinned,
//          seq_high, attempts, failures, phase_s, next_poll_s, progress{done_bytes,
//          total_bytes}|null, quarantine:[{digest, reason, count, until_s}], baseline|null,
//          signed_only}
// sink:   {name, kind, state: "ok"|"failing", cause, taken, dropped, readers, readers_dropped,
//          waiting_bytes}   counts since the worker's sink was started
// event:  {id, time, name, priority, message, fields{…}}   docs/EVENTS.md
#define PK_API_STATUS  "/v1/status"
#define PK_API_HEALTH  "/v1/health"
#define PK_API_CAMERAS "/v1/cameras"
#define PK_API_MODELS  "/v1/models"
#define PK_API_METRICS "/metrics"
#define PK_API_EVENTS  "/v1/events"
#define PK_API_RELOAD  "/v1/reload"
#define PK_API_CONFIG  "/v1/config"
#define PK_API_REBUILD "rebuild"
