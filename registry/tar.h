// SPDX-License-Identifier: Apache-2.0
// The table of contents of a tar file: plain ustar, pax and GNU long names; regular files only.
// Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format".
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

#define PK_TAR_MAX_MEMBERS 4096
#define PK_TAR_MAX_NAME    1024

struct pk_tar_member {
	char *name; // without "./" in front
	int64_t offset, size;
};

struct pk_tar {
	struct pk_tar_member *members;
	size_t n, cap;
};

// Reads n bytes at an offset within the file; 0 or a negative errno.
typedef int pk_tar_read(void *ctx, int64_t offset, void *out, size_t n);

// Lists the members of a file of `size` bytes. Folders are passed over; links, devices and holes
// are refused, as are names with "..", names twice, sizes beyond the end, checksums that are wrong.
// -EINVAL with the place, -ENOTSUP (compressed, or a kind of member), -EFBIG, -ENOMEM, what read
// returned. On failure *out holds nothing.
int pk_tar_list(pk_tar_read *read, void *ctx, int64_t size, struct pk_tar *out, struct pk_err *err)
	pk_must_check;
void pk_tar_finish(struct pk_tar *tar); // zeroes it
const struct pk_tar_member *pk_tar_find(const struct pk_tar *tar, const char *name);
