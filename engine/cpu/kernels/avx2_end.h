// SPDX-License-Identifier: Apache-2.0
// Closes what avx2_begin.h opened.
#pragma once

#if defined(__clang__)
#pragma clang attribute pop
#endif
