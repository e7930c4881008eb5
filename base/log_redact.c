// SPDX-License-Identifier: Apache-2.0
// The secrets that must not reach a log line, and their replacement.
#include "base/log_redact.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PK_LOG_SECRETS    64
#define PK_LOG_SECRET_MIN 4

static pthread_mutex_t secrets_lock = PTHREAD_MUTEX_INITIALIZER;
static char *secrets[PK_LOG_SECRETS]; // filled from the front, NULL behind the last
static size_t next_idx;               // the one that goes next

static bool pk_secret_known(const char *secret)
{
	for (size_t i = 0; i < PK_LOG_SECRETS && secrets[i]; i++)
		if (strcmp(secrets[i], secret) == 0)
			return true;
	return false;
}

void pk_log_redact(const char *secret)
{
	if (!secret || strlen(secret) < PK_LOG_SECRET_MIN)
		return;
	pthread_mutex_lock(&secrets_lock);
	char *copy = pk_secret_known(secret) ? NULL : strdup(secret);
	if (copy) {
		char *old = secrets[next_idx];
		if (old)
			explicit_bzero(old, strlen(old));
		free(old);
		secrets[next_idx] = copy;
		next_idx = (next_idx + 1) % PK_LOG_SECRETS;
	}
	pthread_mutex_unlock(&secrets_lock);
}

static int pk_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Bytes of "%XX" at text when it stands for c, else 0 (RFC 3986 section 2.1).
static size_t pk_percent_match(const char *text, char c)
{
	if (text[0] != '%')
		return 0;
	int hi = pk_hex_digit(text[1]);
	int lo = hi < 0 ? -1 : pk_hex_digit(text[2]);
	return lo >= 0 && (hi << 4 | lo) == (unsigned char)c ? 3 : 0;
}

// Length of the secret's appearance at the start of text, or 0.
static size_t pk_secret_match(const char *text, const char *secret)
{
	size_t len = strlen(secret);
	if (strncmp(text, secret, len) == 0)
		return len;
	const char *t = text;
	for (; *secret; secret++) {
		size_t n = pk_percent_match(t, *secret);
		if (n == 0 && *t != *secret)
			return 0;
		t += n ? n : 1;
	}
	return (size_t)(t - text);
}

static size_t pk_secret_longest(const char *text)
{
	size_t longest = 0;
	for (size_t i = 0; i < PK_LOG_SECRETS && secrets[i]; i++) {
		size_t len = pk_secret_match(text, secrets[i]);
		if (len > longest)
			longest = len;
	}
	return longest;
}

void pk_log_redact_append(struct pk_buf *out, const char *text)
{
	pthread_mutex_lock(&secrets_lock);
	const char *kept = text;
	while (*text) {
		size_t len = pk_secret_longest(text);
		if (len == 0) {
			text++;
			continue;
		}
		pk_buf_append(out, kept, (size_t)(text - kept));
		pk_buf_str(out, "***");
		kept = text += len;
	}
	pk_buf_append(out, kept, (size_t)(text - kept));
	pthread_mutex_unlock(&secrets_lock);
}
