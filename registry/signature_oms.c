// SPDX-License-Identifier: Apache-2.0
// Signatures of loose files: OpenSSF Model Signing 1.0.
#include "registry/signature_oms.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "registry/dsse.h"
#include "registry/media_type.h"

struct oms {
	const json_t *resources;
	const json_t *ignored; // array of strings, or NULL
	const struct pk_signature_files *files;
};

static const char *const always_ignored[] = {".git", ".gitignore", ".gitattributes", ".github"};

// Relative, '/' between parts, no part empty, "." or "..".
static bool is_canonical_path(const char *path)
{
	for (const char *part = path;;) {
		size_t n = strcspn(part, "/");
		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && memcmp(part, "..", 2) == 0))
			return false;
		if (!part[n])
			return true;
		part += n + 1;
	}
}

static bool is_below(const char *name, const char *path)
{
	size_t n = strlen(path);
	return strncmp(name, path, n) == 0 && (name[n] == '\0' || name[n] == '/');
}

static bool is_ignored(const struct oms *oms, const char *name)
{
	size_t i;
	const json_t *path;
	for (i = 0; i < PK_ARRAY_LEN(always_ignored); i++)
		if (is_below(name, always_ignored[i]))
			return true;
	json_array_foreach (oms->ignored, i, path)
		if (is_below(name, json_string_value(path)))
			return true;
	return false;
}

static enum pk_signature_reason check_serialization(
	const json_t *predicate, struct oms *oms, struct pk_err *err)
{
	json_t *object = NULL, *path;
	const char *method = NULL, *hash = NULL;
	bool follows_links = false;
	size_t i;
	if (pk_json_get_obj(predicate, "serialization", &object, err) < 0 ||
		pk_json_get_str(object, "method", &method, err) < 0 ||
		pk_json_get_str(object, "hash_type", &hash, err) < 0 ||
		pk_json_get_bool(object, "allow_symlinks", &follows_links, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (strcmp(method, "files") != 0 || strcmp(hash, "sha256") != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_UNSUPPORTED,
			"method '%.40s' with '%.40s': only 'files' with 'sha256'", method, hash);
	if (json_object_get(object, "shard_size"))
		return pk_signature_refuse(
			err, PK_SIGNATURE_MALFORMED, "shard_size with the method 'files'");
	oms->ignored = json_object_get(object, "ignore_paths");
	if (oms->ignored && !json_is_array(oms->ignored))
		return pk_signature_refuse(
			err, PK_SIGNATURE_MALFORMED, "ignore_paths: expected an array");
	json_array_foreach (oms->ignored, i, path)
		if (!json_is_string(path) || !is_canonical_path(json_string_value(path)))
			return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED,
				"ignore_paths[%zu]: not a relative path", i);
	return PK_SIGNATURE_OK;
}

struct resource {
	const char *name;
	struct pk_digest digest;
};

static enum pk_signature_reason read_resource(
	const json_t *json, struct resource *out, struct pk_err *err)
{
	const char *hex = NULL, *algorithm = NULL;
	char text[PK_DIGEST_TEXT + 1];
	if (pk_json_get_str(json, "name", &out->name, err) < 0 ||
		pk_json_get_str(json, "digest", &hex, err) < 0 ||
		pk_json_get_str(json, "algorithm", &algorithm, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (strcmp(algorithm, "sha256") != 0)
		return pk_signature_refuse(
			err, PK_SIGNATURE_UNSUPPORTED, "algorithm '%.40s'", algorithm);
	if (!is_canonical_path(out->name))
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED,
			"name '%.80s': not a relative path", out->name);
	snprintf(text, sizeof(text), PK_DIGEST_PREFIX "%.65s", hex);
	return pk_digest_parse(text, &out->digest) == 0
		       ? PK_SIGNATURE_OK
		       : pk_signature_refuse(err, PK_SIGNATURE_MALFORMED,
				 "digest: expected 64 lower-case hex digits");
}

static const struct pk_signature_file *find_file(
	const struct pk_signature_files *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->items[i].name, name) == 0)
			return &files->items[i];
	return NULL;
}

static enum pk_signature_reason check_file(
	const struct oms *oms, const struct resource *resource, struct pk_err *err)
{
	const struct pk_signature_file *file = find_file(oms->files, resource->name);
	if (!file)
		return pk_signature_refuse(
			err, PK_SIGNATURE_MISSING_FILE, "'%.200s'", resource->name);
	if (!pk_digest_equal(&file->digest, &resource->digest))
		return pk_signature_refuse(err, PK_SIGNATURE_WRONG_DIGEST,
			"'%.200s' is not the file that was signed", resource->name);
	return PK_SIGNATURE_OK;
}

