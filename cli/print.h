// SPDX-License-Identifier: Apache-2.0
// Tables and words for people; colour only on a terminal.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_TABLE_MAX_COLUMNS 12

// Rows are collected, then printed with columns as wide as they need to be. Zero-initialise.
struct pk_table {
	const char *const *headings; // n_columns
	size_t n_columns;
	unsigned right; // bit per column: numbers stand to the right
	char **cells;   // row by row
	size_t n_cells, cap;
};
void pk_table_add(struct pk_table *table, const char *fmt, ...) pk_printf(2, 3); // one cell
void pk_table_print(const struct pk_table *table);
void pk_table_finish(struct pk_table *table);

// One word in the colour that its meaning has (rungs, camera states, priorities), padded to width
// (0: as it is). For terminals; else plain.
void pk_print_word(const char *word, int width);

// Member of an object as a person reads it: "" when it is not there or null.
const char *pk_json_text(const json_t *object, const char *member);
double pk_json_number(const json_t *object, const char *member); // 0 when it is none
// "1.5 GiB"
#define PK_SIZE_TEXT 32
void pk_format_size(double bytes, char out[PK_SIZE_TEXT]);

// "picketctl: why", and the exit code for it.
int pk_print_failure(const struct pk_err *err, int r);
