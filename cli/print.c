// SPDX-License-Identifier: Apache-2.0
// Tables, colours and the common options of the query verbs.
#include "cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

static const struct {
	const char *word, *colour;
} colours[] = {
	{"engine", GREEN},
	{"running", GREEN},
	{"building", YELLOW},
	{"cpu", YELLOW},
	{"starting", YELLOW},
	{"retrying", YELLOW},
	{"degraded", YELLOW},
	{"warning", YELLOW},
	{"passthrough", RED},
	{"stopped", RED},
	{"error", RED},
	{"alert", RED},
};

static bool use_colour(void)
{
	const char *no = getenv("NO_COLOR");
	return isatty(STDOUT_FILENO) && !(no && no[0]);
}

static const char *colour_of(const char *word)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(colours); i++) {
		if (strcmp(colours[i].word, word) == 0)
			return colours[i].colour;
	}
	return NULL;
}

// Columns on a terminal: characters, not bytes.
static int width_of(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void pk_print_word(const char *word, int width)
{
	const char *colour = use_colour() ? colour_of(word) : NULL;
	int pad = width > width_of(word) ? width - width_of(word) : 0;
	printf("%s%s%s%*s", colour ? colour : "", word, colour ? PLAIN : "", pad, "");
}

void pk_table_add(struct pk_table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (table->n_cells == table->cap) {
		size_t cap = table->cap ? table->cap * 2 : 64;
		char **cells = reallocarray(table->cells, cap, sizeof(*cells));
		if (!cells) {
			free(text);
			return;
		}
		table->cells = cells;
		table->cap = cap;
	}
	table->cells[table->n_cells++] = text;
}

static const char *cell(const struct pk_table *table, size_t i)
{
	return i < table->n_cells && table->cells[i] ? table->cells[i] : "";
}

static void print_cell(const struct pk_table *table, size_t column, const char *text, int width)
{
	bool last = column + 1 == table->n_columns;
	if (table->right & 1u << column)
		printf("%*s%s", width - width_of(text), "", text);
	else
		pk_print_word(text, last ? 0 : width);
	fputs(last ? "\n" : "  ", stdout);
}

void pk_table_print(const struct pk_table *table)
{
	int widths[PK_TABLE_MAX_COLUMNS] = {0};
	for (size_t c = 0; c < table->n_columns; c++)
		widths[c] = width_of(table->headings[c]);
	for (size_t i = 0; i < table->n_cells; i++) {
		int width = width_of(cell(table, i));
		if (width > widths[i % table->n_columns])
			widths[i % table->n_columns] = width;
	}
	for (size_t c = 0; c < table->n_columns; c++)
		print_cell(table, c, table->headings[c], widths[c]);
	for (size_t i = 0; i < table->n_cells; i++)
		print_cell(
			table, i % table->n_columns, cell(table, i), widths[i % table->n_columns]);
}

void pk_table_finish(struct pk_table *table)
{
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct pk_table){0};
}

const char *pk_json_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));
	return text ? text : "";
}

double pk_json_number(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

void pk_format_size(double bytes, char out[PK_SIZE_TEXT])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;
	for (; bytes >= 1024 && i + 1 < PK_ARRAY_LEN(units); i++)
		bytes /= 1024;
	snprintf(out, PK_SIZE_TEXT, "%.*f %s", i ? 1 : 0, bytes, units[i]);
}

int pk_print_failure(const struct pk_err *err, int r)
{
	fprintf(stderr, "picketctl: %s\n", pk_err_text(err, r));
	return PK_EXIT_FAIL;
}
