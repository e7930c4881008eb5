// SPDX-License-Identifier: Apache-2.0
// An OCI image-layout folder as a registry.
#include "registry/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fs.h"
#include "base/json.h"
#include "registry/descriptor.h"
#include "registry/media_type.h"

#define CHUNK_BYTES (256 * 1024)

struct layout {
	int root_fd;
	int blobs_fd; // blobs/sha256
	const struct pk_registry_watch *watch;
	uint8_t chunk[CHUNK_BYTES];
};

// A regular file reached without following a link; *size is its length.
static int open_regular(int dir_fd, const char *name, int64_t *size, struct pk_err *err)
{
	// O_NONBLOCK: opening a FIFO must not wait for a writer.
	pk_auto_close int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 && errno == ELOOP)
		return pk_fail(err, -EINVAL, "%s: symbolic links are refused", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return pk_fail_errno(err, "%s", name);
	if (!S_ISREG(st.st_mode))
		return pk_fail(err, -EINVAL, "%s: not a regular file", name);
	*size = st.st_size;
	return pk_steal_fd(fd);
}

static int read_up_to(int fd, int64_t size, struct pk_buf *out)
{
	int64_t got = 0;
	while (got < size) {
		char chunk[4096];
		size_t want = (size_t)PK_MIN(size - got, (int64_t)sizeof(chunk));
		ssize_t n = read(fd, chunk, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break; // shrank meanwhile: the parser or the digest will tell
		if (pk_buf_append(out, chunk, (size_t)n) < 0)
			return pk_buf_error(out);
		got += n;
	}
	return 0;
}

static int read_regular(
	int dir_fd, const char *name, int64_t max_bytes, struct pk_buf *out, struct pk_err *err)
{
	int64_t size = 0;
	pk_auto_close int fd = open_regular(dir_fd, name, &size, err);
	if (fd < 0)
		return fd;
	if (size > max_bytes)
		return pk_fail(err, -EFBIG,
			"%s: %" PRId64 " bytes, at most %" PRId64 " are allowed", name, size,
			max_bytes);
	int rc = read_up_to(fd, size, out);
	return rc < 0 ? pk_fail(err, rc, "%s: %s", name, strerror(-rc)) : 0;
}

int pk_layout_check_marker(const void *bytes, size_t n, struct pk_err *err)
{
	pk_auto_json root = NULL;
	const char *version = NULL;
	int rc = pk_json_parse(bytes, n, PK_LAYOUT_MARKER, &root, err);
	if (rc < 0)
		return rc;
	rc = pk_json_get_str(root, "imageLayoutVersion", &version, err);
	if (rc < 0) {
		pk_err_prefix(err, PK_LAYOUT_MARKER);
		return rc;
	}
	if (strcmp(version, PK_LAYOUT_VERSION) != 0)
		return pk_fail(err, -ENOTSUP,
			PK_LAYOUT_MARKER ": layout version '%.40s': only " PK_LAYOUT_VERSION
					 " is supported",
			version);
	return 0;
}

// "; it has: a, b" for the error text, as many as fit.
static void list_tags(const json_t *manifests, struct pk_buf *out)
{
	size_t i;
	const json_t *entry;
	json_array_foreach (manifests, i, entry) {
		const char *tag = NULL;
		if (pk_descriptor_annotation(entry, PK_ANNOTATION_REF_NAME, &tag, NULL) < 0 || !tag)
			continue;
		pk_buf_printf(out, "%s%s", out->len ? ", " : "; it has: ", tag);
	}
}

static int no_such_tag(const json_t *manifests, const char *tag, struct pk_err *err)
{
	struct pk_buf tags pk_auto_buf;
	pk_buf_init(&tags, 400);
	list_tags(manifests, &tags);
	return pk_fail(err, -ENOENT, PK_LAYOUT_INDEX ": no tag '%s'%s", tag, pk_buf_cstr(&tags));
}

// Takes entry when it carries the tag. 1: it does, 0: it does not.
static int match_entry(
	const json_t *entry, const char *tag, struct pk_descriptor *out, struct pk_err *err)
{
	const char *name = NULL;
	if (!json_is_object(entry))
		return pk_fail(err, -EINVAL, "expected an object");
	int rc = pk_descriptor_annotation(entry, PK_ANNOTATION_REF_NAME, &name, err);
	if (rc < 0)
		return rc;
	if (!name || strcmp(name, tag) != 0)
		return 0;
	rc = pk_descriptor_parse(entry, out, err);
	return rc < 0 ? rc : 1;
}

// The same digest twice is only odd; two digests leave open which one is meant.
static int keep_match(struct pk_descriptor *kept, struct pk_descriptor *found, const char *tag,
	struct pk_err *err)
{
	if (!kept->media_type) {
		*kept = *found;
		return 0;
	}
	bool same = pk_digest_equal(&kept->digest, &found->digest);
	pk_descriptor_finish(found);
	return same ? 0 : pk_fail(err, -EINVAL, "the tag '%s' is given to two manifests", tag);
}

static int find_in(
	const json_t *manifests, const char *tag, struct pk_descriptor *out, struct pk_err *err)
{
	size_t i;
	const json_t *entry;
	json_array_foreach (manifests, i, entry) {
		struct pk_descriptor found;
		int rc = match_entry(entry, tag, &found, err);
		if (rc > 0)
			rc = keep_match(out, &found, tag, err);
		if (rc < 0) {
			pk_err_prefix(err, PK_LAYOUT_INDEX ": manifests[%zu]", i);
			return rc;
		}
	}
	if (!out->media_type)
		return no_such_tag(manifests, tag, err);
	return 0;
}

int pk_layout_find(
	const void *bytes, size_t n, const char *tag, struct pk_descriptor *out, struct pk_err *err)
{
	*out = (struct pk_descriptor){0};
	pk_auto_json root = NULL;
	json_t *manifests = NULL;
	int rc = pk_json_parse(bytes, n, PK_LAYOUT_INDEX, &root, err);
	if (rc < 0)
		return rc;
	rc = pk_json_get_arr(root, "manifests", &manifests, err);
	if (rc < 0) {
		pk_err_prefix(err, PK_LAYOUT_INDEX);
		return rc;
	}
	rc = find_in(manifests, tag, out, err);
	if (rc < 0)
		pk_descriptor_finish(out);
	return rc;
}

static void layout_close(void *impl)
{
	struct layout *layout = impl;
	pk_auto_close_impl(&layout->root_fd);
	pk_auto_close_impl(&layout->blobs_fd);
	free(layout);
}

static int open_folder(int at_fd, const char *name, int flags, struct pk_err *err)
{
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return fd >= 0 ? fd : pk_fail_errno(err, "%s", name);
}

static int open_parts(struct layout *layout, const char *location, struct pk_err *err)
{
	struct pk_buf marker pk_auto_buf;
	pk_buf_init(&marker, PK_LAYOUT_MARKER_MAX);
	layout->root_fd = open_folder(AT_FDCWD, location, 0, err);
	if (layout->root_fd < 0)
		return layout->root_fd;
	int rc =
		read_regular(layout->root_fd, PK_LAYOUT_MARKER, PK_LAYOUT_MARKER_MAX, &marker, err);
	if (rc < 0) {
		pk_err_prefix(err, "not an OCI image layout");
		return rc;
	}
	rc = pk_layout_check_marker(pk_buf_cstr(&marker), marker.len, err);
	if (rc < 0)
		return rc;
	pk_auto_close int blobs_fd = open_folder(layout->root_fd, "blobs", O_NOFOLLOW, err);
	if (blobs_fd < 0)
		return blobs_fd;
	layout->blobs_fd = open_folder(blobs_fd, "sha256", O_NOFOLLOW, err);
	return layout->blobs_fd < 0 ? layout->blobs_fd : 0;
}

static int layout_open(const struct pk_ref *ref,
	pk_unused const struct pk_registry_options *options, void **impl, struct pk_err *err)
{
	struct layout *layout = malloc(sizeof(*layout));
	if (!layout)
		return pk_fail(err, -ENOMEM, "out of memory");
	layout->root_fd = layout->blobs_fd = -1;
	layout->watch = NULL;
	int rc = open_parts(layout, ref->location, err);
	if (rc < 0) {
		layout_close(layout);
		return rc;
	}
	*impl = layout;
	return 0;
}

static int read_blob(struct layout *layout, const struct pk_digest *digest, int64_t max_bytes,
	struct pk_buf *out, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	int rc = read_regular(
		layout->blobs_fd, text + strlen(PK_DIGEST_PREFIX), max_bytes, out, err);
	if (rc < 0)
		pk_err_prefix(err, "manifest");
	return rc;
}

static int resolve_tag(
	struct layout *layout, const char *tag, struct pk_descriptor *found, struct pk_err *err)
{
	struct pk_buf index pk_auto_buf;
	pk_buf_init(&index, PK_LAYOUT_INDEX_MAX);
	int rc = read_regular(layout->root_fd, PK_LAYOUT_INDEX, PK_LAYOUT_INDEX_MAX, &index, err);
	if (rc < 0)
		return rc;
	return pk_layout_find(pk_buf_cstr(&index), index.len, tag, found, err);
}

// What the index promises of the manifest: its size first, then its digest.
static int check_promise(
	const struct pk_descriptor *promised, const struct pk_buf *got, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	struct pk_digest digest;
	pk_digest_format(&promised->digest, text);
	if ((int64_t)got->len != promised->size)
		return pk_fail(err, -EBADMSG,
			"manifest %s: %zu bytes instead of the %" PRId64 " that " PK_LAYOUT_INDEX
			" announces",
			text, got->len, promised->size);
	int rc = pk_digest_bytes(pk_buf_cstr(got), got->len, &digest);
	if (rc < 0)
		return pk_fail(err, rc, "manifest %s: cannot hash", text);
	if (!pk_digest_equal(&digest, &promised->digest))
		return pk_fail(
			err, -EBADMSG, "manifest %s: its bytes do not match the digest", text);
	return 0;
}

static int layout_get_manifest(void *impl, const struct pk_ref *ref,
	pk_unused struct pk_resolved *poll, struct pk_buf *out, struct pk_err *err)
{
	struct layout *layout = impl;
	if (ref->has_digest)
		return read_blob(layout, &ref->digest, (int64_t)out->max, out, err);
	struct pk_descriptor found;
	int rc = resolve_tag(layout, ref->tag, &found, err);
	if (rc < 0)
		return rc;
	rc = read_blob(layout, &found.digest, (int64_t)out->max, out, err);
	if (rc == 0)
		rc = check_promise(&found, out, err);
	pk_descriptor_finish(&found);
	return rc;
}

static int copy_chunk(struct layout *layout, int from, int to, int64_t left, struct pk_err *err)
{
	size_t want = (size_t)PK_MIN(left, (int64_t)CHUNK_BYTES);
	ssize_t n;
	do
		n = read(from, layout->chunk, want);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return pk_fail_errno(err, "reading");
	if (n == 0)
		return pk_fail(err, -EIO, "the file ends %" PRId64 " bytes early", left);
	int rc = pk_fs_write_all(to, layout->chunk, (size_t)n);
	if (rc < 0)
		return pk_fail(err, rc, "writing: %s", strerror(-rc));
	rc = layout->watch ? layout->watch->landed(layout->watch->ctx, err) : 0;
	return rc != 0 ? rc : (int)n;
}

static int copy_from(struct layout *layout, int from, const struct pk_descriptor *blob, int to,
	int64_t have, struct pk_err *err)
{
	if (lseek(from, have, SEEK_SET) < 0)
		return pk_fail_errno(err, "seeking");
	for (int64_t left = blob->size - have; left > 0;) {
		int n = copy_chunk(layout, from, to, left, err);
		if (n < 0)
			return n;
		left -= n;
	}
	return 0;
}

static int layout_get_blob(
	void *impl, const struct pk_descriptor *blob, int fd, int64_t have, struct pk_err *err)
{
	struct layout *layout = impl;
	char text[PK_DIGEST_TEXT];
	int64_t size = 0;
	pk_digest_format(&blob->digest, text);
	pk_auto_close int from =
		open_regular(layout->blobs_fd, text + strlen(PK_DIGEST_PREFIX), &size, err);
	if (from < 0)
		return from;
	if (size != blob->size)
		return pk_fail(err, -EBADMSG,
			"%s: %" PRId64 " bytes instead of the %" PRId64 " that were announced",
			text, size, blob->size);
	int rc = copy_from(layout, from, blob, fd, have, err);
	if (rc < 0)
		pk_err_prefix(err, "%s", text);
	return rc;
}

static void layout_watch(void *impl, const struct pk_registry_watch *watch)
{
	struct layout *layout = impl;
	layout->watch = watch;
}

const struct pk_registry_ops pk_layout_ops = {
	.scheme = "oci",
	.open = layout_open,
	.get_manifest = layout_get_manifest,
	.get_blob = layout_get_blob,
	.watch = layout_watch,
	.close = layout_close,
};
