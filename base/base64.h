// SPDX-License-Identifier: Apache-2.0
// Base64 with the standard alphabet, strictly. Source: RFC 4648 sections 3.2 to 3.5 and 4.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

// Appends what text stands for. Padded, no white space, no other alphabet, unused bits zero: each
// byte string has exactly one text. -EINVAL says where; -ENOSPC, -ENOMEM as out tells.
int pk_base64_read(const char *text, size_t n, struct pk_buf *out, struct pk_err *err)
	pk_must_check;
// Appends the padded text of n bytes. 0, -ENOSPC or -ENOMEM.
int pk_base64_write(const void *bytes, size_t n, struct pk_buf *out);
