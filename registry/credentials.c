// SPDX-License-Identifier: Apache-2.0
// config.json as docker and its kin write it; credential helpers are not run.
#include "registry/credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/log.h"

#define CONFIG_MAX_BYTES   (1 << 20)
#define PASSWORD_MAX_BYTES 4096

static void forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void pk_credentials_finish(struct pk_credentials *credentials)
{
	forget(&credentials->user);
	forget(&credentials->password);
	forget(&credentials->identity_token);
	forget(&credentials->registry_token);
}

// A header's value is made of it: nothing that would end the line.
static int check_printable(const char *what, const char *text, struct pk_err *err)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return pk_fail(err, -EACCES, "%s: a control character in it", what);
	return 0;
}

static int keep(const char *what, const char *text, char **out, struct pk_err *err)
{
	int rc = check_printable(what, text, err);
	if (rc < 0)
		return rc;
	*out = strdup(text);
	if (!*out)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (strcmp(what, "user") != 0)
		pk_log_redact(text);
	return 0;
}

// The bytes behind text; some writers leave the padding out, or break the line.
static int decode_auth(const char *text, struct pk_buf *out)
{
	pk_auto_buf struct pk_buf padded;
	pk_buf_init(&padded, CONFIG_MAX_BYTES);
	for (const char *p = text; *p; p++)
		if (!strchr(" \t\r\n", *p))
			(void)pk_buf_append(&padded, p, 1);
	while (padded.len % 4 != 0 && pk_buf_append(&padded, "=", 1) == 0)
		;
	int rc = pk_buf_error(&padded);
	if (rc == 0)
		rc = pk_base64_read(pk_buf_cstr(&padded), padded.len, out, NULL);
	if (padded.data)
		explicit_bzero(padded.data, padded.cap);
	return rc;
}

// "user:password"; a password may hold colons.
static int split_auth(const char *encoded, struct pk_credentials *out, struct pk_err *err)
{
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, CONFIG_MAX_BYTES);
	int rc = decode_auth(encoded, &bytes);
	char *text = rc == 0 && pk_buf_cstr(&bytes)[0] ? bytes.data : NULL;
	char *colon = text ? strchr(text, ':') : NULL;
	if (!colon || strlen(text) != bytes.len) {
		rc = pk_fail(err, -EACCES, "auth: not base64 of user:password");
	} else {
		*colon = '\0';
		rc = keep("user", text, &out->user, err);
		if (rc == 0)
			rc = keep("password", colon + 1, &out->password, err);
	}
	if (bytes.data)
		explicit_bzero(bytes.data, bytes.cap);
	return rc;
}

static int take_entry(const json_t *entry, struct pk_credentials *out, struct pk_err *err)
{
	const struct {
		const char *key;
		char **out;
	} tokens[] = {
		{"identitytoken", &out->identity_token},
		{"registrytoken", &out->registry_token},
	};
	const char *auth = NULL;
	int rc = pk_json_opt_str(entry, "auth", &auth, err);
	if (rc == 0 && auth && *auth)
		rc = split_auth(auth, out, err);
	for (size_t i = 0; rc == 0 && i < PK_ARRAY_LEN(tokens); i++) {
		const char *token = NULL;
		rc = pk_json_opt_str(entry, tokens[i].key, &token, err);
		if (rc == 0 && token && *token)
			rc = keep(tokens[i].key, token, tokens[i].out, err);
	}
	return rc < 0 && rc != -ENOMEM ? -EACCES : rc;
}

// Keys may be whole addresses, "https://reg.example/v1/": the host and port count.
static bool is_key_of(const char *key, const char *name)
{
	const char *scheme = strstr(key, "://");
	const char *host = scheme ? scheme + 3 : key;
	size_t n = strcspn(host, "/");
	static const char *const hub[] = {"docker.io", "registry-1.docker.io"};
	if (n == strlen(name) && strncasecmp(host, name, n) == 0)
		return true;
	for (size_t i = 0; i < PK_ARRAY_LEN(hub); i++)
		if (strcmp(name, hub[i]) == 0 && n == strlen("index.docker.io") &&
			strncmp(host, "index.docker.io", n) == 0)
			return true;
	return false;
}

int pk_credentials_parse(const void *bytes, size_t n, const char *name, struct pk_credentials *out,
	struct pk_err *err)
{
	pk_auto_json root = NULL;
	const char *key;
	json_t *entry;
	*out = (struct pk_credentials){0};
	if (pk_json_parse(bytes, n, "config.json", &root, err) < 0)
		return -EACCES;
	json_object_foreach (json_object_get(root, "auths"), key, entry) {
		if (!is_key_of(key, name))
			continue;
		int rc = json_is_object(entry) ? take_entry(entry, out, err)
					       : pk_fail(err, -EACCES, "expected an object");
		if (rc < 0) {
			pk_err_prefix(err, "config.json: auths: %.80s", key);
			pk_credentials_finish(out);
		}
		return rc;
	}
	return pk_fail(err, -EACCES, "config.json: no entry for %s among its auths%s", name,
		json_object_get(root, "credsStore") || json_object_get(root, "credHelpers")
			? " (credential helpers are not run)"
			: "");
}

static int read_secret(const char *path, size_t max, struct pk_buf *out, struct pk_err *err)
{
	int rc = pk_fs_read(path, max, out, err);
	if (rc == 0 && out->len > 0 && strlen(out->data) != out->len)
		rc = pk_fail(err, -EACCES, "%s: a zero byte in it", path);
	return rc < 0 && rc != -ENOMEM ? -EACCES : rc;
}

static int load_password(
	const struct pk_registry_host *host, struct pk_credentials *out, struct pk_err *err)
{
	struct pk_buf text pk_auto_buf;
	pk_buf_init(&text, PASSWORD_MAX_BYTES + 1);
	if (!host->password_path || !*host->password_path)
		return pk_fail(err, -EACCES, "%s: a user without a password file", host->host);
	int rc = read_secret(host->password_path, PASSWORD_MAX_BYTES, &text, err);
	if (rc < 0)
		return rc;
	if (text.data)
		text.data[strcspn(text.data, "\r\n")] = '\0';
	rc = keep("user", host->user, &out->user, err);
	if (rc == 0)
		rc = keep("password", pk_buf_cstr(&text), &out->password, err);
	if (text.data)
		explicit_bzero(text.data, text.len);
	if (rc < 0)
		pk_credentials_finish(out);
	return rc;
}

int pk_credentials_load(const struct pk_registry_host *host, const char *name,
	struct pk_credentials *out, struct pk_err *err)
{
	struct pk_buf text pk_auto_buf;
	*out = (struct pk_credentials){0};
	pk_buf_init(&text, CONFIG_MAX_BYTES + 1);
	if (host && host->user && *host->user)
		return load_password(host, out, err);
	if (!host || !host->auth_path || !*host->auth_path)
		return 0;
	int rc = read_secret(host->auth_path, CONFIG_MAX_BYTES, &text, err);
	if (rc == 0)
		rc = pk_credentials_parse(pk_buf_cstr(&text), text.len, name, out, err);
	if (text.data)
		explicit_bzero(text.data, text.len);
	return rc;
}
