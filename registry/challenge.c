// SPDX-License-Identifier: Apache-2.0
// A reader of WWW-Authenticate: commas divide challenges, parameters and what stands in quotes.
#include "registry/challenge.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct reader {
	const char *at;
	struct pk_challenge *out;
	size_t n;      // begun
	bool is_known; // the present challenge is kept
};

static bool is_token_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_length(const char *text)
{
	size_t n = 0;
	while (is_token_char(text[n]))
		n++;
	return n;
}

static void skip(struct reader *r, const char *set)
{
	r->at += strspn(r->at, set);
}

// A value, in quotes or not, into out; "" when it does not fit.
static void read_value(struct reader *r, char *out, size_t size)
{
	size_t n = 0;
	bool quoted = *r->at == '"';
	r->at += quoted;
	for (; *r->at && *r->at != '\n'; r->at++) {
		if (quoted ? *r->at == '"' : !is_token_char(*r->at) && !strchr("/:=@?", *r->at))
			break;
		if (quoted && *r->at == '\\' && r->at[1] && r->at[1] != '\n')
			r->at++;
		if (n < size)
			out[n] = *r->at;
		n++;
	}
	r->at += quoted && *r->at == '"';
	out[n < size ? n : 0] = '\0';
}

static void read_parameter(struct reader *r, const char *name, size_t n_name)
{
	char ignored[1];
	struct pk_challenge *c = r->is_known ? &r->out[r->n - 1] : NULL;
	const struct {
		const char *name;
		char *out;
		size_t size;
	} rows[] = {
		{"realm", c ? c->realm : ignored, c ? sizeof(c->realm) : 1},
		{"service", c ? c->service : ignored, c ? sizeof(c->service) : 1},
		{"scope", c ? c->scope : ignored, c ? sizeof(c->scope) : 1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].name) == n_name &&
			strncasecmp(rows[i].name, name, n_name) == 0) {
			read_value(r, rows[i].out, rows[i].size);
			return;
		}
	}
	read_value(r, ignored, sizeof(ignored));
}

static void begin(struct reader *r, const char *scheme, size_t n)
{
	r->is_known = r->n < PK_CHALLENGE_MAX && n < sizeof(r->out[0].scheme);
	if (!r->is_known)
		return;
	struct pk_challenge *c = &r->out[r->n++];
	*c = (struct pk_challenge){0};
	for (size_t i = 0; i < n; i++)
		c->scheme[i] = (char)tolower((unsigned char)scheme[i]);
}

// name=value belongs to the challenge before it; a name alone begins one. "name=" and "name=="
// after a scheme are a token68, which nobody here wants.
static void read_item(struct reader *r)
{
	const char *name = r->at;
	size_t n = token_length(name);
	if (n == 0) {
		r->at++; // no sense in it
		return;
	}
	r->at += n;
	const char *after = r->at + strspn(r->at, " \t");
	if (*after != '=') {
		begin(r, name, n);
		return;
	}
	r->at = after + 1;
	skip(r, " \t");
	read_parameter(r, name, n);
}

size_t pk_challenge_parse(const char *text, struct pk_challenge out[PK_CHALLENGE_MAX])
{
	struct reader r = {.at = text, .out = out};
	for (;;) {
		skip(&r, " \t,\r");
		if (*r.at == '\n') { // a header of its own
			r.is_known = false;
			r.at++;
		} else if (*r.at) {
			read_item(&r);
		} else {
			return r.n;
		}
	}
}