// Names ascend, so none comes twice; together their digests make the one of the subject.
static enum pk_signature_reason check_resources(
	const struct oms *oms, struct pk_digest *root, struct pk_err *err)
{
	struct resource resource = {0};
	const char *last = "";
	size_t i;
	const json_t *json;
	pk_auto(pk_hasher) hasher = pk_hasher_create();
	if (!hasher)
		return pk_signature_refuse(err, PK_SIGNATURE_TROUBLE, "out of memory");
	if (json_array_size(oms->resources) == 0)
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED, "resources: empty");
	json_array_foreach (oms->resources, i, json) {
		enum pk_signature_reason reason = read_resource(json, &resource, err);
		if (reason == PK_SIGNATURE_OK && strcmp(last, resource.name) >= 0)
			reason = pk_signature_refuse(
				err, PK_SIGNATURE_MALFORMED, "names are not in ascending order");
		if (reason == PK_SIGNATURE_OK)
			reason = check_file(oms, &resource, err);
		if (reason != PK_SIGNATURE_OK) {
			pk_err_prefix(err, "resources[%zu]", i);
			return reason;
		}
		last = resource.name;
		pk_hasher_update(hasher, resource.digest.bytes, sizeof(resource.digest.bytes));
	}
	pk_hasher_final(hasher, root);
	return PK_SIGNATURE_OK;
}

static bool is_signed(const struct oms *oms, const char *name)
{
	size_t i;
	const json_t *json;
	json_array_foreach (oms->resources, i, json)
		if (strcmp(json_string_value(json_object_get(json, "name")), name) == 0)
			return true;
	return false;
}

static enum pk_signature_reason check_no_others(const struct oms *oms, struct pk_err *err)
{
	for (size_t i = 0; i < oms->files->n; i++) {
		const char *name = oms->files->items[i].name;
		if (!is_signed(oms, name) && !is_ignored(oms, name))
			return pk_signature_refuse(err, PK_SIGNATURE_EXTRA_FILE, "'%.200s'", name);
	}
	return PK_SIGNATURE_OK;
}

static enum pk_signature_reason check_subject(
	const json_t *statement, const struct pk_digest *root, struct pk_err *err)
{
	json_t *subjects = NULL, *digests = NULL;
	const char *name = NULL, *hex = NULL;
	char wanted[PK_DIGEST_TEXT];
	if (pk_json_get_arr(statement, "subject", &subjects, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (json_array_size(subjects) != 1)
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED, "%zu subjects instead of 1",
			json_array_size(subjects));
	const json_t *subject = json_array_get(subjects, 0);
	if (pk_json_get_str(subject, "name", &name, err) < 0 ||
		pk_json_get_obj(subject, "digest", &digests, err) < 0 ||
		pk_json_get_str(digests, "sha256", &hex, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	pk_digest_format(root, wanted);
	if (!name[0])
		return pk_signature_refuse(err, PK_SIGNATURE_MALFORMED, "subject: no name");
	if (strcmp(hex, wanted + strlen(PK_DIGEST_PREFIX)) != 0)
		return pk_signature_refuse(err, PK_SIGNATURE_WRONG_DIGEST,
			"subject: not the digest of the listed files");
	return PK_SIGNATURE_OK;
}

static enum pk_signature_reason check_statement(
	const json_t *statement, struct oms *oms, struct pk_err *err)
{
	json_t *predicate = NULL, *resources = NULL;
	const char *type = NULL;
	struct pk_digest root;
	if (pk_json_get_str(statement, "predicateType", &type, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	if (strcmp(type, PK_PREDICATE_OMS) != 0)
		return pk_signature_refuse(
			err, PK_SIGNATURE_NOT_A_SIGNATURE, "a statement of type '%.100s'", type);
	if (pk_json_get_obj(statement, "predicate", &predicate, err) < 0 ||
		pk_json_get_arr(predicate, "resources", &resources, err) < 0)
		return PK_SIGNATURE_MALFORMED;
	oms->resources = resources;
	enum pk_signature_reason reason = check_serialization(predicate, oms, err);
	if (reason == PK_SIGNATURE_OK)
		reason = check_resources(oms, &root, err);
	if (reason == PK_SIGNATURE_OK)
		reason = check_subject(statement, &root, err);
	return reason == PK_SIGNATURE_OK ? check_no_others(oms, err) : reason;
}

enum pk_signature_reason pk_signature_oms_check(const struct pk_signature_claim *claim,
	const struct pk_buf *bundle, const struct pk_signature_files *files,
	const struct pk_trusted_key **key, struct pk_err *err)
{
	pk_auto_json statement = NULL;
	struct oms oms = {.files = files};
	enum pk_signature_reason reason =
		pk_dsse_open(claim, pk_buf_cstr(bundle), bundle->len, &statement, key, err);
	return reason == PK_SIGNATURE_OK ? check_statement(statement, &oms, err) : reason;
}
