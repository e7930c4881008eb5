// SPDX-License-Identifier: Apache-2.0
// The reason of a failure, for a person: fixed text, on the caller's stack.
#pragma once

#include "base/attr.h"

#define PK_ERR_TEXT_MAX 512

// Zero-initialise before use. The origin fills it, callers may prefix, only the handler logs it.
struct pk_err {
	char text[PK_ERR_TEXT_MAX]; // never contains control characters; cut with "…" when too long
};

// Sets the text and returns `code` (a negative errno), so that `return pk_fail(err, -EINVAL, …)`
// reads as one step. err may be NULL. Control characters in the result are escaped (\xNN).
int pk_fail(struct pk_err *err, int code, const char *fmt, ...) pk_printf(3, 4);

// Puts "prefix: " before the text that is there. err may be NULL.
void pk_err_prefix(struct pk_err *err, const char *fmt, ...) pk_printf(2, 3);

// pk_fail for a failed system call: appends ": strerror(errno)" and returns -errno.
int pk_fail_errno(struct pk_err *err, const char *fmt, ...) pk_printf(2, 3);

// The text, or strerror(-code) when nobody left one. Never NULL.
const char *pk_err_text(const struct pk_err *err, int code);
