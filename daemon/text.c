// SPDX-License-Identifier: Apache-2.0
// UTF-8 by RFC 3629, as strict as jansson: no overlong forms, no surrogates.
#include "daemon/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Length of the character that starts with this byte; 0: none starts so.
static size_t length_of(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

static int fits_lead(unsigned char lead, unsigned char second)
{
	if (lead == 0xe0)
		return second >= 0xa0;
	if (lead == 0xed)
		return second < 0xa0;
	if (lead == 0xf0)
		return second >= 0x90;
	return lead != 0xf4 || second < 0x90;
}

// How many bytes at p belong to one character that stops at the end of the text or is whole.
static size_t count_good(const unsigned char *p, size_t n)
{
	size_t i = 1;
	while (i < n && (p[i] & 0xc0) == 0x80 && (i > 1 || fits_lead(p[0], p[1])))
		i++;
	return i;
}

void pk_text_mend(char *text)
{
	unsigned char *p = (unsigned char *)text;
	while (*p) {
		size_t n = length_of(*p);
		size_t good = n ? count_good(p, n) : 0;
		if (n && good == n) {
			p += n;
		} else if (n && !p[good]) {
			*p = '\0'; // cut off
		} else {
			*p++ = '?';
		}
	}
}

void pk_text_format(char *out, size_t size, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(out, size, fmt, args);
	va_end(args);
	pk_text_mend(out);
}
