// SPDX-License-Identifier: Apache-2.0
// Writes a reference page from its template: tables from the schema, examples from files, and the
// mistakes that the real reader finds in them. Or the JSON Schema of a file.
// Usage: picket-gen-docs config|card FOLDER, picket-gen-docs config-schema|card-schema -
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "config/card.h"
#include "config/card_table.h"
#include "config/config.h"
#include "config/config_table.h"

#define PAGE_MAX (1024u * 1024u)

// A page: what its template is called, what its tables are, who reads its examples.
struct page {
	const char *name;
	const char *template;
	const struct pk_schema *schema;
	int (*read)(const char *text, size_t n, const char *name, struct pk_problems *problems);
};

struct writer {
	const struct page *page;
	const char *folder;
	struct pk_buf out;
};

static int read_config(const char *text, size_t n, const char *name, struct pk_problems *problems)
{
	pk_auto(pk_config) config = NULL;
	return pk_config_parse(text, n, name, "/etc/picket", &config, problems);
}

static int read_card(const char *text, size_t n, const char *name, struct pk_problems *problems)
{
	pk_auto(pk_card) card = NULL;
	return pk_card_parse(text, n, name, &card, problems);
}

static const struct page pages[] = {
	{"config", "CONFIG.md.in", &pk_config_schema, read_config},
	{"card", "CARD.md.in", &pk_card_schema, read_card},
};

static const struct {
	const char *name, *title;
	const struct pk_schema *schema;
} schemas[] = {
	{"config-schema", "picket.yaml", &pk_config_schema},
	{"card-schema", "card.yaml", &pk_card_schema},
};

static int load(const char *folder, const char *name, struct pk_buf *text)
{
	struct pk_err err = {0};
	pk_auto_free char *path = pk_fs_join(folder, name);

	pk_buf_init(text, PAGE_MAX);
	int rc = path ? pk_fs_read(path, PAGE_MAX, text, &err) : -1;
	if (rc < 0)
		fprintf(stderr, "%s\n", pk_err_text(&err, rc));
	return rc;
}

// An example that is shown as right must be right, one that is shown as wrong must be wrong.
static int write_file(struct writer *w, const char *name, bool mistakes)
{
	struct pk_problems problems = {0};
	pk_auto_buf struct pk_buf text;
	pk_auto_free char *printed = NULL;
	size_t n_printed = 0;

	if (load(w->folder, name, &text) < 0)
		return -1;
	int rc = w->page->read(pk_buf_cstr(&text), text.len, name, &problems);
	FILE *memory = open_memstream(&printed, &n_printed);
	if (memory) {
		pk_problems_print(&problems, memory);
		fclose(memory);
	}
	pk_problems_finish(&problems);
	bool broken = strncmp(name, "broken", 6) == 0;
	if (!memory || (rc < 0) != broken) {
		fprintf(stderr, "%s: expected %s\n%s", name, broken ? "mistakes" : "no mistake",
			printed ? printed : "");
		return -1;
	}
	return pk_buf_str(&w->out, mistakes ? printed : pk_buf_cstr(&text));
}

static int write_line(struct writer *w, const char *line)
{
	if (strcmp(line, "@@table") == 0)
		pk_schema_document(w->page->schema, &w->out);
	else if (strncmp(line, "@@file ", 7) == 0)
		return write_file(w, line + 7, false);
	else if (strncmp(line, "@@mistakes ", 11) == 0)
		return write_file(w, line + 11, true);
	else
		pk_buf_printf(&w->out, "%s\n", line);
	return pk_buf_error(&w->out);
}

static int write_page(struct writer *w)
{
	pk_auto_buf struct pk_buf template;
	char *save = NULL;

	if (load(w->folder, w->page->template, &template) < 0)
		return -1;
	for (char *line = template.data; line; line = save) {
		save = strchr(line, '\n');
		if (!save)
			break;
		*save++ = '\0';
		if (write_line(w, line) < 0)
			return -1;
	}
	while (w->out.len > 1 && w->out.data[w->out.len - 2] == '\n')
		w->out.len--; // one newline at the end
	return fwrite(w->out.data, 1, w->out.len, stdout) == w->out.len ? 0 : -1;
}

// In the order of the tables, two blanks a level.
static int write_schema(const char *title, const struct pk_schema *schema)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, PAGE_MAX);
	pk_schema_json(schema, title, &text);
	pk_auto_json json = json_loadb(pk_buf_cstr(&text), text.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json || json_dumpf(json, stdout, JSON_INDENT(2)) < 0)
		return -1;
	return puts("") < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < PK_ARRAY_LEN(schemas); i++) {
		if (strcmp(argv[1], schemas[i].name) == 0)
			return write_schema(schemas[i].title, schemas[i].schema) < 0;
	}
	for (size_t i = 0; argc == 3 && i < PK_ARRAY_LEN(pages); i++) {
		if (strcmp(argv[1], pages[i].name) != 0)
			continue;
		struct writer w = {.page = &pages[i], .folder = argv[2]};
		pk_buf_init(&w.out, PAGE_MAX);
		int rc = write_page(&w);
		pk_buf_finish(&w.out);
		return rc < 0 ? 1 : 0;
	}
	fprintf(stderr, "usage: picket-gen-docs config|card|config-schema|card-schema FOLDER\n");
	return 2;
}
