// SPDX-License-Identifier: Apache-2.0
// Words of a person's text: safe quoting for messages, nearest known word, UTF-8 scan.
#include "config/words.h"

#include <string.h>

#include "base/checked.h"

#define WORD_MAX  64
#define QUOTE_MAX 48

struct pk_words_quote pk_words_quote(const char *s)
{
	struct pk_words_quote q = {0};
	size_t n = strnlen(s, QUOTE_MAX + 1);

	if (n <= QUOTE_MAX) {
		memcpy(q.text, s, n);
		return q;
	}
	n = QUOTE_MAX;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	memcpy(q.text, s, n);
	memcpy(q.text + n, "…", sizeof("…"));
	return q;
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	return PK_MIN(a, PK_MIN(b, c));
}

size_t pk_words_distance(const char *a, const char *b, size_t limit)
{
	size_t rows[3][WORD_MAX + 1];
	size_t n = strnlen(a, WORD_MAX + 1), m = strnlen(b, WORD_MAX + 1);

	if (n > WORD_MAX || m > WORD_MAX || (n > m ? n - m : m - n) > limit)
		return limit + 1;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t cost = lower(a[i - 1]) != lower(b[j - 1]);
			now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + cost);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
				lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = PK_MIN(now[j], up2[j - 2] + 1);
		}
	}
	return PK_MIN(rows[n % 3][m], limit + 1);
}

// One slip in a short word, two in a middle one, three in a long one.
static size_t slips(const char *word)
{
	return 1 + PK_MIN(strlen(word) / 5, (size_t)2);
}

void pk_words_best_init(struct pk_words_best *best, const char *word)
{
	best->word = word;
	best->best = NULL;
	best->distance = slips(word) + 1;
}

// "prio" for "priority": as good as the last slip that is let through.
static bool is_start(const char *word, const char *candidate)
{
	size_t n = strlen(word);
	return n >= 3 && strncmp(word, candidate, n) == 0;
}

void pk_words_best_try(struct pk_words_best *best, const char *candidate)
{
	size_t distance = pk_words_distance(best->word, candidate, best->distance - 1);

	if (distance >= best->distance && is_start(best->word, candidate))
		distance = slips(best->word);
	// A word that shares nothing with the candidate is no slip ("fps" for "uri").
	if (distance >= best->distance || distance >= strlen(candidate))
		return;
	best->best = candidate;
	best->distance = PK_MAX(distance, (size_t)1);
}

size_t pk_words_utf8(const char *s, size_t n, unsigned int *code)
{
	static const unsigned int smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t len = u[0] < 0x80         ? 1
		     : u[0] >> 5 == 0x06 ? 2
		     : u[0] >> 4 == 0x0e ? 3
		     : u[0] >> 3 == 0x1e ? 4
					 : 0;

	if (len == 0 || len > n)
		return 0;
	unsigned int c = len == 1 ? u[0] : u[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < smallest[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return len;
}

bool pk_words_printable(unsigned int code)
{
	if (code < 0x20)
		return code == '\t' || code == '\n';
	if (code >= 0x7f && code < 0xa0)
		return false;
	return code != 0x2028 && code != 0x2029 && code != 0xfeff && (code & 0xfffe) != 0xfffe;
}

bool pk_words_are_printable(const char *s)
{
	unsigned int code = 0;

	for (size_t n = strlen(s), len; n > 0; s += len, n -= len) {
		len = pk_words_utf8(s, n, &code);
		if (len == 0 || !pk_words_printable(code))
			return false;
	}
	return true;
}
