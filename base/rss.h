// SPDX-License-Identifier: Apache-2.0
// How much memory this process has resident.
#pragma once

#include <stdint.h>

int64_t pk_rss_bytes(void); // from /proc/self/statm; 0 where that cannot be read
