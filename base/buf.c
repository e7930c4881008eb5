// SPDX-License-Identifier: Apache-2.0
// Growing byte buffer with a mandatory maximum; always NUL-terminated past its length.
#include "base/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define PK_BUF_FIRST_CAP 64

void pk_buf_init(struct pk_buf *buf, size_t max_bytes)
{
	*buf = (struct pk_buf){.max = max_bytes};
}

void pk_buf_finish(struct pk_buf *buf)
{
	free(buf->data);
	*buf = (struct pk_buf){.max = buf->max};
}

// Makes room for n more bytes and the NUL.
static int pk_buf_grow(struct pk_buf *buf, size_t n)
{
	if (buf->error)
		return buf->error;
	size_t want;
	if (n > buf->max - buf->len || pk_add_overflow(buf->len, n, &want) ||
		pk_add_overflow(want, (size_t)1, &want))
		return buf->error = -ENOSPC;
	if (want <= buf->cap)
		return 0;
	size_t cap = buf->cap > SIZE_MAX / 2 ? SIZE_MAX : buf->cap * 2;
	cap = PK_MAX(PK_MAX(cap, want), (size_t)PK_BUF_FIRST_CAP);
	if (buf->max < SIZE_MAX)
		cap = PK_MIN(cap, buf->max + 1);
	char *data = realloc(buf->data, cap);
	if (!data)
		return buf->error = -ENOMEM;
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int pk_buf_append(struct pk_buf *buf, const void *bytes, size_t n)
{
	int r = pk_buf_grow(buf, n);
	if (r < 0)
		return r;
	if (n)
		memcpy(buf->data + buf->len, bytes, n);
	buf->len += n;
	buf->data[buf->len] = '\0';
	return 0;
}

int pk_buf_str(struct pk_buf *buf, const char *s)
{
	return pk_buf_append(buf, s, strlen(s));
}

int pk_buf_vprintf(struct pk_buf *buf, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	int r = len < 0 ? (buf->error ? buf->error : (buf->error = -EINVAL))
			: pk_buf_grow(buf, (size_t)len);
	if (r == 0) {
		vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
	return r;
}

int pk_buf_printf(struct pk_buf *buf, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int r = pk_buf_vprintf(buf, fmt, args);
	va_end(args);
	return r;
}

void *pk_buf_reserve(struct pk_buf *buf, size_t n)
{
	if (pk_buf_grow(buf, n) < 0)
		return NULL;
	char *room = buf->data + buf->len;
	memset(room, 0, n + 1);
	buf->len += n;
	return room;
}

// Length of the well-formed UTF-8 sequence at s, or 0 (table 3-7 of the Unicode standard).
static size_t pk_utf8_len(const unsigned char *s)
{
	static const struct {
		unsigned char first_lo, first_hi, second_lo, second_hi, len;
	} rows[] = {
		{0x01, 0x7f, 0, 0, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		if (s[0] < rows[i].first_lo || s[0] > rows[i].first_hi)
			continue;
		if (rows[i].len > 1 && (s[1] < rows[i].second_lo || s[1] > rows[i].second_hi))
			return 0;
		for (size_t k = 2; k < rows[i].len; k++) // a NUL ends this too
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return rows[i].len;
	}
	return 0;
}

// The short escape of RFC 8259 section 7, or NULL.
static const char *pk_json_short_escape(unsigned char c)
{
	static const char *const table[128] = {['"'] = "\\\"",
		['\\'] = "\\\\",
		['\n'] = "\\n",
		['\r'] = "\\r",
		['\t'] = "\\t",
		['\b'] = "\\b",
		['\f'] = "\\f"};
	return c < 128 ? table[c] : NULL;
}

static size_t pk_buf_json_char(struct pk_buf *buf, const unsigned char *s)
{
	const char *escape = pk_json_short_escape(*s);
	if (escape) {
		pk_buf_str(buf, escape);
		return 1;
	}
	if (*s < 0x20) {
		pk_buf_printf(buf, "\\u%04x", *s);
		return 1;
	}
	size_t len = pk_utf8_len(s);
	if (len == 0) {
		pk_buf_append(buf, "\xef\xbf\xbd", 3);
		return 1;
	}
	pk_buf_append(buf, s, len);
	return len;
}

int pk_buf_json_string(struct pk_buf *buf, const char *s)
{
	pk_buf_append(buf, "\"", 1);
	for (const unsigned char *p = (const unsigned char *)s; *p && !buf->error;)
		p += pk_buf_json_char(buf, p);
	return pk_buf_append(buf, "\"", 1);
}

void pk_buf_consume(struct pk_buf *buf, size_t n)
{
	if (!buf->data)
		return;
	n = PK_MIN(n, buf->len);
	memmove(buf->data, buf->data + n, buf->len - n + 1);
	buf->len -= n;
}

void pk_buf_clear(struct pk_buf *buf)
{
	buf->len = 0;
	buf->error = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

const char *pk_buf_cstr(const struct pk_buf *buf)
{
	return buf->data ? buf->data : "";
}
