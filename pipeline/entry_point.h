// SPDX-License-Identifier: Apache-2.0
// Can a decoder begin at this encoded picture?
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/elements.h"

// n bytes of a byte-stream (start codes). H.264: an IDR slice, or a recovery point SEI, which
// streams of gradual refresh have instead (ISO/IEC 14496-10 7.4.1, D.2.8); H.265: an IRAP picture,
// thus also CRA and BLA (ISO/IEC 23008-2 7.4.2.2). Other codecs: always. Any bytes may come.
bool pk_entry_point(enum pk_codec codec, const uint8_t *bytes, size_t n);
