// SPDX-License-Identifier: Apache-2.0
// A list of located mistakes in a text file: all of them, not the first.
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/attr.h"

struct pk_problem {
	char *file; // as the user named it
	int line;   // from 1; 0: the file as a whole
	int column; // from 1
	char *text; // what, why, and the nearest key or the allowed values
};

// Zero-initialise. At most PK_PROBLEMS_MAX are kept; the last then says how many more there were.
#define PK_PROBLEMS_MAX 100
struct pk_problems {
	struct pk_problem *items;
	size_t n;
	size_t cap;
	size_t n_dropped;
};

void pk_problems_add(struct pk_problems *problems, const char *file, int line, int column,
	const char *fmt, ...) pk_printf(5, 6);
void pk_problems_finish(struct pk_problems *problems);
// "file:line:col: text\n" each, sorted by file, line, column.
void pk_problems_print(struct pk_problems *problems, FILE *out);
