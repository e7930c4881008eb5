// SPDX-License-Identifier: Apache-2.0
// The table of transports, and reading single things through one of them.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/index.h"
#include "registry/layout.h"
#include "registry/media_type.h"
#include "registry/registry_private.h"
#include "registry/remote.h"
#include "registry/tarball.h"
#include "registry/web.h"

static const struct pk_registry_ops *const transports[] = {
	&pk_remote_ops,
	&pk_layout_ops,
	&pk_tarball_ops,
	&pk_web_ops,
	NULL,
};

int pk_registry_open(const struct pk_ref *ref, const struct pk_registry_options *options,
	struct pk_registry **out, struct pk_err *err)
{
	static const struct pk_registry_options defaults;
	*out = NULL;
	const struct pk_registry_ops *const *ops = transports;
	while (*ops && strcmp((*ops)->scheme, ref->scheme) != 0)
		ops++;
	if (!*ops)
		return pk_fail(err, -ENOTSUP, "no registry for '%s:'", ref->scheme);
	struct pk_registry *registry = calloc(1, sizeof(*registry));
	if (!registry)
		return pk_fail(err, -ENOMEM, "out of memory");
	registry->ops = *ops;
	registry->options = options ? options : &defaults;
	int rc = registry->ops->open(ref, registry->options, &registry->impl, err);
	if (rc < 0) {
		free(registry);
		return rc;
	}
	*out = registry;
	return 0;
}

void pk_registry_close(struct pk_registry *registry)
{
	if (!registry)
		return;
	registry->ops->close(registry->impl);
	free(registry);
}

static int check_digest(const struct pk_buf *bytes, const struct pk_digest *wanted,
	const char *what, struct pk_err *err)
{
	struct pk_digest digest;
	int rc = pk_digest_bytes(pk_buf_cstr(bytes), bytes->len, &digest);
	if (rc < 0)
		return pk_fail(err, rc, "%s: cannot hash", what);
	if (!pk_digest_equal(&digest, wanted))
		return pk_fail(err, -EBADMSG, "%s: its bytes do not match the digest", what);
	return 0;
}

static int get_checked(struct pk_registry *registry, const struct pk_ref *ref,
	struct pk_resolved *poll, struct pk_buf *bytes, struct pk_err *err)
{
	int rc = registry->ops->get_manifest(registry->impl, ref, poll, bytes, err);
	// A plain file's digest is the file's: the manifest is made here.
	bool is_pinned = ref->has_digest && strcmp(ref->scheme, "https") != 0;
	if (rc < 0 || (poll && poll->not_modified) || !is_pinned)
		return rc;
	return check_digest(bytes, &ref->digest, "manifest", err);
}

// Replaces an image index by the manifest that it has for this platform.
static int select_platform(struct pk_registry *registry, const struct pk_ref *ref,
	struct pk_buf *bytes, struct pk_err *err)
{
	struct pk_descriptor chosen;
	struct pk_ref by_digest = *ref;
	int rc = pk_index_select(pk_buf_cstr(bytes), bytes->len, &chosen, err);
	if (rc <= 0)
		return rc;
	by_digest.has_digest = true;
	by_digest.digest = chosen.digest;
	int64_t size = chosen.size;
	pk_descriptor_finish(&chosen);
	pk_buf_clear(bytes);
	rc = get_checked(registry, &by_digest, NULL, bytes, err);
	if (rc == 0 && (int64_t)bytes->len != size)
		rc = pk_fail(err, -EBADMSG,
			"manifest: %zu bytes instead of the %" PRId64 " that the index announces",
			bytes->len, size);
	return rc;
}

int pk_registry_get(struct pk_registry *registry, const struct pk_ref *ref,
	struct pk_resolved *poll, struct pk_buf *bytes, struct pk_err *err)
{
	int rc = get_checked(registry, ref, poll, bytes, err);
	if (rc < 0 || (poll && poll->not_modified))
		return rc;
	rc = select_platform(registry, ref, bytes, err);
	if (rc == 0 && poll && pk_digest_bytes(pk_buf_cstr(bytes), bytes->len, &poll->digest) < 0)
		rc = pk_fail(err, -ENOMEM, "manifest: cannot hash");
	return rc;
}

