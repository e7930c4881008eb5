// SPDX-License-Identifier: Apache-2.0
// Walks over the units of an encoded picture.
#include "pipeline/entry_point.h"

#include "base/attr.h"

#define PK_H264_IDR           5
#define PK_H264_SEI           6
#define PK_SEI_RECOVERY_POINT 6
// Recovery points come first; without a bound, many units would each be read to the end.
#define PK_SEI_MAX_BYTES   128
#define PK_H265_IRAP_FIRST 16
#define PK_H265_IRAP_LAST  23

// One number of an SEI header: bytes of 255 add up, the first other one ends it. False: cut off.
static bool pk_sei_number(const uint8_t **at, const uint8_t *end, size_t *out)
{
	*out = 0;
	while (*at < end && **at == 255) {
		*out += 255;
		++*at;
	}
	if (*at == end)
		return false;
	*out += *(*at)++;
	return true;
}

// at: behind the unit's header.
static bool pk_sei_has_recovery_point(const uint8_t *at, const uint8_t *end)
{
	size_t type, size;
	while (pk_sei_number(&at, end, &type) && pk_sei_number(&at, end, &size)) {
		if (type == PK_SEI_RECOVERY_POINT)
			return true;
		if (size >= (size_t)(end - at))
			return false;
		at += size;
	}
	return false;
}

// unit: its first byte is there; end: of all bytes.
static bool pk_unit_is_entry(enum pk_codec codec, const uint8_t *unit, const uint8_t *end)
{
	if (codec == PK_CODEC_H265) {
		int type = unit[0] >> 1 & 63;
		return type >= PK_H265_IRAP_FIRST && type <= PK_H265_IRAP_LAST;
	}
	int type = unit[0] & 31;
	end = end - unit > PK_SEI_MAX_BYTES ? unit + PK_SEI_MAX_BYTES : end;
	return type == PK_H264_IDR ||
	       (type == PK_H264_SEI && pk_sei_has_recovery_point(unit + 1, end));
}

bool pk_entry_point(enum pk_codec codec, const uint8_t *bytes, size_t n)
{
	if (codec != PK_CODEC_H264 && codec != PK_CODEC_H265)
		return true;
	for (size_t i = 0; i + 3 < n; i++)
		if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1 &&
			pk_unit_is_entry(codec, bytes + i + 3, bytes + n))
			return true;
	return false;
}
