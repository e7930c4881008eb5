// SPDX-License-Identifier: Apache-2.0
// Log lines: cleaned, redacted, and written to the journal, a pipe or a terminal.
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// Where a line was written in the source is no news to an operator.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/log_redact.h"

#define PK_LOG_LINE_MAX 8192

enum pk_log_output {
	PK_LOG_TO_PIPE, // "<N>" prefixes, as systemd and our parent read them
	PK_LOG_TO_TERMINAL,
	PK_LOG_TO_JOURNAL,
};

static const char *log_ident = "picket";
static enum pk_log_output log_output = PK_LOG_TO_PIPE;
static bool log_colour;
static _Atomic int log_max = PK_LOG_INFO;

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*sink_fn)(void *ctx, enum pk_log_priority priority, const char *line);
static void *sink_ctx;

// True when $JOURNAL_STREAM names the device and inode that stderr is: only then do the journal and
// our caller look at the same stream (systemd.exec(5)).
static bool pk_log_stderr_is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	struct stat st;
	uintmax_t dev, ino;
	if (!text || sscanf(text, "%ju:%ju", &dev, &ino) != 2 || fstat(STDERR_FILENO, &st) < 0)
		return false;
	return (uintmax_t)st.st_dev == dev && (uintmax_t)st.st_ino == ino;
}

void pk_log_init(const char *ident, enum pk_log_priority max)
{
	log_ident = ident;
	pk_log_set_max(max);
	log_output = PK_LOG_TO_PIPE;
	if (pk_log_stderr_is_journal())
		log_output = PK_LOG_TO_JOURNAL;
	else if (isatty(STDERR_FILENO))
		log_output = PK_LOG_TO_TERMINAL;
	log_colour = log_output == PK_LOG_TO_TERMINAL && !getenv("NO_COLOR");
}

void pk_log_set_max(enum pk_log_priority max)
{
	atomic_store_explicit(&log_max, (int)max, memory_order_relaxed);
}

bool pk_log_enabled(enum pk_log_priority priority)
{
	return (int)priority <= atomic_load_explicit(&log_max, memory_order_relaxed);
}

void pk_log_set_sink(
	void (*sink)(void *ctx, enum pk_log_priority priority, const char *line), void *ctx)
{
	pthread_mutex_lock(&sink_lock);
	sink_fn = sink;
	sink_ctx = ctx;
	pthread_mutex_unlock(&sink_lock);
}

static void pk_log_append_clean_char(struct pk_buf *out, unsigned char c)
{
	if (c == '\n')
		pk_buf_str(out, " | ");
	else if (c == '\t')
		pk_buf_append(out, " ", 1);
	else if (c < 0x20 || c == 0x7f)
		pk_buf_printf(out, "\\x%02x", c);
	else
		pk_buf_append(out, &c, 1);
}

// raw without secrets, control characters and a trailing newline, at most PK_LOG_LINE_MAX bytes
// long; owned by the arena. Secrets go first: cutting or escaping could leave half of one.
static const char *pk_log_clean(struct pk_arena *arena, const char *raw)
{
	pk_auto_buf struct pk_buf redacted, clean;
	pk_buf_init(&redacted, SIZE_MAX);
	pk_buf_init(&clean, PK_LOG_LINE_MAX);
	pk_log_redact_append(&redacted, raw);
	size_t len = redacted.len;
	while (len > 0 && (redacted.data[len - 1] == '\n' || redacted.data[len - 1] == '\r'))
		len--;
	for (size_t i = 0; i < len && !pk_buf_error(&clean); i++)
		pk_log_append_clean_char(&clean, (unsigned char)redacted.data[i]);
	if (pk_buf_error(&redacted) == -ENOMEM || pk_buf_error(&clean) == -ENOMEM)
		return NULL;
	return pk_arena_strndup(arena, pk_buf_cstr(&clean), clean.len);
}

