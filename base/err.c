// SPDX-License-Identifier: Apache-2.0
// The reason of a failure, for a person.
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PK_ERR_CUT "\xe2\x80\xa6" // "…"

// Bytes of a control character at s: C0, DEL, and C1 in its two-byte UTF-8 form; 0 if none.
static size_t pk_control_len(const unsigned char *s)
{
	if (s[0] < 0x20 || s[0] == 0x7f)
		return 1;
	return s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f ? 2 : 0;
}

// Drops the last character (a whole UTF-8 sequence) while more than max bytes are there.
static size_t pk_cut_at_char(const char *text, size_t len, size_t max)
{
	while (len > max || (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80))
		len--;
	return len;
}

static void pk_err_set(struct pk_err *err, const char *raw, bool was_cut)
{
	char text[PK_ERR_TEXT_MAX + 16];
	size_t len = 0;
	const unsigned char *s = (const unsigned char *)raw;
	while (*s && len < PK_ERR_TEXT_MAX) {
		size_t n_control = pk_control_len(s);
		for (size_t i = 0; i < n_control; i++, s++)
			len += (size_t)snprintf(text + len, 5, "\\x%02x", *s);
		if (n_control == 0)
			text[len++] = (char)*s++;
	}
	text[len] = '\0';
	if (was_cut || len >= PK_ERR_TEXT_MAX) {
		len = pk_cut_at_char(text, len, PK_ERR_TEXT_MAX - sizeof(PK_ERR_CUT));
		memcpy(text + len, PK_ERR_CUT, sizeof(PK_ERR_CUT));
		len += sizeof(PK_ERR_CUT) - 1;
	}
	memcpy(err->text, text, len + 1);
}

int pk_fail(struct pk_err *err, int code, const char *fmt, ...)
{
	if (!err)
		return code;
	char raw[PK_ERR_TEXT_MAX]; // arguments may point into err->text
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	pk_err_set(err, n < 0 ? fmt : raw, n >= (int)sizeof(raw));
	return code;
}

void pk_err_prefix(struct pk_err *err, const char *fmt, ...)
{
	if (!err)
		return;
	char raw[2 * PK_ERR_TEXT_MAX];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(raw, PK_ERR_TEXT_MAX, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	size_t len = strlen(raw);
	snprintf(raw + len, sizeof(raw) - len, ": %s", err->text);
	pk_err_set(err, raw, false);
}

int pk_fail_errno(struct pk_err *err, const char *fmt, ...)
{
	int saved = errno;
	if (!err)
		return -saved;
	char raw[PK_ERR_TEXT_MAX], reason[128];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	return pk_fail(err, -saved, "%s: %s", n < 0 ? fmt : raw,
		strerror_r(saved, reason, sizeof(reason)));
}

const char *pk_err_text(const struct pk_err *err, int code)
{
	if (err && err->text[0])
		return err->text;
	const char *name = strerrordesc_np(code < 0 ? -code : code);
	return name ? name : "unknown error";
}
