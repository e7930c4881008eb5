// SPDX-License-Identifier: Apache-2.0
// libyaml's events → located nodes; everything that makes YAML surprising or unbounded is refused.
#include "config/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/words.h"

struct builder {
	struct pk_arena *arena;
	const struct pk_yaml_source *source;
	struct pk_problems *problems;
	const char *text;
	size_t size;
	struct pk_yaml_node *root;
	struct pk_yaml_node *open[PK_YAML_MAX_DEPTH]; // maps and lists that are not closed yet
	size_t depth;
	struct pk_yaml_node *key; // read, its value has not come yet
	size_t n_nodes;
	size_t n_found; // problems added
	int fatal;      // stop reading with this code
};

static void pk_printf(4, 5) found(struct builder *b, int line, int column, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_problems_add(b->problems, b->source->name, line, column, "%s", text);
	b->n_found++;
}

static int line_of(const yaml_mark_t *mark)
{
	return (int)mark->line + 1;
}

static int column_of(const yaml_mark_t *mark)
{
	return (int)mark->column + 1;
}

// libyaml would also take UTF-16 and would not say where it stumbles.
static bool check_bytes(struct builder *b)
{
	int line = 1, column = 1;
	unsigned int c;

	for (size_t i = 0, len; i < b->size; i += len) {
		len = pk_words_utf8(b->text + i, b->size - i, &c);
		if (len == 0) {
			found(b, line, column, "not UTF-8: byte 0x%02x", (unsigned char)b->text[i]);
			return false;
		}
		if (!pk_words_printable(c) && c != '\r' && !(c == 0xfeff && i == 0)) {
			found(b, line, column, "the control character U+%04X is not allowed", c);
			return false;
		}
		column++;
		if (c == '\n') {
			line++;
			column = 1;
		}
	}
	return true;
}

// A scalar as a NUL-terminated string; NULL when it cannot be one (a problem was noted).
static const char *take_text(struct builder *b, const yaml_event_t *event)
{
	const char *s = (const char *)event->data.scalar.value;
	size_t n = event->data.scalar.length;
	unsigned int c = 0;

	for (size_t i = 0, len; i < n; i += len) {
		len = pk_words_utf8(s + i, n - i, &c);
		if (len > 0 && pk_words_printable(c))
			continue;
		found(b, line_of(&event->start_mark), column_of(&event->start_mark),
			"the control character U+%04X is not allowed", len ? c : 0xfffd);
		return NULL;
	}
	const char *copy = pk_arena_strndup(b->arena, s, n);
	if (!copy)
		b->fatal = -ENOMEM;
	return copy;
}

static struct pk_yaml_node *new_node(
	struct builder *b, enum pk_yaml_kind kind, const yaml_event_t *event)
{
	int line = line_of(&event->start_mark), column = column_of(&event->start_mark);

	if (++b->n_nodes > PK_YAML_MAX_NODES) {
		found(b, line, column, "more than %d values in one file", PK_YAML_MAX_NODES);
		b->fatal = -EINVAL;
		return NULL;
	}
	struct pk_yaml_node *node = pk_arena_new(b->arena, struct pk_yaml_node);
	if (!node) {
		b->fatal = -ENOMEM;
		return NULL;
	}
	node->kind = kind;
	node->source = b->source;
	node->line = node->key_line = line;
	node->column = node->key_column = column;
	return node;
}

static void append(struct pk_yaml_node *parent, struct pk_yaml_node *node)
{
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->n++;
}

static bool expects_key(const struct builder *b)
{
	return b->depth > 0 && b->open[b->depth - 1]->kind == PK_YAML_MAP && !b->key;
}

// A finished value (or a map or list that begins) takes its place in the tree.
static void place(struct builder *b, struct pk_yaml_node *node)
{
	if (b->key) {
		node->key = b->key->text;
		node->key_line = b->key->line;
		node->key_column = b->key->column;
		b->key = NULL;
	}
	if (b->depth > 0)
		append(b->open[b->depth - 1], node);
	else
		b->root = node;
}

static void note_extras(struct builder *b, const yaml_event_t *event, const yaml_char_t *anchor,
	const yaml_char_t *tag)
{
	int line = line_of(&event->start_mark), column = column_of(&event->start_mark);

	if (anchor)
		found(b, line, column, "anchors (`&%s`) are not supported; write the value out",
			pk_words_quote((const char *)anchor).text);
	if (tag)
		found(b, line, column, "tags (`%s`) are not supported",
			pk_words_quote((const char *)tag).text);
}

