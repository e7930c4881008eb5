// SPDX-License-Identifier: Apache-2.0
// How much memory this process has resident.
#pragma once

#include <stdint.h>

// Gives back what only the start needed: free heap, and pages of program text, which come back from
// the page cache when they are used again. Any thread.
void pk_rss_give_back(void);

int64_t pk_rss_bytes(void); // from /proc/self/statm; 0 where that cannot be read
