// SPDX-License-Identifier: Apache-2.0
// Tokens of the IR's text form; private to engine/ir. Every error is located: "line:col: what".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#define PK_SCAN_WORD_MAX 64

struct pk_scan_place {
	int line, column; // from 1
};

struct pk_scan {
	const char *at, *end;
	const char *line_start;
	int line;
	struct pk_scan_place mark; // where errors are reported: the token read last
	struct pk_err *err;
};

void pk_scan_init(struct pk_scan *scan, const char *text, size_t n, struct pk_err *err);
// Skips blanks and comments and marks the place that errors shall name.
void pk_scan_mark(struct pk_scan *scan);
int pk_scan_fail(struct pk_scan *scan, int code, const char *fmt, ...) pk_printf(3, 4);
// Puts the marked place before the error that is there; returns code.
int pk_scan_prefix(struct pk_scan *scan, int code);
bool pk_scan_at_end(struct pk_scan *scan); // nothing but blanks and comments left
char pk_scan_peek(struct pk_scan *scan);   // next token's first character, 0 at the end
bool pk_scan_accept(struct pk_scan *scan, char c);
int pk_scan_expect(struct pk_scan *scan, char c) pk_must_check;
bool pk_scan_accept_word(struct pk_scan *scan, const char *word);
// [A-Za-z0-9_]+
int pk_scan_word(struct pk_scan *scan, char out[PK_SCAN_WORD_MAX]) pk_must_check;
// Plain or quoted name, in the arena.
int pk_scan_name(struct pk_scan *scan, struct pk_arena *arena, char **out) pk_must_check;
int pk_scan_int(struct pk_scan *scan, int64_t *out) pk_must_check;
int pk_scan_u64(struct pk_scan *scan, uint64_t *out) pk_must_check;
int pk_scan_double(struct pk_scan *scan, double *out) pk_must_check; // also inf, -inf, nan
// Items of a comma-separated list up to the next '}'; reads nothing.
size_t pk_scan_count_items(const struct pk_scan *scan);
