// SPDX-License-Identifier: Apache-2.0
// Writes into an OCI image-layout folder: blobs first, the tag last.
#include "registry/layout_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "registry/layout.h"
#include "registry/media_type.h"

#define CHUNK_BYTES (64 * 1024)
#define BLOB_MODE   0644 // a layout is handed on; the store is what is private

struct pk_layout_writer {
	char *folder;
	char *blobs; // folder/blobs/sha256
	char *marker_path;
	char *index_path;
	int lock_fd;
};

void pk_layout_writer_close(struct pk_layout_writer *writer)
{
	if (!writer)
		return;
	pk_auto_close_impl(&writer->lock_fd);
	free(writer->folder);
	free(writer->blobs);
	free(writer->marker_path);
	free(writer->index_path);
	free(writer);
}

static bool is_empty_folder(int folder_fd)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool empty = true;
	const struct dirent *entry;
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

static int lock_folder(struct pk_layout_writer *writer, struct pk_err *err)
{
	writer->lock_fd = open(writer->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->lock_fd < 0)
		return pk_fail_errno(err, "%s", writer->folder);
	if (flock(writer->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return pk_fail(err, -EBUSY, "%s: another process is writing here", writer->folder);
	return 0;
}

// The marker is written before anything else, so a folder without one must be empty.
static int ensure_marker(struct pk_layout_writer *writer, struct pk_err *err)
{
	struct pk_buf marker pk_auto_buf;
	pk_buf_init(&marker, PK_LAYOUT_MARKER_MAX);
	if (pk_fs_exists(writer->marker_path)) {
		int rc = pk_fs_read(writer->marker_path, PK_LAYOUT_MARKER_MAX, &marker, err);
		return rc < 0 ? rc : pk_layout_check_marker(pk_buf_cstr(&marker), marker.len, err);
	}
	if (!is_empty_folder(writer->lock_fd))
		return pk_fail(err, -ENOTEMPTY, "%s: neither empty nor an OCI image layout",
			writer->folder);
	return pk_fs_write_atomic(writer->marker_path, PK_LAYOUT_MARKER_TEXT,
		strlen(PK_LAYOUT_MARKER_TEXT), BLOB_MODE, err);
}

static int set_paths(struct pk_layout_writer *writer, const char *folder, struct pk_err *err)
{
	writer->folder = strdup(folder);
	writer->blobs = pk_fs_join(folder, "blobs/sha256");
	writer->marker_path = pk_fs_join(folder, PK_LAYOUT_MARKER);
	writer->index_path = pk_fs_join(folder, PK_LAYOUT_INDEX);
	if (!writer->folder || !writer->blobs || !writer->marker_path || !writer->index_path)
		return pk_fail(err, -ENOMEM, "out of memory");
	return 0;
}

int pk_layout_writer_open(const char *folder, struct pk_layout_writer **out, struct pk_err *err)
{
	*out = NULL;
	pk_auto(pk_layout_writer) writer = calloc(1, sizeof(*writer));
	if (!writer)
		return pk_fail(err, -ENOMEM, "out of memory");
	writer->lock_fd = -1;
	int rc = set_paths(writer, folder, err);
	if (rc == 0)
		rc = pk_fs_mkdirs(folder, 0755, err);
	if (rc == 0)
		rc = lock_folder(writer, err);
	if (rc == 0)
		rc = ensure_marker(writer, err);
	if (rc == 0)
		rc = pk_fs_mkdirs(writer->blobs, 0755, err);
	if (rc < 0)
		return rc;
	*out = pk_steal(writer);
	return 0;
}

static int open_input(const char *path, struct pk_err *err)
{
	pk_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return pk_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return pk_fail(err, -EINVAL, "%s: not a regular file", path);
	if (st.st_size == 0)
		return pk_fail(err, -EINVAL, "%s: empty", path);
	return pk_steal_fd(fd);
}

static int copy_all(int from, int to, struct pk_hasher *hasher, int64_t *size, struct pk_err *err)
{
	*size = 0;
	for (;;) {
		char chunk[CHUNK_BYTES];
		ssize_t n = read(from, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pk_fail_errno(err, "reading");
		if (n == 0)
			return 0;
		pk_hasher_update(hasher, chunk, (size_t)n);
		int rc = pk_fs_write_all(to, chunk, (size_t)n);
		if (rc < 0)
			return pk_fail(err, rc, "writing: %s", strerror(-rc));
		*size += n;
	}
}

static int copy_hashed(
	int from, int to, struct pk_digest *digest, int64_t *size, struct pk_err *err)
{
	pk_auto(pk_hasher) hasher = pk_hasher_create();
	if (!hasher)
		return pk_fail(err, -ENOMEM, "out of memory");
	int rc = copy_all(from, to, hasher, size, err);
	if (rc == 0)
		pk_hasher_final(hasher, digest);
	return rc;
}

// A finished temporary file gets the name of its content.
static int name_blob(struct pk_layout_writer *writer, int fd, const char *tmp_path,
	const struct pk_digest *digest, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	pk_auto_free char *path = pk_fs_join(writer->blobs, text + strlen(PK_DIGEST_PREFIX));
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (fchmod(fd, BLOB_MODE) < 0 || fsync(fd) < 0)
		return pk_fail_errno(err, "%s", tmp_path);
	if (rename(tmp_path, path) < 0)
		return pk_fail_errno(err, "%s", path);
	pk_auto_close int dir_fd = open(writer->blobs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || fsync(dir_fd) < 0)
		return pk_fail_errno(err, "%s", writer->blobs);
	return 0;
}

int pk_layout_writer_file(struct pk_layout_writer *writer, const char *path,
	struct pk_digest *digest, int64_t *size, struct pk_err *err)
{
	pk_auto_close int from = open_input(path, err);
	if (from < 0)
		return from;
	pk_auto_free char *tmp_path = pk_fs_join(writer->blobs, ".part-XXXXXX");
	if (!tmp_path)
		return pk_fail(err, -ENOMEM, "out of memory");
	pk_auto_close int to = mkostemp(tmp_path, O_CLOEXEC);
	if (to < 0)
		return pk_fail_errno(err, "%s", tmp_path);
	int rc = copy_hashed(from, to, digest, size, err);
	if (rc == 0)
		rc = name_blob(writer, to, tmp_path, digest, err);
	if (rc < 0) {
		unlink(tmp_path);
		pk_err_prefix(err, "%s", path);
	}
	return rc;
}

int pk_layout_writer_bytes(struct pk_layout_writer *writer, const void *bytes, size_t n,
	struct pk_digest *digest, struct pk_err *err)
{
	char text[PK_DIGEST_TEXT];
	int rc = pk_digest_bytes(bytes, n, digest);
	if (rc < 0)
		return pk_fail(err, rc, "cannot hash");
	pk_digest_format(digest, text);
	pk_auto_free char *path = pk_fs_join(writer->blobs, text + strlen(PK_DIGEST_PREFIX));
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	return pk_fs_write_atomic(path, bytes, n, BLOB_MODE, err);
}

// index.json as it stands, or an empty one.
static int read_index(struct pk_layout_writer *writer, json_t **out, struct pk_err *err)
{
	if (!pk_fs_exists(writer->index_path)) {
		*out = json_pack("{s:i, s:s, s:[]}", "schemaVersion", 2, "mediaType",
			PK_MEDIA_INDEX, "manifests");
		return *out ? 0 : pk_fail(err, -ENOMEM, "out of memory");
	}
	struct pk_buf text pk_auto_buf;
	json_t *manifests = NULL;
	pk_buf_init(&text, PK_LAYOUT_INDEX_MAX);
	int rc = pk_fs_read(writer->index_path, PK_LAYOUT_INDEX_MAX, &text, err);
	if (rc == 0)
		rc = pk_json_parse(pk_buf_cstr(&text), text.len, PK_LAYOUT_INDEX, out, err);
	if (rc == 0)
		rc = pk_json_get_arr(*out, "manifests", &manifests, err);
	return rc;
}

static bool has_tag(const json_t *entry, const char *tag)
{
	const json_t *annotations = json_object_get(entry, "annotations");
	const char *name = json_string_value(json_object_get(annotations, PK_ANNOTATION_REF_NAME));
	return name && strcmp(name, tag) == 0;
}

// The first entry with the tag gives its place to the new one, others with it go: an index that was
// ambiguous is healed, and writing the same again changes no byte.
static int replace_entry(json_t *manifests, const char *tag, json_t *entry)
{
	bool placed = false;
	for (size_t i = 0; i < json_array_size(manifests);) {
		if (!has_tag(json_array_get(manifests, i), tag)) {
			i++;
		} else if (placed) {
			json_array_remove(manifests, i);
		} else if (json_array_set(manifests, i++, entry) < 0) {
			return -ENOMEM;
		} else {
			placed = true;
		}
	}
	return placed || json_array_append(manifests, entry) == 0 ? 0 : -ENOMEM;
}

static int write_index(struct pk_layout_writer *writer, const json_t *index, struct pk_err *err)
{
	pk_auto_free char *text = pk_json_canonical(index);
	if (!text)
		return pk_fail(err, -ENOMEM, "out of memory");
	size_t n = strlen(text);
	if (n > PK_LAYOUT_INDEX_MAX)
		return pk_fail(err, -EFBIG, "%s: it would grow above %d bytes", writer->index_path,
			PK_LAYOUT_INDEX_MAX);
	return pk_fs_write_atomic(writer->index_path, text, n, BLOB_MODE, err);
}

int pk_layout_writer_tag(struct pk_layout_writer *writer, const char *tag, const json_t *descriptor,
	struct pk_err *err)
{
	pk_auto_json index = NULL;
	int rc = read_index(writer, &index, err);
	if (rc < 0) {
		pk_err_prefix(err, "%s", writer->folder);
		return rc;
	}
	pk_auto_json entry = json_deep_copy(descriptor);
	pk_auto_json annotations = json_pack("{s:s}", PK_ANNOTATION_REF_NAME, tag);
	if (!entry || !annotations || json_object_set(entry, "annotations", annotations) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	if (replace_entry(json_object_get(index, "manifests"), tag, entry) < 0)
		return pk_fail(err, -ENOMEM, "out of memory");
	return write_index(writer, index, err);
}
