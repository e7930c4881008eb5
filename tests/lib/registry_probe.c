// SPDX-License-Identifier: Apache-2.0
// Calls of the registry library that picketctl has no verb for, for tests: polls and referrers.
// registry_probe resolve REF [ETAG] | referrers REF sha256:… [TYPE]; CA, USER_NAME, PASSWORD_FILE
// in the environment are for REF's host. One JSON object on stdout.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "registry/registry.h"

static int tell(json_t *json)
{
	pk_auto_free char *text = json ? pk_json_canonical(json) : NULL;
	puts(text ? text : "{}");
	json_decref(json);
	return 0;
}

static int tell_error(int rc, const struct pk_err *err, int64_t retry_after_ns)
{
	tell(json_pack("{s:s, s:s, s:f}", "code", strerrorname_np(-rc), "error",
		pk_err_text(err, rc), "retry_after_s",
		(double)retry_after_ns / (double)PK_NS_PER_S));
	return 1;
}

static int resolve(const char *ref, const char *etag, const struct pk_registry_options *options)
{
	struct pk_err err = {0};
	struct pk_resolved resolved = {0};
	char digest[PK_DIGEST_TEXT] = "";
	snprintf(resolved.etag, sizeof(resolved.etag), "%s", etag ? etag : "");
	int rc = pk_resolve(ref, options, &resolved, &err);
	if (rc < 0)
		return tell_error(rc, &err, resolved.retry_after_ns);
	if (!resolved.not_modified)
		pk_digest_format(&resolved.digest, digest);
	return tell(json_pack("{s:s, s:s, s:b}", "digest", digest, "etag", resolved.etag,
		"not_modified", resolved.not_modified));
}

static int referrers(const char *text, const char *subject_text, const char *type,
	const struct pk_registry_options *options)
{
	struct pk_err err = {0};
	struct pk_ref ref;
	struct pk_digest subject;
	struct pk_buf index pk_auto_buf;
	pk_auto(pk_registry) registry = NULL;
	pk_buf_init(&index, PK_MANIFEST_MAX_BYTES);
	int rc = pk_ref_parse(text, &ref, &err);
	if (rc == 0)
		rc = pk_digest_parse(subject_text, &subject);
	if (rc == 0)
		rc = pk_registry_open(&ref, options, &registry, &err);
	if (rc == 0)
		rc = pk_registry_referrers(registry, &subject, type, &index, &err);
	pk_ref_finish(&ref);
	if (rc < 0)
		return tell_error(rc, &err, 0);
	puts(pk_buf_cstr(&index));
	return 0;
}

int main(int argc, char **argv)
{
	pk_auto_free char *host = argc > 2 ? strndup(argv[2], strcspn(argv[2], "/")) : NULL;
	const struct pk_registry_host entry = {.host = host,
		.ca_path = getenv("CA"),
		.user = getenv("USER_NAME"),
		.password_path = getenv("PASSWORD_FILE")};
	const struct pk_registry_options options = {.hosts = &entry,
		.n_hosts = 1,
		.n_retries = 1,
		.retry_min_ns = 20 * PK_NS_PER_MS,
		.retry_wait_max_ns = PK_NS_PER_S};
	if (argc >= 3 && strcmp(argv[1], "resolve") == 0)
		return resolve(argv[2], argc > 3 ? argv[3] : NULL, &options);
	if (argc >= 4 && strcmp(argv[1], "referrers") == 0)
		return referrers(argv[2], argv[3], argc > 4 ? argv[4] : NULL, &options);
	fputs("usage: registry_probe resolve REF [ETAG] | referrers REF DIGEST [TYPE]\n", stderr);
	return 2;
}
