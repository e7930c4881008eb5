// SPDX-License-Identifier: Apache-2.0
// Finding secrets by where they stand.
#include "config/secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/log_redact.h"

#define MASK "***"

void pk_config_redact(const struct pk_config *config)
{
	for (size_t i = 0; i < config->n_cameras; i++) {
		const char *start = strstr(config->cameras[i].source.uri, "://");
		const char *end = start ? strchr(start + 3, '/') : NULL;
		char user[512];
		if (!start)
			continue;
		size_t n = end ? (size_t)(end - start - 3) : strlen(start + 3);
		snprintf(user, sizeof(user), "%.*s", (int)(n < 511 ? n : 511), start + 3);
		char *at = strrchr(user, '@');
		char *colon = at ? strchr(user, ':') : NULL;
		if (!colon || colon > at)
			continue;
		*at = '\0';
		pk_log_redact(colon + 1);
	}
}

// Bytes of "user:password" at the start of text, which follows "://"; 0: there is none.
static size_t user_length(const char *text)
{
	size_t n = strcspn(text, "/ \t\n\"'<>");
	while (n > 0 && text[n] != '@')
		n--;
	return n;
}

// Bytes of a key and its ':' or '=' whose value is secret, at text; 0: none.
static size_t secret_key(const char *text, const char *begin)
{
	static const char *const keys[] = {"password", "passphrase", "secret", "token", "user-pw"};
	if (text > begin && (isalnum((unsigned char)text[-1]) || text[-1] == '-'))
		return 0;
	for (size_t i = 0; i < PK_ARRAY_LEN(keys); i++) {
		size_t n = strlen(keys[i]);
		if (strncasecmp(text, keys[i], n) != 0)
			continue;
		n += text[n] == '"';
		n += strspn(text + n, " ");
		if (text[n] == ':' || text[n] == '=')
			return n + 1;
	}
	return 0;
}

static const char *mask_value(struct pk_buf *out, const char *text, size_t key)
{
	pk_buf_append(out, text, key);
	text += key;
	size_t blank = strspn(text, " ");
	pk_buf_append(out, text, blank);
	text += blank;
	size_t n = strcspn(text, "\n,}");
	if (n > 0)
		pk_buf_str(out, MASK);
	return text + n;
}

void pk_secrets_mask(struct pk_buf *out, const char *text)
{
	pk_auto_buf struct pk_buf known;
	pk_buf_init(&known, SIZE_MAX);
	pk_log_redact_append(&known, text);
	const char *begin = pk_buf_cstr(&known), *at = begin;
	while (*at) {
		size_t key = secret_key(at, begin);
		size_t user = strncmp(at, "://", 3) == 0 ? user_length(at + 3) : 0;
		if (key > 0) {
			at = mask_value(out, at, key);
		} else if (user > 0) {
			pk_buf_str(out, "://" MASK);
			at += 3 + user;
		} else {
			pk_buf_append(out, at++, 1);
		}
	}
}
