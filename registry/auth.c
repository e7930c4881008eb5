// SPDX-License-Identifier: Apache-2.0
// Challenges answered: Basic, and Bearer with a token that is kept for most of its life.
#include "registry/auth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "registry/challenge.h"
#include "registry/credentials.h"
#include "registry/http_private.h"

#define TOKEN_BODY_MAX   (64 * 1024)
#define TOKEN_LIFE_S     60 // when the server does not say
#define TOKEN_LIFE_MAX_S (24 * 3600)
#define CLIENT_ID        "picket"

struct pk_auth {
	struct pk_http *http;
	struct pk_auth_place place;
	struct pk_credentials credentials;
	struct pk_challenge bearer; // the demand that the token answers; scheme "" when none
	char *header;               // value of Authorization; NULL: anonymous
	int64_t renew_ns;           // when the token is to be renewed; 0: it needs not
};

int pk_auth_create(struct pk_http *http, const struct pk_auth_place *place, struct pk_auth **out,
	struct pk_err *err)
{
	struct pk_auth *auth = calloc(1, sizeof(*auth));
	*out = NULL;
	if (!auth)
		return pk_fail(err, -ENOMEM, "out of memory");
	auth->http = http;
	auth->place = *place;
	int rc = pk_credentials_load(place->host, place->name, &auth->credentials, err);
	if (rc < 0) {
		free(auth);
		return rc;
	}
	*out = auth;
	return 0;
}

static void forget_header(struct pk_auth *auth)
{
	if (auth->header)
		explicit_bzero(auth->header, strlen(auth->header));
	free(auth->header);
	auth->header = NULL;
	auth->renew_ns = 0;
}

void pk_auth_destroy(struct pk_auth *auth)
{
	if (!auth)
		return;
	forget_header(auth);
	pk_credentials_finish(&auth->credentials);
	free(auth);
}

static int set_header(
	struct pk_auth *auth, const char *scheme, const char *value, struct pk_err *err)
{
	forget_header(auth);
	if (asprintf(&auth->header, "%s %s", scheme, value) >= 0)
		return 0;
	auth->header = NULL;
	return pk_fail(err, -ENOMEM, "out of memory");
}

// "user:password" in base64; NULL without credentials, or without memory.
static char *basic_of(const struct pk_credentials *credentials)
{
	pk_auto_free char *text = NULL;
	if (!credentials->user)
		return NULL;
	if (asprintf(&text, "%s:%s", credentials->user, credentials->password) < 0)
		return NULL;
	pk_auto_buf struct pk_buf encoded;
	pk_buf_init(&encoded, 2 * strlen(text) + 8);
	int rc = pk_base64_write(text, strlen(text), &encoded);
	explicit_bzero(text, strlen(text));
	if (rc < 0)
		return NULL;
	pk_log_redact(pk_buf_cstr(&encoded));
	return strdup(pk_buf_cstr(&encoded));
}

static int use_basic(struct pk_auth *auth, struct pk_err *err)
{
	pk_auto_free char *encoded = basic_of(&auth->credentials);
	if (!encoded)
		return pk_fail(err, -EACCES,
			"%s wants a user and a password; none are configured for it",
			auth->place.name);
	return set_header(auth, "Basic", encoded, err);
}

static bool names_host(const char *entry, const struct pk_http_origin *origin)
{
	size_t n = strlen(origin->host);
	if (strncasecmp(entry, origin->host, n) != 0)
		return false;
	return entry[n] == '\0' || (entry[n] == ':' && strcmp(entry + n + 1, origin->port) == 0);
}

// The realm gets our password, and it is the server that names it: only known places count.
static int check_realm(const struct pk_auth *auth, struct pk_http_origin *realm, struct pk_err *err)
{
	const struct pk_registry_host *host = auth->place.host;
	pk_auto_free char *own_url = NULL;
	struct pk_http_origin own;
	if (!pk_http_origin_parse(auth->bearer.realm, realm) || strchr(auth->bearer.realm, '#'))
		return pk_fail(
			err, -EACCES, "%s names no usable place for tokens", auth->place.name);
	if (strcmp(realm->scheme, "https") != 0 && !(host && host->insecure))
		return pk_fail(err, -EACCES, "%s wants tokens to be fetched over http: refused",
			auth->place.name);
	if (asprintf(&own_url, "https://%s/", auth->place.name) < 0)
		own_url = NULL;
	if (own_url && pk_http_origin_parse(own_url, &own) &&
		strcasecmp(own.host, realm->host) == 0)
		return 0;
	for (size_t i = 0; host && i < host->n_token_hosts; i++)
		if (names_host(host->token_hosts[i], realm))
			return 0;
	return pk_fail(err, -EACCES,
		"%s sends us to %s for a token; allow that host in its token_hosts if it is right",
		auth->place.name, realm->host);
}

