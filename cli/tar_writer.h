// SPDX-License-Identifier: Apache-2.0
// Plain ustar files. Source: POSIX.1-2017, pax, "ustar Interchange Format".
#pragma once

#include <stddef.h>
#include <stdio.h>

// name: at most 99 bytes. 0 or -errno.
int pk_tar_put(FILE *out, const char *name, const void *bytes, size_t n);
int pk_tar_end(FILE *out);