static void on_scalar(struct builder *b, const yaml_event_t *event)
{
	note_extras(b, event, event->data.scalar.anchor, event->data.scalar.tag);
	struct pk_yaml_node *node = new_node(b, PK_YAML_SCALAR, event);
	if (!node)
		return;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->text = take_text(b, event);
	if (b->fatal)
		return;
	if (!node->text) {
		node->kind = PK_YAML_BAD;
		node->text = "";
	}
	if (expects_key(b))
		b->key = node;
	else
		place(b, node);
}

static void on_alias(struct builder *b, const yaml_event_t *event)
{
	found(b, line_of(&event->start_mark), column_of(&event->start_mark),
		"aliases (`*%s`) are not supported; write the value out",
		pk_words_quote((const char *)event->data.alias.anchor).text);
	struct pk_yaml_node *node = new_node(b, PK_YAML_BAD, event);
	if (!node)
		return;
	node->text = "";
	if (expects_key(b))
		b->key = node;
	else
		place(b, node);
}

static void on_open(struct builder *b, const yaml_event_t *event, enum pk_yaml_kind kind)
{
	int line = line_of(&event->start_mark), column = column_of(&event->start_mark);

	if (expects_key(b)) {
		found(b, line, column, "a key must be text, not %s",
			kind == PK_YAML_MAP ? "a map" : "a list");
		b->fatal = -EINVAL;
		return;
	}
	if (b->depth == PK_YAML_MAX_DEPTH) {
		found(b, line, column, "nested more than %d deep", PK_YAML_MAX_DEPTH);
		b->fatal = -EINVAL;
		return;
	}
	struct pk_yaml_node *node = new_node(b, kind, event);
	if (!node)
		return;
	node->text = "";
	place(b, node);
	b->open[b->depth++] = node;
}

static int by_key(const void *pa, const void *pb)
{
	const struct pk_yaml_node *a = *(const struct pk_yaml_node *const *)pa;
	const struct pk_yaml_node *b = *(const struct pk_yaml_node *const *)pb;
	int d = strcmp(a->key, b->key);

	if (d == 0)
		d = (a->key_line > b->key_line) - (a->key_line < b->key_line);
	return d ? d : (a->key_column > b->key_column) - (a->key_column < b->key_column);
}

// Sorted, because a hostile file may hold tens of thousands of keys.
static void check_duplicates(struct builder *b, const struct pk_yaml_node *map)
{
	struct pk_yaml_node **sorted = malloc((map->n + 1) * sizeof(struct pk_yaml_node *));
	size_t n = 0;

	if (!sorted) {
		b->fatal = -ENOMEM;
		return;
	}
	for (struct pk_yaml_node *node = map->first; node; node = node->next)
		sorted[n++] = node;
	qsort(sorted, n, sizeof(struct pk_yaml_node *), by_key);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(sorted[i]->key, sorted[i - 1]->key) != 0)
			continue;
		found(b, sorted[i]->key_line, sorted[i]->key_column,
			"`%s` is given twice; first at %d:%d", pk_words_quote(sorted[i]->key).text,
			sorted[i - 1]->key_line, sorted[i - 1]->key_column);
		sorted[i]->kind = PK_YAML_BAD;
	}
	free(sorted);
}

static void on_close(struct builder *b)
{
	const struct pk_yaml_node *node = b->open[--b->depth];

	if (node->kind == PK_YAML_MAP && node->n > 1)
		check_duplicates(b, node);
}

