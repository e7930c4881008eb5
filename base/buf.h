// SPDX-License-Identifier: Apache-2.0
// Growing byte buffer with a mandatory maximum; always NUL-terminated past its length.
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

// Once an append fails (bound or memory), the buffer is "failed": it keeps its bytes, further
// appends do nothing, and pk_buf_error tells. So a writer may append freely and check once at the
// end.
struct pk_buf {
	char *data; // NULL until the first append
	size_t len;
	size_t cap;
	size_t max;
	int error; // 0, -ENOSPC (bound) or -ENOMEM
};

void pk_buf_init(struct pk_buf *buf, size_t max_bytes);
void pk_buf_finish(struct pk_buf *buf); // frees; the buffer may be initialised again
#define pk_auto_buf pk_cleanup(pk_buf_finish)

int pk_buf_append(struct pk_buf *buf, const void *bytes, size_t n);
int pk_buf_str(struct pk_buf *buf, const char *s);
int pk_buf_printf(struct pk_buf *buf, const char *fmt, ...) pk_printf(2, 3);
int pk_buf_vprintf(struct pk_buf *buf, const char *fmt, va_list args) pk_printf(2, 0);
// n zero bytes to be filled by the caller; NULL when it failed.
void *pk_buf_reserve(struct pk_buf *buf, size_t n) pk_must_check;
// s as a JSON string, quotes included; invalid UTF-8 becomes U+FFFD.
int pk_buf_json_string(struct pk_buf *buf, const char *s);
void pk_buf_consume(struct pk_buf *buf, size_t n); // drops the first n bytes
void pk_buf_clear(struct pk_buf *buf);             // length 0, memory kept
const char *pk_buf_cstr(const struct pk_buf *buf); // "" when empty
static inline int pk_buf_error(const struct pk_buf *buf)
{
	return buf->error;
}
