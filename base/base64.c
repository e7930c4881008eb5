// SPDX-License-Identifier: Apache-2.0
// Base64 with the standard alphabet, strictly.
#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

// Four characters, the last n_pad of them '='. The number of bytes, or -1 when they are no group.
static int decode_group(const char *text, size_t n_pad, uint8_t out[3])
{
	uint32_t bits = 0;
	for (size_t i = 0; i < 4; i++) {
		int v = i < 4 - n_pad ? value_of(text[i]) : 0;
		if (v < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
	}
	// The bits that no byte takes must be zero, or two texts would stand for the same bytes.
	if (n_pad > 0 && bits & (n_pad == 1 ? 0xffu : 0xffffu))
		return -1;
	for (size_t i = 0; i < 3; i++)
		out[i] = (uint8_t)(bits >> (16 - 8 * i));
	return 3 - (int)n_pad;
}

static size_t count_padding(const char *text, size_t n)
{
	if (n < 4 || text[n - 1] != '=')
		return 0;
	return text[n - 2] == '=' ? 2 : 1;
}

int pk_base64_read(const char *text, size_t n, struct pk_buf *out, struct pk_err *err)
{
	if (n % 4 != 0)
		return pk_fail(err, -EINVAL, "base64: %zu characters, no multiple of four", n);
	for (size_t i = 0; i < n; i += 4) {
		uint8_t bytes[3];
		bool last = i + 4 == n;
		int got = decode_group(text + i, last ? count_padding(text, n) : 0, bytes);
		if (got < 0)
			return pk_fail(
				err, -EINVAL, "base64: not canonical at character %zu", i + 1);
		if (pk_buf_append(out, bytes, (size_t)got) < 0)
			return pk_fail(
				err, pk_buf_error(out), "base64: more than %zu bytes", out->max);
	}
	return 0;
}

int pk_base64_write(const void *bytes, size_t n, struct pk_buf *out)
{
	const uint8_t *p = bytes;
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t bits = (uint32_t)p[i] << 16;
		bits |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
		bits |= left > 2 ? p[i + 2] : 0;
		const char group[4] = {
			alphabet[bits >> 18],
			alphabet[bits >> 12 & 63],
			left > 1 ? alphabet[bits >> 6 & 63] : '=',
			left > 2 ? alphabet[bits & 63] : '=',
		};
		pk_buf_append(out, group, sizeof(group));
	}
	return pk_buf_error(out);
}
