// SPDX-License-Identifier: Apache-2.0
// What the gate found: one row per check, as table for people and as JSON for the engine file.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/engine.h"

// In order of severity: the first that failed is the reason of a refusal.
enum pk_gate_check {
	PK_GATE_SANITY,    // G0: counts, shapes, types; NaN and infinity
	PK_GATE_COSINE,    // G1
	PK_GATE_ERROR,     // G2: |Δ| over the range
	PK_GATE_NOISE,     // G3: signal to noise per output and channel
	PK_GATE_MATCH,     // G4: detections found again (classifiers: same winner)
	PK_GATE_SCORE,     // G5: their scores (classifiers: divergence)
	PK_GATE_COUNT,     // G6: how many stand above the threshold
	PK_GATE_PRECISION, // G7: mean average precision kept, where there is labelled truth
	PK_GATE_REPEAT,    // G8: two runs, equal bits
	PK_GATE_POISON,    // G9: NaN in dead memory changes nothing
	PK_GATE_BUDGET,    // G10: latency and memory
	PK_N_GATE_CHECKS,
};

enum pk_gate_state {
	PK_GATE_NOT_RUN,
	PK_GATE_PASSED,
	PK_GATE_INCONCLUSIVE, // too little to judge on: never counts as passed
	PK_GATE_FAILED,
};

struct pk_gate_row {
	enum pk_gate_state state;
	const char *figure; // what value is: "cosine"; static
	double value, limit;
	bool at_least;   // value >= limit passes; else value <= limit
	double excess;   // how far value is beyond the limit, as a part of it; negative: within
	char where[128]; // output, input or sample it was found at; or why not run
};

struct pk_gate_verdict {
	enum pk_precision precision;
	struct pk_gate_row rows[PK_N_GATE_CHECKS];
	int n_inputs;       // pictures and patterns that were run
	bool compared;      // with a reference
	double max_rel_err; // worst of all outputs and inputs; 0 without a reference
	double min_cosine;  // 1 without a reference
	double min_sqnr_db;
};

void pk_gate_verdict_init(struct pk_gate_verdict *verdict, enum pk_precision precision);

// One finding of a row.
struct pk_gate_figure {
	enum pk_gate_check check;
	const char *name; // static
	double value;     // NaN fails
	double limit;
	bool at_least;
};
// The row keeps its worst finding. The format tells where it was.
void pk_gate_verdict_take(struct pk_gate_verdict *verdict, const struct pk_gate_figure *figure,
	const char *where_fmt, ...) pk_printf(3, 4);
// A row that could not be judged; kept only when nothing else was found.
void pk_gate_verdict_skip(struct pk_gate_verdict *verdict, enum pk_gate_check check,
	enum pk_gate_state state, const char *why);

// The most severe row that failed, or that is inconclusive; PK_N_GATE_CHECKS: passed.
enum pk_gate_check pk_gate_verdict_reason(const struct pk_gate_verdict *verdict);
// 0, or -EBADE with the reason's row in err: "gate: G2 error: max 0.5 > 0.001 (output `y`)".
int pk_gate_verdict_result(const struct pk_gate_verdict *verdict, struct pk_err *err) pk_must_check;

// {"precision":"fp32","passed":true,"inputs":4,"compared":true,"max_rel_err":…,"min_cosine":…,
// "checks":[{"check":"G0","name":"sanity","state":"passed","figure":"NaN","value":0,"limit":0,
// "where":"…"}…]}. NULL: no memory. Numbers that are not finite become null.
json_t *pk_gate_verdict_json(const struct pk_gate_verdict *verdict) pk_must_check;
// Back from a GATE section; -EBADMSG when it is none. Texts of rows point into json, which must
// outlive the verdict.
int pk_gate_verdict_from_json(const json_t *json, struct pk_gate_verdict *out, struct pk_err *err)
	pk_must_check;
// Eleven lines and a heading.
void pk_gate_verdict_print(const struct pk_gate_verdict *verdict, struct pk_buf *out);
