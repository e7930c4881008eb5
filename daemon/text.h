// SPDX-License-Identifier: Apache-2.0
// Texts of fixed size that stay UTF-8 when they are cut: JSON takes nothing else.
#pragma once

#include <stddef.h>

#include "base/attr.h"

// Makes text valid UTF-8 in place: a character that was cut off at the end goes, other bytes that
// are none become '?'.
void pk_text_mend(char *text);
// snprintf, mended.
void pk_text_format(char *out, size_t size, const char *fmt, ...) pk_printf(3, 4);
