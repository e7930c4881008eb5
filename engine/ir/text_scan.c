// SPDX-License-Identifier: Apache-2.0
// Tokens of the IR's text form.
#include "engine/ir/text_scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define PK_SCAN_NUMBER_MAX 48

void pk_scan_init(struct pk_scan *scan, const char *text, size_t n, struct pk_err *err)
{
	*scan = (struct pk_scan){text, text + n, text, 1, {1, 1}, err};
}

static void pk_scan_skip(struct pk_scan *scan)
{
	bool comment = false;
	for (; scan->at < scan->end; scan->at++) {
		char c = *scan->at;
		if (c == '\n') {
			comment = false;
			scan->line++;
			scan->line_start = scan->at + 1;
		} else if (c == '#') {
			comment = true;
		} else if (!comment && c != ' ' && c != '\t' && c != '\r') {
			break;
		}
	}
}

void pk_scan_mark(struct pk_scan *scan)
{
	pk_scan_skip(scan);
	scan->mark.line = scan->line;
	scan->mark.column = (int)PK_MIN(scan->at - scan->line_start, (ptrdiff_t)INT32_MAX - 1) + 1;
}

int pk_scan_prefix(struct pk_scan *scan, int code)
{
	pk_err_prefix(scan->err, "%d:%d", scan->mark.line, scan->mark.column);
	return code;
}

int pk_scan_fail(struct pk_scan *scan, int code, const char *fmt, ...)
{
	char text[PK_ERR_TEXT_MAX];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pk_fail(scan->err, code, "%s", text);
	return pk_scan_prefix(scan, code);
}

bool pk_scan_at_end(struct pk_scan *scan)
{
	pk_scan_skip(scan);
	return scan->at == scan->end;
}

char pk_scan_peek(struct pk_scan *scan)
{
	return pk_scan_at_end(scan) ? (char)0 : *scan->at;
}

bool pk_scan_accept(struct pk_scan *scan, char c)
{
	if (pk_scan_at_end(scan) || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

int pk_scan_expect(struct pk_scan *scan, char c)
{
	if (pk_scan_accept(scan, c))
		return 0;
	pk_scan_mark(scan);
	return pk_scan_fail(scan, -EINVAL, "'%c' expected", c);
}

bool pk_scan_accept_word(struct pk_scan *scan, const char *word)
{
	size_t n = strlen(word);
	pk_scan_skip(scan);
	if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, word, n) != 0)
		return false;
	scan->at += n;
	return true;
}

static bool pk_scan_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool pk_scan_is_name(char c)
{
	return pk_scan_is_alnum(c) || c == '.' || c == '/' || c == ':' || c == '-';
}

int pk_scan_word(struct pk_scan *scan, char out[PK_SCAN_WORD_MAX])
{
	size_t n = 0;
	pk_scan_mark(scan);
	while (scan->at + n < scan->end && pk_scan_is_alnum(scan->at[n]))
		n++;
	if (n == 0)
		return pk_scan_fail(scan, -EINVAL, "word expected");
	if (n >= PK_SCAN_WORD_MAX)
		return pk_scan_fail(scan, -EINVAL, "word is too long");
	memcpy(out, scan->at, n);
	out[n] = 0;
	scan->at += n;
	return 0;
}

