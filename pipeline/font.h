// SPDX-License-Identifier: Apache-2.0
// A small bitmap font for labels in pictures: printable ASCII, 5 columns by 7 rows.
#pragma once

#include <stdint.h>

#define PK_FONT_COLUMNS 5
#define PK_FONT_ROWS    7

// PK_FONT_ROWS bytes from the top; bit 4 is the leftmost column. '?' for what it does not have.
const uint8_t *pk_font_glyph(char c);