static void append_encoded(struct pk_buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || (c && strchr("-._~", c));
		if (plain)
			pk_buf_append(out, &c, 1);
		else
			pk_buf_printf(out, "%%%02X", c);
	}
}

static void append_field(struct pk_buf *out, const char *key, const char *value, size_t n)
{
	pk_buf_printf(
		out, "%s%s=", out->len && !strchr("?&", out->data[out->len - 1]) ? "&" : "", key);
	append_encoded(out, value, n);
}

// The demanded scope, or what a pull needs: a server that demands more gets asked for no more.
static void append_scopes(const struct pk_auth *auth, struct pk_buf *out, bool joined)
{
	char own[512];
	const char *scope = auth->bearer.scope;
	snprintf(own, sizeof(own), "repository:%s:%s", auth->place.repository,
		auth->place.push ? "pull,push" : "pull");
	if (!*scope || (!auth->place.push && strstr(scope, "push")))
		scope = own;
	if (joined) {
		append_field(out, "scope", scope, strlen(scope));
		return;
	}
	for (const char *p = scope + strspn(scope, " "); *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		append_field(out, "scope", p, n);
		p += n;
	}
}

static int keep_token(struct pk_auth *auth, const struct pk_buf *body, struct pk_err *err)
{
	pk_auto_json root = NULL;
	const char *token = NULL;
	int64_t life_s = TOKEN_LIFE_S;
	if (pk_json_parse(pk_buf_cstr(body), body->len, "token", &root, err) < 0)
		return -EPROTO;
	if (pk_json_opt_str(root, "token", &token, err) < 0 ||
		(!token && pk_json_opt_str(root, "access_token", &token, err) < 0))
		return -EPROTO;
	if (!token || !*token)
		return pk_fail(err, -EPROTO, "token: the answer holds none");
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			return pk_fail(err, -EPROTO, "token: a character that no token has");
	const json_t *life = json_object_get(root, "expires_in");
	if (json_is_integer(life))
		life_s = json_integer_value(life);
	life_s = PK_MAX(1, PK_MIN(life_s, TOKEN_LIFE_MAX_S));
	pk_log_redact(token);
	int rc = set_header(auth, "Bearer", token, err);
	auth->renew_ns = pk_boottime_ns() + life_s * PK_NS_PER_S / 10 * 8;
	return rc;
}

// The trust for the place of the tokens: its own entry, else the registry's, without our
// certificate.
static void trust_of(const struct pk_auth *auth, const struct pk_http_origin *realm,
	struct pk_registry_host *out)
{
	char name[sizeof(realm->host) + sizeof(realm->port) + 1];
	const struct pk_registry_options *options = auth->place.options;
	snprintf(name, sizeof(name), "%s:%s", realm->host, realm->port);
	const struct pk_registry_host *own = pk_registry_host_find(options, name);
	if (!own && strcmp(realm->port, "443") == 0)
		own = pk_registry_host_find(options, realm->host);
	*out = own ? *own : auth->place.host ? *auth->place.host : (struct pk_registry_host){0};
	if (!own)
		out->cert_path = out->key_path = NULL;
}

static int ask_for_token(struct pk_auth *auth, struct pk_http_request *request, bool *no_such_way,
	struct pk_err *err)
{
	struct pk_http_response response;
	struct pk_http_origin realm;
	struct pk_registry_host trust;
	*no_such_way = false;
	int rc = check_realm(auth, &realm, err);
	if (rc < 0)
		return rc;
	trust_of(auth, &realm, &trust);
	request->host = &trust;
	request->max_bytes = TOKEN_BODY_MAX;
	request->timeout_ns = PK_HTTP_SMALL_NS;
	rc = pk_http_perform(auth->http, request, &response, err);
	if (rc == 0) {
		*no_such_way = response.status == 404 || response.status == 405;
		rc = pk_http_status_error(&response, "token", err);
	}
	if (rc == 0 && response.status != 200)
		rc = pk_fail(err, -EPROTO, "token: the server answers %d", response.status);
	if (rc == 0)
		rc = keep_token(auth, &response.body, err);
	if (response.body.data)
		explicit_bzero(response.body.data, response.body.len);
	pk_http_response_finish(&response);
	return rc;
}

