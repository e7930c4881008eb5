// SPDX-License-Identifier: Apache-2.0
// The files of a folder with their digests, for signatures of loose files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "registry/signature_oms.h"

#define MAX_FILES 4096
#define MAX_DEPTH 16

struct walk {
	struct pk_signature_files *files;
	struct stat skip; // st_ino 0: nothing
};

void pk_signature_files_finish(struct pk_signature_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->items[i].name);
	pk_array_finish(files);
}

static int add_file(struct walk *walk, int fd, const char *name, struct pk_err *err)
{
	if (walk->files->n >= MAX_FILES)
		return pk_fail(err, -EFBIG, "more than %d files", MAX_FILES);
	pk_auto_json utf8 = json_string(name);
	if (!utf8)
		return pk_fail(err, -EINVAL, "%s: the name is not UTF-8", name);
	struct pk_digest digest;
	int rc = pk_digest_fd(fd, &digest, err);
	if (rc < 0)
		return rc;
	char *copy = strdup(name);
	struct pk_signature_file *file = copy ? pk_array_push(walk->files) : NULL;
	if (!file) {
		free(copy);
		return pk_fail(err, -ENOMEM, "out of memory");
	}
	*file = (struct pk_signature_file){.name = copy, .digest = digest};
	return 0;
}

static int walk_folder(
	struct walk *walk, int folder_fd, const char *prefix, int depth, struct pk_err *err);

static int take_entry(
	struct walk *walk, int folder_fd, const char *path, int depth, struct pk_err *err)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	pk_auto_close int fd = openat(folder_fd, slash ? slash + 1 : path,
		O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ELOOP)
		return pk_fail(err, -ELOOP, "%s: a symbolic link; they are not followed", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return pk_fail_errno(err, "%s", path);
	if (S_ISDIR(st.st_mode))
		return walk_folder(walk, pk_steal_fd(fd), path, depth + 1, err);
	if (!S_ISREG(st.st_mode))
		return pk_fail(err, -EINVAL, "%s: neither a file nor a folder", path);
	if (st.st_ino == walk->skip.st_ino && st.st_dev == walk->skip.st_dev)
		return 0;
	return add_file(walk, fd, path, err);
}

static int take_name(struct walk *walk, int folder_fd, const char *prefix, const char *name,
	int depth, struct pk_err *err)
{
	pk_auto_free char *path = prefix[0] ? pk_fs_join(prefix, name) : strdup(name);
	return path ? take_entry(walk, folder_fd, path, depth, err)
		    : pk_fail(err, -ENOMEM, "out of memory");
}

// Takes folder_fd over.
static int walk_folder(
	struct walk *walk, int folder_fd, const char *prefix, int depth, struct pk_err *err)
{
	DIR *dir = depth <= MAX_DEPTH ? fdopendir(folder_fd) : NULL;
	if (!dir) {
		int rc = depth > MAX_DEPTH ? pk_fail(err, -ELOOP, "%s: deeper than %d folders",
						     prefix, MAX_DEPTH)
					   : pk_fail_errno(err, "%s", prefix);
		close(folder_fd);
		return rc;
	}
	int rc = 0;
	const struct dirent *entry;
	while (rc == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = take_name(walk, dirfd(dir), prefix, entry->d_name, depth, err);
	closedir(dir);
	return rc;
}

int pk_signature_files_list(const char *folder, const char *skip_path,
	struct pk_signature_files *files, struct pk_err *err)
{
	struct walk walk = {.files = files};
	if (skip_path && stat(skip_path, &walk.skip) < 0)
		return pk_fail_errno(err, "%s", skip_path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return pk_fail_errno(err, "%s", folder);
	int rc = walk_folder(&walk, fd, "", 1, err);
	if (rc < 0)
		pk_err_prefix(err, "%s", folder);
	return rc;
}

static void take_verdict(struct pk_signature_verdict *out, enum pk_signature_reason reason,
	const struct pk_trusted_key *key)
{
	*out = (struct pk_signature_verdict){.reason = reason, .seq = -1, .n_found = 1};
	if (reason != PK_SIGNATURE_OK)
		return;
	snprintf(out->key_ids[0], sizeof(out->key_ids[0]), "%s", pk_key_id(key->key));
	snprintf(out->format, sizeof(out->format), "oms");
	out->n_keys = 1;
}

int pk_signature_oms_verify(const char *folder, const char *bundle_path,
	const struct pk_signature_policy *policy, struct pk_signature_verdict *out,
	struct pk_err *err)
{
	const struct pk_signature_claim claim = {.policy = policy, .seq = -1};
	const struct pk_trusted_key *key = NULL;
	struct pk_signature_files files = {0};
	struct pk_buf bundle pk_auto_buf;
	*out = (struct pk_signature_verdict){.reason = PK_SIGNATURE_TROUBLE, .seq = -1};
	pk_buf_init(&bundle, PK_SIGNATURE_MAX_BYTES + 1);
	int rc = pk_fs_read(bundle_path, PK_SIGNATURE_MAX_BYTES + 1, &bundle, err);
	if (rc == 0)
		rc = pk_signature_files_list(folder, bundle_path, &files, err);
	if (rc == 0) {
		enum pk_signature_reason reason =
			pk_signature_oms_check(&claim, &bundle, &files, &key, err);
		take_verdict(out, reason, key);
		rc = reason == PK_SIGNATURE_OK ? 0 : -EKEYREJECTED;
		if (rc < 0)
			pk_err_prefix(err, "signature: %s", pk_signature_reason_text(reason));
	}
	pk_signature_files_finish(&files);
	return rc;
}
