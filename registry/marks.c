// SPDX-License-Identifier: Apache-2.0
// Marking: from the roots down through manifests, then from what is left up to them by signatures.
#include "registry/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "registry/manifest.h"
#include "registry/media_type.h"
#include "registry/store_private.h"

#define MAX_MARKS           65536
#define MAX_DEPTH           4           // an index of indexes is already odd
#define MAX_SIGNATURE_BYTES (256 << 10) // of a signature's manifest or payload
#define MAX_SIGNATURE_ROUND 4           // signatures of signatures

static const char simple_signing[] = "application/vnd.dev.cosign.simplesigning.v1+json";

void pk_store_marks_finish(struct pk_store_marks *marks)
{
	free(marks->items);
	*marks = (struct pk_store_marks){0};
}

const struct pk_store_mark *pk_store_marks_find(
	const struct pk_store_marks *marks, const struct pk_digest *digest)
{
	for (size_t i = 0; i < marks->n; i++)
		if (pk_digest_equal(&marks->items[i].digest, digest))
			return &marks->items[i];
	return NULL;
}

// 1: it was marked before.
static int mark(struct pk_store_marks *marks, const struct pk_digest *digest, bool root)
{
	if (pk_store_marks_find(marks, digest))
		return 1;
	if (marks->n == MAX_MARKS)
		return -ENOMEM;
	struct pk_store_mark *grown =
		reallocarray(marks->items, marks->n + 1, sizeof(*marks->items));
	if (!grown)
		return -ENOMEM;
	marks->items = grown;
	marks->items[marks->n++] = (struct pk_store_mark){.digest = *digest, .root = root};
	return 0;
}

// The blob's JSON when it is whole and is some: 0, else *json is NULL. -EBADMSG: not its bytes.
static int read_json(const struct pk_store *store, const struct pk_digest *digest, size_t max_bytes,
	json_t **json, struct pk_err *err)
{
	struct pk_digest found;
	pk_auto_buf struct pk_buf bytes;
	pk_buf_init(&bytes, max_bytes);
	*json = NULL;
	pk_auto_free char *path = pk_store_path(store, digest);
	if (!path)
		return pk_fail(err, -ENOMEM, "out of memory");
	int rc = pk_fs_read(path, max_bytes, &bytes, err);
	if (rc == -ENOENT || rc == -ENOMEM)
		return rc;
	if (rc == -EFBIG) // no manifest then
		return 0;
	if (rc < 0 || pk_digest_bytes(pk_buf_cstr(&bytes), bytes.len, &found) < 0 ||
		!pk_digest_equal(&found, digest))
		return pk_fail(err, -EBADMSG, "%s is not what its name says", path);
	rc = pk_json_parse(pk_buf_cstr(&bytes), bytes.len, "blob", json, err);
	return rc == -ENOMEM ? rc : 0;
}

static bool digest_of(const json_t *descriptor, struct pk_digest *out)
{
	const char *text = json_string_value(json_object_get(descriptor, "digest"));
	return text && pk_digest_parse(text, out) == 0;
}