static int get_token(struct pk_auth *auth, struct pk_err *err)
{
	struct pk_buf url pk_auto_buf;
	bool no_such_way;
	pk_auto_free char *encoded = basic_of(&auth->credentials);
	pk_auto_free char *basic = NULL;
	pk_buf_init(&url, 8192);
	pk_buf_printf(
		&url, "%s%s", auth->bearer.realm, strchr(auth->bearer.realm, '?') ? "&" : "?");
	if (auth->bearer.service[0])
		append_field(&url, "service", auth->bearer.service, strlen(auth->bearer.service));
	append_scopes(auth, &url, false);
	if (encoded && asprintf(&basic, "Basic %s", encoded) < 0)
		basic = NULL;
	if (pk_buf_error(&url) < 0 || (encoded && !basic))
		return pk_fail(err, -ENOMEM, "out of memory");
	struct pk_http_request request = {.method = "GET", .url = url.data, .authorization = basic};
	return ask_for_token(auth, &request, &no_such_way, err);
}

static int post_for_token(struct pk_auth *auth, bool *no_such_way, struct pk_err *err)
{
	struct pk_buf form pk_auto_buf;
	const char *refresh = auth->credentials.identity_token;
	pk_buf_init(&form, 64 * 1024);
	pk_buf_str(&form, "grant_type=refresh_token&client_id=" CLIENT_ID);
	append_field(&form, "service", auth->bearer.service, strlen(auth->bearer.service));
	append_scopes(auth, &form, true);
	append_field(&form, "refresh_token", refresh, strlen(refresh));
	if (pk_buf_error(&form) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	const struct pk_http_body body = {.bytes = form.data, .n = (int64_t)form.len};
	struct pk_http_request request = {.method = "POST",
		.url = auth->bearer.realm,
		.content_type = "application/x-www-form-urlencoded",
		.body = &body};
	return ask_for_token(auth, &request, no_such_way, err);
}

static int renew(struct pk_auth *auth, struct pk_err *err)
{
	forget_header(auth);
	if (auth->credentials.identity_token) {
		bool no_such_way;
		int rc = post_for_token(auth, &no_such_way, err);
		if (rc == 0 || !no_such_way)
			return rc;
	}
	return get_token(auth, err);
}

static const struct pk_challenge *find(
	const struct pk_challenge *challenges, size_t n, const char *scheme)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(challenges[i].scheme, scheme) == 0)
			return &challenges[i];
	return NULL;
}

// Bearer before Basic: it does not send the password to the registry.
static int meet(struct pk_auth *auth, const struct pk_http_response *response, struct pk_err *err)
{
	struct pk_challenge challenges[PK_CHALLENGE_MAX];
	size_t n = pk_challenge_parse(pk_buf_cstr(&response->challenges), challenges);
	const struct pk_challenge *bearer = find(challenges, n, "bearer");
	if (bearer && bearer->realm[0]) {
		auth->bearer = *bearer;
		if (auth->credentials.registry_token && !auth->header)
			return set_header(auth, "Bearer", auth->credentials.registry_token, err);
		return renew(auth, err);
	}
	if (find(challenges, n, "basic")) {
		const char *sent = auth->header;
		if (sent && strncmp(sent, "Basic ", 6) == 0)
			return -EACCES; // the same again would not help
		return use_basic(auth, err);
	}
	return pk_fail(err, -EACCES, "%s wants an authentication that is not known here (%s)",
		auth->place.name, n > 0 ? challenges[0].scheme : "it names none");
}

int pk_auth_perform(struct pk_auth *auth, struct pk_http_request *request,
	struct pk_http_response *response, struct pk_err *err)
{
	struct pk_err ignored = {0};
	int rc = 0;
	if (auth->renew_ns != 0 && pk_boottime_ns() >= auth->renew_ns)
		rc = renew(auth, err);
	if (rc < 0) {
		pk_http_response_init(response, 0);
		return rc;
	}
	request->authorization = auth->header;
	rc = pk_http_perform(auth->http, request, response, err);
	if (rc < 0 || response->status != 401 || response->n_hops > 0)
		return rc;
	rc = meet(auth, response, err ? err : &ignored);
	if (rc == -EACCES && auth->header && strncmp(auth->header, "Basic ", 6) == 0)
		return 0; // refused credentials: the 401 is the answer
	if (rc < 0)
		return rc;
	pk_http_response_finish(response);
	request->authorization = auth->header;
	return pk_http_perform(auth->http, request, response, err);
}