// Tabs as indentation are the mistake whose message helps least.
static bool tab_indents(const struct builder *b, size_t line)
{
	const char *p = b->text, *end = b->text + b->size;

	for (; line > 0 && p; line--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	for (; p && p < end && (*p == ' ' || *p == '\t'); p++)
		if (*p == '\t')
			return true;
	return false;
}

static void on_syntax_error(struct builder *b, const yaml_parser_t *parser)
{
	const char *what = parser->problem ? parser->problem : "unreadable";
	char context[128] = "";

	if (parser->error == YAML_MEMORY_ERROR) {
		b->fatal = -ENOMEM;
		return;
	}
	if (parser->context)
		snprintf(context, sizeof(context), " (%s, from %d:%d)", parser->context,
			line_of(&parser->context_mark), column_of(&parser->context_mark));
	found(b, line_of(&parser->problem_mark), column_of(&parser->problem_mark),
		"not valid YAML: %s%s%s", what, context,
		tab_indents(b, parser->problem_mark.line) ? "; indent with spaces, not tabs" : "");
	b->fatal = -EINVAL;
}

static void on_event(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		on_scalar(b, event);
		break;
	case YAML_ALIAS_EVENT:
		on_alias(b, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		note_extras(b, event, event->data.sequence_start.anchor,
			event->data.sequence_start.tag);
		on_open(b, event, PK_YAML_LIST);
		break;
	case YAML_MAPPING_START_EVENT:
		note_extras(
			b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
		on_open(b, event, PK_YAML_MAP);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(b);
		break;
	case YAML_DOCUMENT_START_EVENT:
		if (b->root) {
			found(b, line_of(&event->start_mark), column_of(&event->start_mark),
				"a second document starts here; one file holds one");
			b->fatal = -EINVAL;
		}
		break;
	default:
		break;
	}
}

static void read_events(struct builder *b, yaml_parser_t *parser)
{
	bool more = true;

	while (more && !b->fatal) {
		yaml_event_t event;
		if (!yaml_parser_parse(parser, &event)) {
			on_syntax_error(b, parser);
			return;
		}
		more = event.type != YAML_STREAM_END_EVENT && event.type != YAML_NO_EVENT;
		on_event(b, &event);
		yaml_event_delete(&event);
	}
}

// Comments only: what a map without keys is.
static struct pk_yaml_node *empty_map(struct builder *b)
{
	static const yaml_event_t start;
	return new_node(b, PK_YAML_MAP, &start);
}

static int build(struct builder *b)
{
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)b->text, b->size);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	read_events(b, &parser);
	yaml_parser_delete(&parser);
	if (!b->root && !b->fatal)
		b->root = empty_map(b);
	return b->fatal;
}

int pk_yaml_parse(struct pk_arena *arena, const char *text, size_t n,
	const struct pk_yaml_source *source, struct pk_yaml_node **root,
	struct pk_problems *problems)
{
	struct builder b = {
		.arena = arena, .source = source, .problems = problems, .text = text, .size = n};

	*root = NULL;
	if (n > PK_YAML_MAX_BYTES) {
		found(&b, 0, 0, "larger than %u bytes", PK_YAML_MAX_BYTES);
		return -EINVAL;
	}
	if (!check_bytes(&b))
		return -EINVAL;
	int rc = build(&b);
	if (rc == -ENOMEM)
		return rc;
	// After a fatal mistake half a tree would only breed follow-up messages.
	if (rc == 0)
		*root = b.root;
	return b.n_found > 0 ? -EINVAL : 0;
}

struct pk_yaml_node *pk_yaml_get(const struct pk_yaml_node *map, const char *key)
{
	if (!map || map->kind != PK_YAML_MAP)
		return NULL;
	for (struct pk_yaml_node *node = map->first; node; node = node->next)
		if (strcmp(node->key, key) == 0)
			return node;
	return NULL;
}

bool pk_yaml_is_null(const struct pk_yaml_node *node)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	for (size_t i = 0; node->kind == PK_YAML_SCALAR && node->plain && i < PK_ARRAY_LEN(words);
		i++)
		if (strcmp(node->text, words[i]) == 0)
			return true;
	return false;
}

const char *pk_yaml_kind_name(const struct pk_yaml_node *node)
{
	if (pk_yaml_is_null(node))
		return "nothing";
	switch (node->kind) {
	case PK_YAML_LIST:
		return "a list";
	case PK_YAML_MAP:
		return "a map";
	default:
		return "text";
	}
}

static void replace(struct pk_yaml_node *map, struct pk_yaml_node *old, struct pk_yaml_node *node)
{
	struct pk_yaml_node **link = &map->first;

	while (*link != old)
		link = &(*link)->next;
	*link = node;
	node->next = old->next;
	if (map->last == old)
		map->last = node;
}

void pk_yaml_merge(struct pk_yaml_node *base, struct pk_yaml_node *over)
{
	for (struct pk_yaml_node *node = over->first, *next; node; node = next) {
		next = node->next;
		node->next = NULL;
		struct pk_yaml_node *old = pk_yaml_get(base, node->key);
		if (!old)
			append(base, node);
		else if (old->kind == PK_YAML_MAP && node->kind == PK_YAML_MAP)
			pk_yaml_merge(old, node);
		else if (old->kind == PK_YAML_MAP && pk_yaml_is_null(node))
			continue; // a section whose entries are all commented out
		else
			replace(base, old, node);
	}
}

void pk_yaml_problem(
	struct pk_problems *problems, const struct pk_yaml_node *node, const char *fmt, ...)
{
	char text[900];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_problems_add(problems, node->source->name, node->line, node->column, "%s", text);
}

void pk_yaml_key_problem(
	struct pk_problems *problems, const struct pk_yaml_node *node, const char *fmt, ...)
{
	char text[900];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_problems_add(problems, node->source->name, node->key_line, node->key_column, "%s", text);
}
