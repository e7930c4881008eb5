// SPDX-License-Identifier: Apache-2.0
// GET /metrics: the figures of daemon/metric_list.h as OpenMetrics, or as the older text format.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"

#define PK_METRICS_TYPE_OPEN "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define PK_METRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

// status: as GET /v1/status gives it; events: [{"name", "count"}]. open: OpenMetrics 1.0, else the
// text format 0.0.4 of Prometheus. Check pk_buf_error at the end.
void pk_metrics_write(const json_t *status, const json_t *events, bool open, struct pk_buf *out);
// What an Accept header asks for; NULL: none.
bool pk_metrics_wants_open(const char *accept);
