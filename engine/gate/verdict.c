// SPDX-License-Identifier: Apache-2.0
// Rows of the gate: keeping the worst finding, telling the reason, table and JSON.
#include "engine/gate/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/json.h"

static const char *const check_names[PK_N_GATE_CHECKS] = {"sanity", "cosine", "error", "noise",
	"match", "score", "count", "map", "repeat", "poison", "budget"};

static const char *const state_names[] = {"not run", "passed", "inconclusive", "FAILED"};

void pk_gate_verdict_init(struct pk_gate_verdict *verdict, enum pk_precision precision)
{
	*verdict = (struct pk_gate_verdict){
		.precision = precision,
		.min_cosine = 1,
	};
	for (int i = 0; i < PK_N_GATE_CHECKS; i++)
		verdict->rows[i].figure = "";
}

static double excess_of(const struct pk_gate_figure *figure)
{
	if (isnan(figure->value))
		return INFINITY;
	double beyond =
		figure->at_least ? figure->limit - figure->value : figure->value - figure->limit;
	return beyond / PK_MAX(fabs(figure->limit), 1e-12);
}

void pk_gate_verdict_take(struct pk_gate_verdict *verdict, const struct pk_gate_figure *figure,
	const char *where_fmt, ...)
{
	struct pk_gate_row *row = &verdict->rows[figure->check];
	double excess = excess_of(figure);
	bool found = row->state == PK_GATE_PASSED || row->state == PK_GATE_FAILED;
	if (found && excess <= row->excess)
		return;
	row->state = excess > 0 ? PK_GATE_FAILED : PK_GATE_PASSED;
	row->figure = figure->name;
	row->value = figure->value;
	row->limit = figure->limit;
	row->at_least = figure->at_least;
	row->excess = excess;
	va_list args;
	va_start(args, where_fmt);
	vsnprintf(row->where, sizeof(row->where), where_fmt, args);
	va_end(args);
}

void pk_gate_verdict_skip(struct pk_gate_verdict *verdict, enum pk_gate_check check,
	enum pk_gate_state state, const char *why)
{
	struct pk_gate_row *row = &verdict->rows[check];
	if (row->state != PK_GATE_NOT_RUN)
		return;
	row->state = state;
	snprintf(row->where, sizeof(row->where), "%s", why);
}

enum pk_gate_check pk_gate_verdict_reason(const struct pk_gate_verdict *verdict)
{
	for (int state = PK_GATE_FAILED; state >= PK_GATE_INCONCLUSIVE; state--) {
		for (int i = 0; i < PK_N_GATE_CHECKS; i++) {
			if ((int)verdict->rows[i].state == state)
				return (enum pk_gate_check)i;
		}
	}
	return PK_N_GATE_CHECKS;
}

int pk_gate_verdict_result(const struct pk_gate_verdict *verdict, struct pk_err *err)
{
	enum pk_gate_check check = pk_gate_verdict_reason(verdict);
	if (check == PK_N_GATE_CHECKS)
		return 0;
	const struct pk_gate_row *row = &verdict->rows[check];
	if (row->state == PK_GATE_INCONCLUSIVE)
		return pk_fail(err, -EBADE, "gate: G%d %s: inconclusive: %s", (int)check,
			check_names[check], row->where);
	return pk_fail(err, -EBADE, "gate: G%d %s: %s %.6g, limit %s%.6g (%s)", (int)check,
		check_names[check], row->figure, row->value,
		row->at_least ? ">= " : "<= ", row->limit, row->where);
}

static json_t *number_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_json(int check, const struct pk_gate_row *row)
{
	char id[16];
	snprintf(id, sizeof(id), "G%d", check);
	json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "check", id, "name", check_names[check],
		"state", row->state == PK_GATE_FAILED ? "failed" : state_names[row->state], "where",
		row->where);
	if (row->state != PK_GATE_PASSED && row->state != PK_GATE_FAILED)
		return json;
	json_object_set_new(json, "figure", json_string(row->figure));
	json_object_set_new(json, "value", number_json(row->value));
	json_object_set_new(json, "limit", number_json(row->limit));
	json_object_set_new(json, "at_least", json_boolean(row->at_least));
	return json;
}