int pk_resolve(const char *ref_text, const struct pk_registry_options *options,
	struct pk_resolved *inout, struct pk_err *err)
{
	struct pk_ref ref;
	struct pk_buf bytes pk_auto_buf;
	pk_auto(pk_registry) registry = NULL;
	inout->not_modified = false;
	inout->retry_after_ns = 0;
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = pk_ref_parse(ref_text, &ref, err);
	if (rc < 0)
		return rc;
	rc = pk_registry_open(&ref, options, &registry, err);
	if (rc == 0)
		rc = pk_registry_get(registry, &ref, inout, &bytes, err);
	pk_ref_finish(&ref);
	if (rc < 0)
		pk_err_prefix(err, "%s", ref_text);
	return rc;
}

int pk_registry_manifest(struct pk_registry *registry, const struct pk_ref *ref, size_t max,
	struct pk_buf *out, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	pk_buf_init(&bytes, max);
	int rc = get_checked(registry, ref, NULL, &bytes, err);
	if (rc == 0 && pk_buf_append(out, pk_buf_cstr(&bytes), bytes.len) < 0)
		rc = pk_fail(err, -EFBIG, "manifest: too big");
	return rc;
}

static int read_back(int fd, int64_t size, struct pk_buf *out)
{
	if (size == 0)
		return 0;
	void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	int rc = pk_buf_append(out, bytes, (size_t)size);
	munmap(bytes, (size_t)size);
	return rc;
}

// 0 when the fd holds what the descriptor promises.
static int check_fd(int fd, const struct pk_descriptor *blob, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	struct pk_digest digest;
	pk_digest_format(&blob->digest, text);
	off_t end = lseek(fd, 0, SEEK_END);
	if (end != blob->size)
		return pk_fail(err, -EBADMSG, "%s: %" PRId64 " bytes instead of %" PRId64, text,
			(int64_t)end, blob->size);
	int rc = pk_digest_fd(fd, &digest, err);
	if (rc == 0 && !pk_digest_equal(&digest, &blob->digest))
		rc = pk_fail(err, -EBADMSG, "%s: its bytes do not match the digest", text);
	return rc;
}

bool pk_registry_distrust(struct pk_registry *registry)
{
	return registry->ops->distrust && registry->ops->distrust(registry->impl);
}

// Into an empty file, verified.
static int get_to_fd(
	struct pk_registry *registry, const struct pk_descriptor *blob, int fd, struct pk_err *err)
{
	int rc;
	do {
		if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return pk_fail_errno(err, "memfd");
		rc = blob->size > 0 ? registry->ops->get_blob(registry->impl, blob, fd, 0, err) : 0;
		if (rc == 0)
			rc = check_fd(fd, blob, err);
	} while (rc == -EBADMSG && pk_registry_distrust(registry));
	return rc;
}

int pk_registry_blob(struct pk_registry *registry, const struct pk_descriptor *blob, size_t max,
	struct pk_buf *out, struct pk_err *err)
{
	if (blob->size < 0 || (uint64_t)blob->size > max)
		return pk_fail(err, -EFBIG, "blob: %" PRId64 " bytes, at most %zu are allowed",
			blob->size, max);
	pk_auto_close int fd = memfd_create("picket-blob", MFD_CLOEXEC);
	if (fd < 0)
		return pk_fail_errno(err, "memfd");
	int rc = get_to_fd(registry, blob, fd, err);
	if (rc < 0)
		return rc;
	rc = read_back(fd, blob->size, out);
	return rc < 0 ? pk_fail(err, rc, "blob: %s", strerror(-rc)) : 0;
}

// The tag that stands in for the referrers API (distribution-spec, "Referrers Tag Schema").
static int get_by_tag(struct pk_registry *registry, const struct pk_digest *subject,
	struct pk_buf *out, struct pk_err *err)
{
	char tag[PK_DIGEST_TEXT];
	pk_digest_format(subject, tag);
	tag[strlen("sha256")] = '-';
	const struct pk_ref ref = {.scheme = registry->ops->scheme, .tag = tag};
	return registry->ops->get_manifest(registry->impl, &ref, NULL, out, err);
}

int pk_registry_referrers(struct pk_registry *registry, const struct pk_digest *subject,
	const char *artifact_type, struct pk_buf *index_json, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = -ENOENT;
	if (registry->ops->get_referrers)
		rc = registry->ops->get_referrers(
			registry->impl, subject, artifact_type, &bytes, err);
	if (rc == -ENOENT)
		rc = get_by_tag(registry, subject, &bytes, err);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (rc == -ENOENT)
		pk_buf_clear(&bytes);
	return pk_index_filter(pk_buf_cstr(&bytes), bytes.len, artifact_type, index_json, err);
}