static int pk_scan_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// One character of a quoted text, or a negative number: \" \\ \xNN; NUL and line ends are refused.
static int pk_scan_quoted_char(struct pk_scan *scan)
{
	unsigned char c = (unsigned char)*scan->at++;
	if (c == 0 || c == '\n')
		return -1;
	if (c != '\\')
		return c;
	if (scan->at < scan->end && (*scan->at == '"' || *scan->at == '\\'))
		return (unsigned char)*scan->at++;
	if (scan->end - scan->at < 3 || *scan->at != 'x')
		return -1;
	int high = pk_scan_hex_digit(scan->at[1]), low = pk_scan_hex_digit(scan->at[2]);
	scan->at += 3;
	return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

static int pk_scan_quoted(struct pk_scan *scan, struct pk_arena *arena, char **out)
{
	size_t n = 1; // with the NUL
	for (const char *c = scan->at; c < scan->end && *c != '"' && *c != '\n'; c++, n++)
		if (*c == '\\' && c + 1 < scan->end)
			c++;
	char *text = pk_arena_alloc(arena, n);
	if (!text)
		return pk_scan_fail(scan, -ENOMEM, "no memory");
	for (size_t i = 0; scan->at < scan->end; i++) {
		if (*scan->at == '"') {
			scan->at++;
			*out = text;
			return 0;
		}
		int c = pk_scan_quoted_char(scan);
		if (c < 0)
			return pk_scan_fail(scan, -EINVAL, "bad character in quoted text");
		text[i] = (char)c;
	}
	return pk_scan_fail(scan, -EINVAL, "quoted text does not end");
}

int pk_scan_name(struct pk_scan *scan, struct pk_arena *arena, char **out)
{
	pk_scan_mark(scan);
	if (pk_scan_accept(scan, '"'))
		return pk_scan_quoted(scan, arena, out);
	size_t n = 0;
	while (scan->at + n < scan->end && pk_scan_is_name(scan->at[n]))
		n++;
	if (n > 0 && scan->at[n - 1] == ':')
		n--;
	if (n == 0)
		return pk_scan_fail(scan, -EINVAL, "name expected");
	*out = pk_arena_strndup(arena, scan->at, n);
	scan->at += n;
	return *out ? 0 : pk_scan_fail(scan, -ENOMEM, "no memory");
}

// Copies what can belong to a number, so that the C library sees an end.
static int pk_scan_number(struct pk_scan *scan, const char *set, char out[PK_SCAN_NUMBER_MAX])
{
	size_t n = 0;
	pk_scan_mark(scan);
	while (scan->at + n < scan->end && scan->at[n] && strchr(set, scan->at[n]))
		n++;
	if (n == 0)
		return pk_scan_fail(scan, -EINVAL, "number expected");
	if (n >= PK_SCAN_NUMBER_MAX)
		return pk_scan_fail(scan, -EINVAL, "number is too long");
	memcpy(out, scan->at, n);
	out[n] = 0;
	scan->at += n;
	return 0;
}

int pk_scan_int(struct pk_scan *scan, int64_t *out)
{
	char text[PK_SCAN_NUMBER_MAX], *end;
	int r = pk_scan_number(scan, "-0123456789", text);
	if (r < 0)
		return r;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return *end || errno ? pk_scan_fail(scan, -EINVAL, "`%s` is no 64-bit integer", text) : 0;
}

int pk_scan_u64(struct pk_scan *scan, uint64_t *out)
{
	char text[PK_SCAN_NUMBER_MAX], *end;
	int r = pk_scan_number(scan, "0123456789", text);
	if (r < 0)
		return r;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *end || errno ? pk_scan_fail(scan, -EINVAL, "`%s` is no 64-bit integer", text) : 0;
}

// Numbers out of double's range become infinity or zero; every other text is checked in full.
int pk_scan_double(struct pk_scan *scan, double *out)
{
	char text[PK_SCAN_NUMBER_MAX], *end;
	int r = pk_scan_number(scan, "+-.0123456789eEinfa", text);
	if (r < 0)
		return r;
	*out = strtod(text, &end);
	return *end || end == text ? pk_scan_fail(scan, -EINVAL, "`%s` is no number", text) : 0;
}

size_t pk_scan_count_items(const struct pk_scan *scan)
{
	size_t n = 0;
	bool blank = true;
	for (const char *c = scan->at; c < scan->end && *c != '}'; c++) {
		n += *c == ',';
		blank = blank && (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r');
	}
	return blank ? 0 : n + 1;
}