json_t *pk_gate_verdict_json(const struct pk_gate_verdict *verdict)
{
	json_t *rows = json_array();
	for (int i = 0; i < PK_N_GATE_CHECKS; i++)
		json_array_append_new(rows, row_json(i, &verdict->rows[i]));
	return json_pack("{s:s, s:b, s:i, s:b, s:o, s:o, s:o, s:o}", "precision",
		pk_precision_name(verdict->precision), "passed",
		pk_gate_verdict_reason(verdict) == PK_N_GATE_CHECKS, "inputs", verdict->n_inputs,
		"compared", verdict->compared, "max_rel_err", number_json(verdict->max_rel_err),
		"min_cosine", number_json(verdict->min_cosine), "min_sqnr_db",
		number_json(verdict->min_sqnr_db), "checks", rows);
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static int word_index(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(word, words[i]) == 0)
			return (int)i;
	}
	return -1;
}

static int precision_index(const char *word)
{
	for (int i = PK_PRECISION_FP32; i <= PK_PRECISION_INT8; i++) {
		if (strcmp(word, pk_precision_name((enum pk_precision)i)) == 0)
			return i;
	}
	return -1;
}

static int read_row(const json_t *json, struct pk_gate_row *row)
{
	int state = word_index(text_of(json, "state"), state_names, PK_ARRAY_LEN(state_names));
	if (state < 0)
		return -EBADMSG;
	*row = (struct pk_gate_row){
		.state = (enum pk_gate_state)state,
		.figure = text_of(json, "figure"),
		.value = number_of(json, "value"),
		.limit = number_of(json, "limit"),
		.at_least = json_is_true(json_object_get(json, "at_least")),
	};
	snprintf(row->where, sizeof(row->where), "%s", text_of(json, "where"));
	return 0;
}

int pk_gate_verdict_from_json(const json_t *json, struct pk_gate_verdict *out, struct pk_err *err)
{
	const json_t *rows = json_object_get(json, "checks");
	int precision = precision_index(text_of(json, "precision"));
	int r = precision >= 0 && json_array_size(rows) == PK_N_GATE_CHECKS ? 0 : -EBADMSG;
	if (r == 0)
		pk_gate_verdict_init(out, (enum pk_precision)precision);
	for (size_t i = 0; r == 0 && i < PK_N_GATE_CHECKS; i++)
		r = read_row(json_array_get(rows, i), &out->rows[i]);
	if (r < 0)
		return pk_fail(err, r, "the engine's verdict is not one");
	out->n_inputs = (int)json_integer_value(json_object_get(json, "inputs"));
	out->compared = json_is_true(json_object_get(json, "compared"));
	out->max_rel_err = number_of(json, "max_rel_err");
	out->min_cosine = number_of(json, "min_cosine");
	out->min_sqnr_db = number_of(json, "min_sqnr_db");
	return 0;
}

static void print_row(int check, const struct pk_gate_row *row, struct pk_buf *out)
{
	char id[16], value[24] = "", limit[32] = "";
	snprintf(id, sizeof(id), "G%d", check);
	if (row->state == PK_GATE_PASSED || row->state == PK_GATE_FAILED) {
		snprintf(value, sizeof(value), "%.6g", row->value);
		snprintf(limit, sizeof(limit), "%s %.6g", row->at_least ? ">=" : "<=", row->limit);
	}
	char line[320];
	int n = snprintf(line, sizeof(line), "  %-4s %-8s %-12s %-16s %10s  %-12s  %s", id,
		check_names[check], state_names[row->state], row->figure, value, limit, row->where);
	n = PK_MIN(n, (int)sizeof(line) - 1);
	while (n > 0 && line[n - 1] == ' ')
		n--;
	pk_buf_printf(out, "%.*s\n", n, line);
}

void pk_gate_verdict_print(const struct pk_gate_verdict *verdict, struct pk_buf *out)
{
	bool passed = pk_gate_verdict_reason(verdict) == PK_N_GATE_CHECKS;
	pk_buf_printf(out, "gate %s: %s, %d input%s%s\n", pk_precision_name(verdict->precision),
		passed ? "passed" : "REFUSED", verdict->n_inputs, verdict->n_inputs == 1 ? "" : "s",
		verdict->compared ? "" : ", no reference");
	for (int i = 0; i < PK_N_GATE_CHECKS; i++)
		print_row(i, &verdict->rows[i], out);
}
