// SPDX-License-Identifier: Apache-2.0
// Sinks by kind.
#include "pipeline/sink.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

static const struct pk_sink_ops *const pk_sink_table[] = {
	&pk_sink_jsonl,
	&pk_sink_snapshot,
	NULL,
};

int pk_sink_create(const struct pk_sink_config *config, const struct pk_sink_events *events,
	struct pk_sink **out, struct pk_err *err)
{
	for (size_t i = 0; pk_sink_table[i]; i++) {
		if (pk_sink_table[i]->kind != config->kind)
			continue;
		int r = pk_sink_table[i]->create(config, events, out, err);
		if (r < 0)
			pk_err_prefix(err, "sink `%s`", config->name);
		return r;
	}
	return pk_fail(err, -EINVAL, "sink `%s`: unknown kind", config->name);
}

void pk_sink_destroy(struct pk_sink *sink)
{
	if (sink)
		sink->ops->destroy(sink);
}

bool pk_sink_take(struct pk_sink *sink, const struct pk_result *result, const char *line, size_t n)
{
	bool taken = sink->ops->take(sink, result, line, n);
	atomic_fetch_add_explicit(
		taken ? &sink->n_taken : &sink->n_dropped, 1, memory_order_relaxed);
	return taken;
}

void pk_sink_init(struct pk_sink *sink, const struct pk_sink_ops *ops,
	const struct pk_sink_config *config, const struct pk_sink_events *events)
{
	sink->ops = ops;
	snprintf(sink->name, sizeof(sink->name), "%s", config->name);
	if (events)
		sink->events = *events;
}

void pk_sink_fault(const struct pk_sink *sink, int code, const char *cause)
{
	if (sink->events.fault)
		sink->events.fault(sink->events.ctx, sink->name, code, cause);
}
