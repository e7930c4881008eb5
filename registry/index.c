// SPDX-License-Identifier: Apache-2.0
// OCI image indexes. Source: OCI image-spec 1.1, image-index.md.
#include "registry/index.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/media_type.h"

#if defined(__aarch64__)
#define ARCHITECTURE "arm64"
#elif defined(__x86_64__)
#define ARCHITECTURE "amd64"
#else
#error "name this architecture as OCI does"
#endif

static bool is_index_type(const char *media_type)
{
	return strcmp(media_type, PK_MEDIA_INDEX) == 0 ||
	       strcmp(media_type, PK_MEDIA_DOCKER_INDEX) == 0;
}

// The list of manifests when root is an index and nothing else, else NULL.
static json_t *manifests_of(const json_t *root)
{
	json_t *manifests = json_object_get(root, "manifests");
	const char *type = json_string_value(json_object_get(root, "mediaType"));
	if (!json_is_array(manifests) || (type && !is_index_type(type)))
		return NULL;
	return json_object_get(root, "layers") || json_object_get(root, "config") ? NULL
										  : manifests;
}

struct platform {
	const char *os, *architecture; // NULL: not given
};

static struct platform platform_of(const json_t *entry)
{
	const json_t *platform = json_object_get(entry, "platform");
	return (struct platform){
		.os = json_string_value(json_object_get(platform, "os")),
		.architecture = json_string_value(json_object_get(platform, "architecture")),
	};
}

static bool is_ours(const json_t *entry)
{
	struct platform p = platform_of(entry);
	return p.os && p.architecture && strcmp(p.os, "linux") == 0 &&
	       strcmp(p.architecture, ARCHITECTURE) == 0;
}

static bool is_neutral(const json_t *entry)
{
	return json_is_object(entry) && !json_object_get(entry, "platform");
}

static int no_platform(const json_t *manifests, struct pk_err *err)
{
	size_t i;
	const json_t *entry;
	struct pk_buf list pk_auto_buf;
	pk_buf_init(&list, 300);
	json_array_foreach (manifests, i, entry) {
		struct platform p = platform_of(entry);
		pk_buf_printf(&list, "%s%.40s/%.40s", list.len ? ", " : "", p.os ? p.os : "any",
			p.architecture ? p.architecture : "any");
	}
	return pk_fail(err, -ENOENT,
		"image index: not exactly one manifest for linux/" ARCHITECTURE "; it has: %s",
		list.len ? list.data : "nothing");
}

static const json_t *only_match(const json_t *manifests, bool (*matches)(const json_t *))
{
	size_t i;
	const json_t *entry, *found = NULL;
	json_array_foreach (manifests, i, entry) {
		if (!matches(entry))
			continue;
		if (found)
			return NULL;
		found = entry;
	}
	return found;
}

int pk_index_select(const void *bytes, size_t n, struct pk_descriptor *out, struct pk_err *err)
{
	pk_auto_json root = NULL;
	if (pk_json_parse(bytes, n, "manifest", &root, NULL) < 0)
		return 0;
	const json_t *manifests = manifests_of(root);
	if (!manifests)
		return 0;
	const json_t *entry = only_match(manifests, is_ours);
	if (!entry)
		entry = only_match(manifests, is_neutral);
	if (!entry)
		return no_platform(manifests, err);
	int rc = pk_descriptor_parse(entry, out, err);
	if (rc == 0 && is_index_type(out->media_type)) {
		pk_descriptor_finish(out);
		rc = pk_fail(err, -ENOTSUP, "an index in the index: one level is followed");
	}
	if (rc < 0)
		pk_err_prefix(err, "image index");
	return rc < 0 ? rc : 1;
}

// The manifest's artifactType; a list made by an old tool may lack it, then the reader will see.
static bool is_wanted(const json_t *entry, const char *artifact_type)
{
	struct pk_descriptor parsed;
	const char *type = json_string_value(json_object_get(entry, "artifactType"));
	if (artifact_type && type && strcmp(type, artifact_type) != 0)
		return false;
	if (pk_descriptor_parse(entry, &parsed, NULL) < 0)
		return false;
	pk_descriptor_finish(&parsed);
	return true;
}

int pk_index_filter(const void *bytes, size_t n, const char *artifact_type, struct pk_buf *out,
	struct pk_err *err)
{
	size_t i;
	json_t *entry;
	pk_auto_json root = NULL;
	pk_auto_json kept = json_array();
	if (n == 0 || pk_json_parse(bytes, n, "referrers", &root, NULL) < 0)
		root = NULL;
	json_array_foreach (manifests_of(root), i, entry)
		if (is_wanted(entry, artifact_type))
			json_array_append(kept, entry);
	pk_auto_json answer = json_pack("{s:i, s:s, s:O}", "schemaVersion", 2, "mediaType",
		PK_MEDIA_INDEX, "manifests", kept);
	pk_auto_free char *text = answer ? pk_json_canonical(answer) : NULL;
	if (!text)
		return pk_fail(err, -ENOMEM, "referrers: out of memory");
	return pk_buf_str(out, text) < 0 ? pk_fail(err, -EFBIG, "referrers: too big") : 0;
}
