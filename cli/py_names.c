// SPDX-License-Identifier: Apache-2.0
// A reader of just as much of Python's literals as class names need. Source: Python language
// reference, section 2.4 (string literals), 6.2 (displays).
#include "cli/py_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define MAX_NAME 256

struct reader {
	const char *start, *at;
	struct pk_py_names *out;
	struct pk_err *err;
};

static int bad(const struct reader *r, const char *what)
{
	return pk_fail(r->err, -EINVAL, "at %zu: %s", (size_t)(r->at - r->start), what);
}

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static bool take(struct reader *r, char c)
{
	skip_space(r);
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

// The character behind a backslash; 0: not one that a name may hold.
static char unescape(char c)
{
	switch (c) {
	case '\\':
	case '\'':
	case '"':
		return c;
	case 't':
		return ' ';
	default:
		return 0;
	}
}

static int read_string(struct reader *r, char out[MAX_NAME])
{
	skip_space(r);
	const char quote = *r->at;
	size_t n = 0;
	if (quote != '\'' && quote != '"')
		return bad(r, "expected a string");
	for (r->at++; *r->at != quote; r->at++) {
		char c = *r->at;
		if (c == '\\') {
			c = unescape(*++r->at);
			if (!c)
				return bad(r, "an escape that a name cannot hold");
		}
		if ((unsigned char)c < ' ')
			return bad(r, "a string that does not end");
		if (n + 1 >= MAX_NAME)
			return bad(r, "a name longer than 255 bytes");
		out[n++] = c;
	}
	r->at++;
	out[n] = '\0';
	return n ? 0 : bad(r, "an empty name");
}

static int keep(struct reader *r, const char *name)
{
	struct pk_py_names *out = r->out;
	if (out->n == PK_PY_NAMES_MAX)
		return bad(r, "too many names");
	if ((out->n & (out->n - 1)) == 0) { // full at each power of two
		char **items = realloc(out->items, (out->n ? 2 * out->n : 1) * sizeof(*items));
		if (!items)
			return pk_fail(r->err, -ENOMEM, "out of memory");
		out->items = items;
	}
	out->items[out->n] = strdup(name);
	if (!out->items[out->n])
		return pk_fail(r->err, -ENOMEM, "out of memory");
	out->n++;
	return 0;
}

static int read_key(struct reader *r)
{
	skip_space(r);
	char *end;
	errno = 0;
	unsigned long key = strtoul(r->at, &end, 10);
	if (end == r->at || *r->at == '-' || errno)
		return bad(r, "expected a class number");
	if (key != r->out->n)
		return bad(r, "class numbers do not run 0, 1, 2, …");
	r->at = end;
	return take(r, ':') ? 0 : bad(r, "expected `:`");
}

static int read_all(struct reader *r)
{
	const bool dict = take(r, '{');
	const char close = dict ? '}' : ']';
	if (!dict && !take(r, '['))
		return bad(r, "expected a dict or a list");
	while (!take(r, close)) {
		char name[MAX_NAME];
		if (r->out->n && !take(r, ','))
			return bad(r, "expected `,`");
		if (r->out->n && take(r, close))
			break;
		int rc = dict ? read_key(r) : 0;
		if (rc == 0)
			rc = read_string(r, name);
		if (rc == 0)
			rc = keep(r, name);
		if (rc < 0)
			return rc;
	}
	skip_space(r);
	return *r->at ? bad(r, "text after the end") : 0;
}

int pk_py_names_parse(const char *text, struct pk_py_names *out, struct pk_err *err)
{
	*out = (struct pk_py_names){0};
	struct reader r = {.start = text, .at = text, .out = out, .err = err};
	return read_all(&r);
}

void pk_py_names_finish(struct pk_py_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct pk_py_names){0};
}
