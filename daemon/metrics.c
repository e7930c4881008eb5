// SPDX-License-Identifier: Apache-2.0
// Walks the list of metrics over the status. Sources: OpenMetrics 1.0, "Text format"; Prometheus,
// "Exposition formats".
#include "daemon/metrics.h"

#include <stdio.h>
#include <string.h>

enum scope { SCOPE_NODE, SCOPE_ZONE, SCOPE_MODEL, SCOPE_CAMERA, SCOPE_EVENT, N_SCOPES };
enum type { TYPE_GAUGE, TYPE_COUNTER, TYPE_STATES };

struct metric {
	enum scope scope;
	enum type type;
	const char *member, *name, *help;
	double scale;
	const char *states; // names with blanks between
};

static const struct metric metrics[] = {
#define PK_METRIC(scope, member, name, type, scale, help)                                          \
	{SCOPE_##scope, TYPE_##type, member, name, help, scale, NULL},
#define PK_STATES(scope, member, name, states, help)                                               \
	{SCOPE_##scope, TYPE_STATES, member, name, help, 1, states},
#include "daemon/metric_list.h"
#undef PK_METRIC
#undef PK_STATES
};

// Labels of a scope: what they are called, and the members that they come from.
static const struct {
	const char *label, *member;
} labels[N_SCOPES][2] = {
	[SCOPE_ZONE] = {{"zone", "name"}},
	[SCOPE_MODEL] = {{"model", "name"}},
	[SCOPE_CAMERA] = {{"camera", "name"}, {"model", "model"}},
	[SCOPE_EVENT] = {{"event", "name"}},
};

static const json_t *dig(const json_t *object, const char *path)
{
	while (object) {
		size_t n = strcspn(path, ".");
		char key[64];
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		object = json_object_get(object, key);
		if (!path[n])
			return object;
		path += n + 1;
	}
	return NULL;
}

// False when there is no such figure here.
static bool value_of(const json_t *value, double *out)
{
	if (json_is_boolean(value))
		*out = json_is_true(value);
	else if (json_is_number(value))
		*out = json_number_value(value);
	else if (json_is_array(value))
		*out = (double)json_array_size(value);
	else
		return false;
	return true;
}

static void put_label(struct pk_buf *out, const char *name, const char *value, bool first)
{
	pk_buf_printf(out, "%s%s=\"", first ? "" : ",", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			pk_buf_printf(out, "\\%c", *value);
		else if (*value == '\n')
			pk_buf_str(out, "\\n");
		else
			pk_buf_append(out, value, 1);
	}
	pk_buf_str(out, "\"");
}

// state NULL: none.
static void put_sample(struct pk_buf *out, const struct metric *metric, const json_t *object,
	const char *state, double value)
{
	size_t n = 0;
	pk_buf_printf(out, "%s%s", metric->name, metric->type == TYPE_COUNTER ? "_total" : "");
	for (size_t i = 0; i < 2 && labels[metric->scope][i].label; i++) {
		const char *text =
			json_string_value(json_object_get(object, labels[metric->scope][i].member));
		pk_buf_str(out, n ? "" : "{");
		put_label(out, labels[metric->scope][i].label, text ? text : "", n++ == 0);
	}
	if (state) {
		pk_buf_str(out, n ? "" : "{");
		put_label(out, "state", state, n++ == 0);
	}
	pk_buf_printf(out, "%s %.15g\n", n ? "}" : "", value);
}

static void put_states(struct pk_buf *out, const struct metric *metric, const json_t *object)
{
	const char *now = json_string_value(dig(object, metric->member));
	const char *at = metric->states;
	while (now && *at) {
		char state[32];
		size_t n = strcspn(at, " ");
		snprintf(state, sizeof(state), "%.*s", (int)n, at);
		put_sample(out, metric, object, state, strcmp(now, state) == 0);
		at += n + strspn(at + n, " ");
	}
}

static void put_figure(struct pk_buf *out, const struct metric *metric, const json_t *object)
{
	double value;
	if (metric->type == TYPE_STATES)
		put_states(out, metric, object);
	else if (value_of(dig(object, metric->member), &value))
		put_sample(out, metric, object, NULL, value * metric->scale);
}

// In the text format the type belongs to the sample's whole name.
static void put_head(struct pk_buf *out, const struct metric *metric, bool open)
{
	const char *end = !open && metric->type == TYPE_COUNTER ? "_total" : "";
	const char *type = metric->type == TYPE_COUNTER ? "counter" : "gauge";
	pk_buf_printf(out, "# HELP %s%s %s.\n# TYPE %s%s %s\n", metric->name, end, metric->help,
		metric->name, end, type);
}

void pk_metrics_write(const json_t *status, const json_t *events, bool open, struct pk_buf *out)
{
	const json_t *lists[N_SCOPES] = {
		[SCOPE_ZONE] = dig(status, "health.zones"),
		[SCOPE_MODEL] = json_object_get(status, "models"),
		[SCOPE_CAMERA] = json_object_get(status, "cameras"),
		[SCOPE_EVENT] = events,
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(metrics); i++) {
		const struct metric *metric = &metrics[i];
		size_t before = out->len, k;
		json_t *object;
		put_head(out, metric, open);
		size_t head = out->len;
		if (metric->scope == SCOPE_NODE)
			put_figure(out, metric, status);
		json_array_foreach (lists[metric->scope], k, object)
			put_figure(out, metric, object);
		if (out->len == head)
			out->len = before; // nothing of that kind here
	}
	if (open)
		pk_buf_str(out, "# EOF\n");
}

bool pk_metrics_wants_open(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text");
}
