// SPDX-License-Identifier: Apache-2.0
// A list of located mistakes in a text file: all of them, not the first.
#include "config/problem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define TEXT_MAX 1024

// Out of memory while noting a mistake: it still counts, so that the caller refuses the file.
static void drop(struct pk_problems *problems)
{
	problems->n_dropped++;
}

// Files come from outside: what they say must not steer a terminal or forge a second log line.
static char *printable(const char *text)
{
	char *out = malloc(4 * strlen(text) + 1);
	char *p = out;

	if (!out)
		return NULL;
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c >= 0x20 && c != 0x7f)
			*p++ = (char)c;
		else
			p += snprintf(p, 5, "\\x%02x", c);
	}
	*p = '\0';
	return out;
}

// The last place of a full list says how many more there were.
static void summarise(struct pk_problems *problems)
{
	struct pk_problem *last = &problems->items[problems->n - 1];
	char text[64];

	if (problems->n_dropped == 0)
		problems->n_dropped = 1; // the one whose place is taken
	problems->n_dropped++;
	snprintf(text, sizeof(text), "%zu more problems are not shown", problems->n_dropped);
	char *copy = strdup(text);
	if (!copy)
		return;
	free(last->text);
	last->text = copy;
	last->line = last->column = 0;
}

static void add(
	struct pk_problems *problems, const char *file, int line, int column, const char *text)
{
	if (problems->n == PK_PROBLEMS_MAX) {
		summarise(problems);
		return;
	}
	char *name = strdup(file);
	char *copy = printable(text);
	struct pk_problem *item = name && copy ? pk_array_push(problems) : NULL;
	if (!item) {
		free(name);
		free(copy);
		drop(problems);
		return;
	}
	*item = (struct pk_problem){.file = name, .line = line, .column = column, .text = copy};
}

void pk_problems_add(
	struct pk_problems *problems, const char *file, int line, int column, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	add(problems, file, line, column, text);
}

void pk_problems_finish(struct pk_problems *problems)
{
	pk_array_each (item, problems) {
		free(item->file);
		free(item->text);
	}
	pk_array_finish(problems);
	problems->n_dropped = 0;
}

static int by_place(const void *pa, const void *pb)
{
	const struct pk_problem *a = *(const struct pk_problem *const *)pa;
	const struct pk_problem *b = *(const struct pk_problem *const *)pb;
	int d = strcmp(a->file, b->file);

	if (d == 0)
		d = (a->line > b->line) - (a->line < b->line);
	if (d == 0)
		d = (a->column > b->column) - (a->column < b->column);
	return d ? d : (a > b) - (a < b); // as found
}

static void print_one(const struct pk_problem *p, FILE *out)
{
	if (p->line > 0)
		fprintf(out, "%s:%d:%d: %s\n", p->file, p->line, p->column, p->text);
	else
		fprintf(out, "%s: %s\n", p->file, p->text);
}

void pk_problems_print(struct pk_problems *problems, FILE *out)
{
	const struct pk_problem *sorted[PK_PROBLEMS_MAX];
	bool full = problems->n == PK_PROBLEMS_MAX && problems->n_dropped > 0;
	size_t n = problems->n - (full ? 1 : 0);

	for (size_t i = 0; i < problems->n; i++)
		sorted[i] = &problems->items[i];
	if (n > 0)
		qsort(sorted, n, sizeof(sorted[0]), by_place);
	for (size_t i = 0; i < problems->n; i++)
		print_one(sorted[i], out);
	if (!full && problems->n_dropped > 0)
		fprintf(out, "%zu more problems could not be noted: out of memory\n",
			problems->n_dropped);
}