// Bytes of at most max that end with a whole UTF-8 character.
static size_t pk_log_cut(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	len = max;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static void pk_log_write_all(const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t written = write(STDERR_FILENO, bytes, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; // a full or closed log must not stop the program
		bytes += written;
		n -= (size_t)written;
	}
}

static const char *pk_log_colour(enum pk_log_priority priority)
{
	static const char *const table[] = {[PK_LOG_ALERT] = "\x1b[1;31m",
		[PK_LOG_ERR] = "\x1b[31m",
		[PK_LOG_WARNING] = "\x1b[33m",
		[PK_LOG_NOTICE] = "\x1b[1m",
		[PK_LOG_DEBUG] = "\x1b[2m"};
	bool has = (size_t)priority < PK_ARRAY_LEN(table) && table[priority];
	return log_colour && has ? table[priority] : "";
}

static void pk_log_write_line(enum pk_log_priority priority, const char *line)
{
	const char *colour = pk_log_colour(priority);
	const char *end = colour[0] ? "\x1b[0m\n" : "\n";
	char out[PK_LOG_LINE_MAX];
	int head = log_output == PK_LOG_TO_TERMINAL
			   ? snprintf(out, sizeof(out), "%s%s: ", colour, log_ident)
			   : snprintf(out, sizeof(out), "<%d>%s: ", (int)priority, log_ident);
	size_t n_head = PK_MIN((size_t)PK_MAX(head, 0), sizeof(out) / 2), n_end = strlen(end);
	size_t n = pk_log_cut(line, strlen(line), sizeof(out) - n_head - n_end);
	memcpy(out + n_head, line, n);
	memcpy(out + n_head + n, end, n_end);
	pk_log_write_all(out, n_head + n + n_end);
}

static bool pk_log_needs_quotes(const char *value)
{
	return value[0] == '\0' || strpbrk(value, " \"=\\") != NULL;
}

struct pk_log_line {
	enum pk_log_priority priority;
	const char *message_id;
	const char *message;               // clean
	const struct pk_log_field *fields; // clean, of which value NULL is left out
	size_t n_fields;
};

static const char *pk_log_line_text(struct pk_arena *arena, const struct pk_log_line *line)
{
	pk_auto_buf struct pk_buf text;
	pk_buf_init(&text, PK_LOG_LINE_MAX);
	pk_buf_str(&text, line->message);
	for (size_t i = 0; i < line->n_fields; i++) {
		const struct pk_log_field *field = &line->fields[i];
		if (!field->value)
			continue;
		pk_buf_printf(&text, " %s=", field->name);
		if (pk_log_needs_quotes(field->value))
			pk_buf_json_string(&text, field->value);
		else
			pk_buf_str(&text, field->value);
	}
	return pk_arena_strndup(arena, pk_buf_cstr(&text), text.len);
}

static bool pk_iov_add(struct iovec *iov, char *text)
{
	*iov = (struct iovec){.iov_base = text, .iov_len = text ? strlen(text) : 0};
	return text != NULL;
}

// False when the journal did not take it.
static bool pk_log_send_journal(struct pk_arena *arena, const struct pk_log_line *line)
{
	struct iovec *iov = pk_arena_array(arena, line->n_fields + 4, sizeof(*iov));
	if (!iov)
		return false;
	int n = 0;
	bool ok = pk_iov_add(&iov[n++], pk_arena_printf(arena, "MESSAGE=%s", line->message));
	ok &= pk_iov_add(&iov[n++], pk_arena_printf(arena, "PRIORITY=%d", (int)line->priority));
	ok &= pk_iov_add(&iov[n++], pk_arena_printf(arena, "SYSLOG_IDENTIFIER=%s", log_ident));
	if (line->message_id)
		ok &= pk_iov_add(
			&iov[n++], pk_arena_printf(arena, "MESSAGE_ID=%s", line->message_id));
	for (size_t i = 0; i < line->n_fields; i++) {
		const struct pk_log_field *field = &line->fields[i];
		if (field->value)
			ok &= pk_iov_add(&iov[n++],
				pk_arena_printf(arena, "%s=%s", field->name, field->value));
	}
	return ok && sd_journal_sendv(iov, n) == 0;
}

static bool pk_log_to_sink(enum pk_log_priority priority, const char *text)
{
	pthread_mutex_lock(&sink_lock);
	void (*sink)(void *, enum pk_log_priority, const char *) = sink_fn;
	void *ctx = sink_ctx;
	pthread_mutex_unlock(&sink_lock);
	if (sink) // outside the lock: a sink may log
		sink(ctx, priority, text);
	return sink != NULL;
}

static bool pk_log_has_sink(void)
{
	pthread_mutex_lock(&sink_lock);
	bool has = sink_fn != NULL;
	pthread_mutex_unlock(&sink_lock);
	return has;
}

static const struct pk_log_field *pk_log_clean_fields(
	struct pk_arena *arena, const struct pk_log_field *fields, size_t n_fields)
{
	struct pk_log_field *clean = pk_arena_array(arena, n_fields, sizeof(*clean));
	for (size_t i = 0; clean && i < n_fields; i++) {
		clean[i].name = fields[i].name;
		if (fields[i].value)
			clean[i].value = pk_log_clean(arena, fields[i].value);
	}
	return clean;
}

// False when memory ran out before the line was finished.
pk_printf(3, 0) static bool pk_log_emit(
	struct pk_arena *arena, struct pk_log_line *line, const char *fmt, va_list args)
{
	char *raw = NULL;
	if (vasprintf(&raw, fmt, args) < 0)
		return false;
	line->message = pk_log_clean(arena, raw);
	free(raw);
	line->fields = pk_log_clean_fields(arena, line->fields, line->n_fields);
	if (!line->message || !line->fields)
		return false;
	if (log_output == PK_LOG_TO_JOURNAL && !pk_log_has_sink() &&
		pk_log_send_journal(arena, line))
		return true;
	const char *text = pk_log_line_text(arena, line);
	if (text && !pk_log_to_sink(line->priority, text))
		pk_log_write_line(line->priority, text);
	return text != NULL;
}

pk_printf(2, 0) static void pk_log_vevent(struct pk_log_line *line, const char *fmt, va_list args)
{
	int saved = errno; // callers log between a failure and its handling
	pk_auto(pk_arena) arena = pk_arena_create(0);
	if (!arena || !pk_log_emit(arena, line, fmt, args))
		pk_log_write_line(line->priority, "(out of memory for this log line)");
	errno = saved;
}

void pk_log(enum pk_log_priority priority, const char *fmt, ...)
{
	if (!pk_log_enabled(priority))
		return;
	struct pk_log_line line = {.priority = priority};
	va_list args;
	va_start(args, fmt);
	pk_log_vevent(&line, fmt, args);
	va_end(args);
}

void pk_log_event(enum pk_log_priority priority, const char *message_id,
	const struct pk_log_field *fields, size_t n_fields, const char *fmt, ...)
{
	if (!pk_log_enabled(priority))
		return;
	struct pk_log_line line = {.priority = priority,
		.message_id = message_id,
		.fields = fields,
		.n_fields = n_fields};
	va_list args;
	va_start(args, fmt);
	pk_log_vevent(&line, fmt, args);
	va_end(args);
}
