// SPDX-License-Identifier: Apache-2.0
// A layout read in place: nothing is unpacked.
#include "registry/tarball.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fs.h"
#include "registry/descriptor.h"
#include "registry/layout.h"
#include "registry/tar.h"

#define CHUNK_BYTES (256 * 1024)

struct tarball {
	int fd;
	struct pk_tar tar;
	const struct pk_registry_watch *watch;
	uint8_t chunk[CHUNK_BYTES];
};

static int read_exactly(void *ctx, int64_t offset, void *out, size_t n)
{
	const struct tarball *ball = ctx;
	for (size_t got = 0; got < n;) {
		ssize_t r = pread(ball->fd, (char *)out + got, n - got, offset + (int64_t)got);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EIO;
		got += (size_t)r;
	}
	return 0;
}

static void tarball_close(void *impl)
{
	struct tarball *ball = impl;
	pk_auto_close_impl(&ball->fd);
	pk_tar_finish(&ball->tar);
	free(ball);
}

// A member's bytes, appended to out.
static int read_member(
	struct tarball *ball, const char *name, int64_t max, struct pk_buf *out, struct pk_err *err)
{
	const struct pk_tar_member *member = pk_tar_find(&ball->tar, name);
	if (!member)
		return pk_fail(err, -ENOENT, "%s: not in the tar file", name);
	if (member->size > max)
		return pk_fail(err, -EFBIG,
			"%s: %" PRId64 " bytes, at most %" PRId64 " are allowed", name,
			member->size, max);
	void *at = pk_buf_reserve(out, (size_t)member->size);
	int rc = at ? read_exactly(ball, member->offset, at, (size_t)member->size) : -EFBIG;
	return rc < 0 ? pk_fail(err, rc, "%s: %s", name, strerror(-rc)) : 0;
}

static int open_file(struct tarball *ball, const char *path, struct pk_err *err)
{
	struct stat st;
	struct pk_buf marker pk_auto_buf;
	pk_buf_init(&marker, PK_LAYOUT_MARKER_MAX);
	ball->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (ball->fd < 0 || fstat(ball->fd, &st) < 0)
		return pk_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return pk_fail(err, -EINVAL, "%s: not a regular file", path);
	int rc = pk_tar_list(read_exactly, ball, st.st_size, &ball->tar, err);
	if (rc == 0)
		rc = read_member(ball, PK_LAYOUT_MARKER, PK_LAYOUT_MARKER_MAX, &marker, err);
	if (rc == 0)
		rc = pk_layout_check_marker(pk_buf_cstr(&marker), marker.len, err);
	if (rc < 0)
		pk_err_prefix(err, "no OCI image layout in it");
	return rc;
}

static int tarball_open(const struct pk_ref *ref,
	pk_unused const struct pk_registry_options *options, void **impl, struct pk_err *err)
{
	struct tarball *ball = calloc(1, sizeof(*ball));
	if (!ball)
		return pk_fail(err, -ENOMEM, "out of memory");
	ball->fd = -1;
	int rc = open_file(ball, ref->location, err);
	if (rc < 0) {
		tarball_close(ball);
		return rc;
	}
	*impl = ball;
	return 0;
}

static void name_of(const struct pk_digest *digest, char out[PK_DIGEST_TEXT + 16])
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	snprintf(out, PK_DIGEST_TEXT + 16, "blobs/sha256/%s", text + strlen(PK_DIGEST_PREFIX));
}

static int resolve(
	struct tarball *ball, const char *tag, struct pk_digest *digest, struct pk_err *err)
{
	struct pk_buf index pk_auto_buf;
	struct pk_descriptor found;
	pk_buf_init(&index, PK_LAYOUT_INDEX_MAX);
	int rc = read_member(ball, PK_LAYOUT_INDEX, PK_LAYOUT_INDEX_MAX, &index, err);
	if (rc == 0)
		rc = pk_layout_find(pk_buf_cstr(&index), index.len, tag, &found, err);
	if (rc < 0)
		return rc;
	*digest = found.digest;
	pk_descriptor_finish(&found);
	return 0;
}

// What a tag points at is checked here, what a digest names by the caller.
static int check(const struct pk_buf *bytes, const struct pk_digest *wanted, struct pk_err *err)
{
	struct pk_digest digest;
	int rc = pk_digest_bytes(pk_buf_cstr(bytes), bytes->len, &digest);
	if (rc < 0)
		return pk_fail(err, rc, "manifest: cannot hash");
	return pk_digest_equal(&digest, wanted)
		       ? 0
		       : pk_fail(err, -EBADMSG, "manifest: its bytes do not match the digest");
}

static int tarball_get_manifest(void *impl, const struct pk_ref *ref,
	pk_unused struct pk_resolved *poll, struct pk_buf *out, struct pk_err *err)
{
	struct tarball *ball = impl;
	struct pk_digest digest = ref->digest;
	char name[PK_DIGEST_TEXT + 16];
	int rc = ref->has_digest ? 0 : resolve(ball, ref->tag, &digest, err);
	if (rc < 0)
		return rc;
	name_of(&digest, name);
	rc = read_member(ball, name, (int64_t)out->max, out, err);
	return rc < 0 ? rc : check(out, &digest, err);
}

static int copy(struct tarball *ball, int64_t from, int64_t left, int to, struct pk_err *err)
{
	for (int rc; left > 0;) {
		size_t n = (size_t)PK_MIN(left, (int64_t)CHUNK_BYTES);
		rc = read_exactly(ball, from, ball->chunk, n);
		if (rc == 0)
			rc = pk_fs_write_all(to, ball->chunk, n);
		if (rc < 0)
			return pk_fail(err, rc, "copying: %s", strerror(-rc));
		rc = ball->watch ? ball->watch->landed(ball->watch->ctx, err) : 0;
		if (rc != 0)
			return rc;
		from += (int64_t)n;
		left -= (int64_t)n;
	}
	return 0;
}

static int tarball_get_blob(
	void *impl, const struct pk_descriptor *blob, int fd, int64_t have, struct pk_err *err)
{
	struct tarball *ball = impl;
	char name[PK_DIGEST_TEXT + 16];
	name_of(&blob->digest, name);
	const struct pk_tar_member *member = pk_tar_find(&ball->tar, name);
	if (!member)
		return pk_fail(err, -ENOENT, "%s: not in the tar file", name);
	if (member->size != blob->size)
		return pk_fail(err, -EBADMSG,
			"%s: %" PRId64 " bytes instead of the %" PRId64 " that were announced",
			name, member->size, blob->size);
	return copy(ball, member->offset + have, blob->size - have, fd, err);
}

static void tarball_watch(void *impl, const struct pk_registry_watch *watch)
{
	struct tarball *ball = impl;
	ball->watch = watch;
}

const struct pk_registry_ops pk_tarball_ops = {
	.scheme = "file",
	.open = tarball_open,
	.get_manifest = tarball_get_manifest,
	.get_blob = tarball_get_blob,
	.watch = tarball_watch,
	.close = tarball_close,
};
