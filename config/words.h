// SPDX-License-Identifier: Apache-2.0
// Words of a person's text: safe quoting for messages, nearest known word, UTF-8 scan.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// A scalar as messages show it: at most 48 bytes of it, cut at a character with "…".
#define PK_WORDS_QUOTE_MAX 64
struct pk_words_quote {
	char text[PK_WORDS_QUOTE_MAX];
};
struct pk_words_quote pk_words_quote(const char *s);

// Optimal string alignment distance (insert, delete, replace, swap of neighbours), letters compared
// without case. Words above 64 bytes have distance > limit. Returns limit + 1 when above limit.
size_t pk_words_distance(const char *a, const char *b, size_t limit);

// The candidate that `word` was most likely meant to be, or NULL when none is near. The first of
// equally near ones wins, so the answer does not depend on anything but the order given.
struct pk_words_best {
	const char *word; // what was written
	const char *best; // NULL: none yet
	size_t distance;
};
void pk_words_best_init(struct pk_words_best *best, const char *word);
void pk_words_best_try(struct pk_words_best *best, const char *candidate);

// Length in bytes of the UTF-8 character at s (n > 0 bytes are there) and its code point; 0 when
// the bytes are not well-formed (overlong, surrogate, above U+10FFFF, cut off).
size_t pk_words_utf8(const char *s, size_t n, unsigned int *code);

// May a person's text hold it? Not so: control characters except tab and line feed, the line and
// paragraph separators, byte order marks and non-characters.
bool pk_words_printable(unsigned int code);
// The whole string: well-formed and printable.
bool pk_words_are_printable(const char *s);