static int mark_list(struct pk_store_marks *marks, const json_t *list)
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		struct pk_digest digest;
		if (digest_of(item, &digest) && mark(marks, &digest, false) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int mark_named(struct pk_store_marks *marks, const json_t *manifest)
{
	struct pk_digest digest;
	if (digest_of(json_object_get(manifest, "config"), &digest) &&
		mark(marks, &digest, false) < 0)
		return -ENOMEM;
	return mark_list(marks, json_object_get(manifest, "layers"));
}

static bool has_bad_copy(const struct pk_store *store, const struct pk_digest *digest)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	return faccessat(store->bad_fd, pk_store_hex(text), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void note_unreadable(struct pk_store_marks *marks, const struct pk_digest *digest)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	marks->incomplete = true;
	(void)pk_fail(&marks->why, -EBADMSG,
		"the manifest %s is damaged: what it names is not known until it is fetched again",
		text);
}

static int mark_below(struct pk_store_marks *marks, const struct pk_store *store,
	const struct pk_digest *digest, int depth, struct pk_err *err);

static int mark_index(struct pk_store_marks *marks, const struct pk_store *store,
	const json_t *index, int depth, struct pk_err *err)
{
	size_t i;
	json_t *item;
	const json_t *list = json_object_get(index, "manifests");
	int rc = mark_list(marks, list);
	json_array_foreach (list, i, item) {
		struct pk_digest digest;
		if (rc == 0 && digest_of(item, &digest))
			rc = mark_below(marks, store, &digest, depth + 1, err);
	}
	return rc;
}

static int mark_below(struct pk_store_marks *marks, const struct pk_store *store,
	const struct pk_digest *digest, int depth, struct pk_err *err)
{
	pk_auto_json json = NULL;
	if (depth == MAX_DEPTH)
		return 0;
	int rc = read_json(store, digest, PK_MANIFEST_MAX_BYTES, &json, err);
	if (rc == -ENOENT && !has_bad_copy(store, digest))
		return 0; // it was never fetched whole: the manifest goes last
	if (rc == -ENOENT || rc == -EBADMSG) {
		note_unreadable(marks, digest);
		return 0;
	}
	if (rc < 0 || !json)
		return rc;
	if (mark_named(marks, json) < 0)
		return pk_fail(err, -ENOMEM,
			"store: out of memory, or more than %d blobs are named", MAX_MARKS);
	return mark_index(marks, store, json, depth, err);
}

static bool is_marked(const struct pk_store_marks *marks, const json_t *descriptor)
{
	struct pk_digest digest;
	return digest_of(descriptor, &digest) && pk_store_marks_find(marks, &digest);
}

// A cosign signature names what it signs only within its payload.
static bool payload_signs(
	const struct pk_store_marks *marks, const struct pk_store *store, const json_t *layer)
{
	struct pk_digest digest;
	pk_auto_json payload = NULL;
	const char *type = json_string_value(json_object_get(layer, "mediaType"));
	if (!type || strcmp(type, simple_signing) != 0 || !digest_of(layer, &digest) ||
		read_json(store, &digest, MAX_SIGNATURE_BYTES, &payload, NULL) < 0)
		return false;
	const json_t *critical = json_object_get(payload, "critical");
	const json_t *image = json_object_get(critical, "image");
	const char *text = json_string_value(json_object_get(image, "docker-manifest-digest"));
	return text && pk_digest_parse(text, &digest) == 0 && pk_store_marks_find(marks, &digest);
}

static bool signs_marked(
	const struct pk_store_marks *marks, const struct pk_store *store, const json_t *manifest)
{
	size_t i;
	json_t *layer;
	if (is_marked(marks, json_object_get(manifest, "subject")))
		return true;
	json_array_foreach (json_object_get(manifest, "layers"), i, layer)
		if (payload_signs(marks, store, layer))
			return true;
	return false;
}

struct round {
	struct pk_store_marks *marks;
	const struct pk_store *store;
	struct pk_err *err;
	size_t n_found;
};

static int look_for_signature(void *ctx, const char *name, const struct stat *st)
{
	struct round *round = ctx;
	struct pk_digest digest;
	pk_auto_json json = NULL;
	if (!S_ISREG(st->st_mode) || st->st_size > MAX_SIGNATURE_BYTES ||
		pk_store_digest_of(name, &digest) < 0 || pk_store_marks_find(round->marks, &digest))
		return 0;
	int rc = read_json(round->store, &digest, MAX_SIGNATURE_BYTES, &json, round->err);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0 || !json || !signs_marked(round->marks, round->store, json))
		return 0;
	round->n_found++;
	if (mark(round->marks, &digest, false) < 0 || mark_named(round->marks, json) < 0)
		return pk_fail(round->err, -ENOMEM, "out of memory");
	return 0;
}

static int mark_signatures(
	struct pk_store_marks *marks, const struct pk_store *store, struct pk_err *err)
{
	for (int i = 0; i < MAX_SIGNATURE_ROUND; i++) {
		struct round round = {.marks = marks, .store = store, .err = err};
		int rc = pk_store_walk(store->blobs_fd, look_for_signature, &round, err);
		if (rc < 0 || round.n_found == 0)
			return rc;
	}
	return 0;
}

int pk_store_marks_make(struct pk_store_marks *marks, struct pk_store *store,
	const struct pk_store_roots *roots, struct pk_err *err)
{
	*marks = (struct pk_store_marks){0};
	for (size_t i = 0; i < roots->n; i++)
		if (mark(marks, &roots->manifests[i], true) < 0)
			return pk_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < roots->n; i++) {
		int rc = mark_below(marks, store, &roots->manifests[i], 0, err);
		if (rc < 0)
			return rc;
	}
	return mark_signatures(marks, store, err);
}
