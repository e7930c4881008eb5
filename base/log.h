// SPDX-License-Identifier: Apache-2.0
// Log lines with a priority and structured journal fields; the one place that writes them.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

// syslog(3) priorities, as systemd reads them from "<N>" prefixes.
enum pk_log_priority {
	PK_LOG_ALERT = 1,
	PK_LOG_ERR = 3,
	PK_LOG_WARNING = 4,
	PK_LOG_NOTICE = 5,
	PK_LOG_INFO = 6,
	PK_LOG_DEBUG = 7,
};

// One journal field. name: upper case, digits, '_' (journald's rule). Values are copied.
struct pk_log_field {
	const char *name;
	const char *value; // NULL: the field is left out
};

// Chooses the output once, before the first thread: native journald when stderr is connected to
// the journal ($JOURNAL_STREAM matches), else stderr with "<N>" prefixes when not a terminal, else
// plain coloured lines. ident: SYSLOG_IDENTIFIER, static string. max: least urgent priority kept.
void pk_log_init(const char *ident, enum pk_log_priority max);
void pk_log_set_max(enum pk_log_priority max);
bool pk_log_enabled(enum pk_log_priority priority);

// Registers a secret: every later line has it (and its percent-encoded form) replaced by "***".
// Shorter than 4 bytes is ignored. At most 64 are kept, the oldest goes first. Thread-safe.
void pk_log_redact(const char *secret);

// Any thread. A line is one write; longer than 8 KiB is cut. Newlines become " | ".
void pk_log(enum pk_log_priority priority, const char *fmt, ...) pk_printf(2, 3);

// A line with fields; message_id: 32 hex digits or NULL. On stderr the fields follow as key=value.
void pk_log_event(enum pk_log_priority priority, const char *message_id,
	const struct pk_log_field *fields, size_t n_fields, const char *fmt, ...) pk_printf(5, 6);

// Test hook: receives each finished line instead of the real output; NULL restores it.
void pk_log_set_sink(
	void (*sink)(void *ctx, enum pk_log_priority priority, const char *line), void *ctx);

#define pk_log_err(...)     pk_log(PK_LOG_ERR, __VA_ARGS__)
#define pk_log_warning(...) pk_log(PK_LOG_WARNING, __VA_ARGS__)
#define pk_log_notice(...)  pk_log(PK_LOG_NOTICE, __VA_ARGS__)
#define pk_log_info(...)    pk_log(PK_LOG_INFO, __VA_ARGS__)
#define pk_log_debug(...)   pk_log(PK_LOG_DEBUG, __VA_ARGS__)
