// SPDX-License-Identifier: Apache-2.0
// Pulling an artifact into the store: what is missing, resumed, verified, the manifest last.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "registry/media_type.h"
#include "registry/registry_private.h"

// One pull: what is under way and how far it is.
struct pull {
	struct pk_registry *registry;
	struct pk_store *store;
	const struct pk_pull_progress *progress; // or NULL
	struct pk_store_write *write;            // the blob under way
	int64_t done_bytes;                      // of blobs that are finished
	int64_t total_bytes;
};

static int report(const struct pull *pull, int64_t under_way_bytes, struct pk_err *err)
{
	const struct pk_pull_progress *progress = pull->progress;
	if (!progress || !progress->update)
		return 0;
	int64_t done = pull->done_bytes + under_way_bytes;
	if (progress->update(progress->ctx, done, pull->total_bytes) == 0)
		return 0;
	return pk_fail(err, -ECANCELED, "cancelled");
}

static void report_blob(
	const struct pull *pull, const char *name, const struct pk_descriptor *blob, bool fetched)
{
	if (pull->progress && pull->progress->blob)
		pull->progress->blob(pull->progress->ctx, name, blob, fetched);
}

static int landed(void *ctx, struct pk_err *err)
{
	struct pull *pull = ctx;
	int rc = pk_store_write_advance(pull->write, err);
	if (rc < 0)
		return rc;
	return report(pull, pk_store_write_have(pull->write), err);
}

// Bytes into the partial file that pull->write stands for.
static int transfer(struct pull *pull, const struct pk_descriptor *blob, struct pk_err *err)
{
	const struct pk_registry_watch watch = {.landed = landed, .ctx = pull};
	const struct pk_registry *registry = pull->registry;
	int64_t have = pk_store_write_have(pull->write);
	int rc = report(pull, have, err);
	if (rc < 0 || have == blob->size)
		return rc;
	registry->ops->watch(registry->impl, &watch);
	rc = registry->ops->get_blob(
		registry->impl, blob, pk_store_write_fd(pull->write), have, err);
	registry->ops->watch(registry->impl, NULL);
	return rc;
}

// *resumed: the blob was continued from an earlier attempt's bytes.
static int fetch_once(
	struct pull *pull, const struct pk_descriptor *blob, bool *resumed, struct pk_err *err)
{
	int rc = pk_store_begin(pull->store, &blob->digest, blob->size, &pull->write, err);
	if (rc < 0)
		return rc;
	*resumed = pk_store_write_have(pull->write) > 0;
	rc = transfer(pull, blob, err);
	struct pk_store_write *write = pk_steal(pull->write);
	if (rc == 0)
		return pk_store_finish(write, err);
	// Wrong bytes are worth nothing; of a cut transfer the next attempt goes on.
	if (rc == -EBADMSG)
		pk_store_discard(write);
	else
		pk_store_abort(write);
	return rc;
}

static bool is_empty_blob(const struct pk_descriptor *blob)
{
	struct pk_digest empty;
	return blob->size == (int64_t)strlen(PK_EMPTY_TEXT) &&
	       pk_digest_parse(PK_EMPTY_DIGEST, &empty) == 0 &&
	       pk_digest_equal(&blob->digest, &empty);
}

static int fetch(struct pull *pull, const struct pk_descriptor *blob, struct pk_err *err)
{
	if (is_empty_blob(blob))
		return pk_store_put(
			pull->store, &blob->digest, PK_EMPTY_TEXT, strlen(PK_EMPTY_TEXT), err);
	bool resumed = false;
	int rc = fetch_once(pull, blob, &resumed, err);
	// The prefix of an earlier attempt may be at fault (a power cut), or a mirror.
	if (rc == -EBADMSG && resumed)
		rc = fetch_once(pull, blob, &resumed, err);
	while (rc == -EBADMSG && pk_registry_distrust(pull->registry))
		rc = fetch_once(pull, blob, &resumed, err);
	return rc;
}

static int ensure_blob(
	struct pull *pull, const char *name, const struct pk_descriptor *blob, struct pk_err *err)
{
	bool there = pk_store_has(pull->store, &blob->digest, blob->size);
	if (!there) {
		int rc = fetch(pull, blob, err);
		if (rc < 0) {
			pk_err_prefix(err, "%s", name ? name : "layer");
			return rc;
		}
		pull->done_bytes += blob->size;
	}
	report_blob(pull, name, blob, !there);
	return 0;
}

// Config first, then the layers: every blob that the manifest names.
static const struct pk_descriptor *nth_blob(const struct pk_manifest *manifest, size_t i)
{
	return i == 0 ? &manifest->config : &manifest->layers[i - 1];
}

static bool named_before(const struct pk_manifest *manifest, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (pk_digest_equal(&nth_blob(manifest, j)->digest, &nth_blob(manifest, i)->digest))
			return true;
	return false;
}

// Bytes to come, and the room that they need; parts of the sum that the manifest's parser has
// checked for overflow.
static int64_t missing_bytes(
	const struct pull *pull, const struct pk_manifest *manifest, int64_t *room_bytes)
{
	int64_t sum = 0;
	*room_bytes = 0;
	for (size_t i = 0; i <= manifest->n_layers; i++) {
		const struct pk_descriptor *blob = nth_blob(manifest, i);
		if (named_before(manifest, i) ||
			pk_store_has(pull->store, &blob->digest, blob->size))
			continue;
		sum += blob->size;
		*room_bytes += pk_store_need_bytes(pull->store, &blob->digest, blob->size);
	}
	return sum;
}

// The manifest goes last: once it is in the store, everything that it names is.
static int store_manifest(struct pull *pull, const struct pk_manifest *manifest,
	const struct pk_buf *bytes, struct pk_err *err)
{
	const struct pk_descriptor self = {
		.media_type = (char[]){PK_MEDIA_MANIFEST},
		.digest = manifest->digest,
		.size = (int64_t)bytes->len,
	};
	bool there = pk_store_has(pull->store, &self.digest, self.size);
	if (!there) {
		int rc = pk_store_put(
			pull->store, &self.digest, pk_buf_cstr(bytes), bytes->len, err);
		if (rc < 0)
			return rc;
	}
	report_blob(pull, "manifest", &self, !there);
	return 0;
}

static int pull_all(struct pull *pull, const struct pk_manifest *manifest,
	const struct pk_buf *bytes, struct pk_err *err)
{
	int64_t need;
	pull->total_bytes = missing_bytes(pull, manifest, &need);
	if (pk_add_overflow(need, (int64_t)bytes->len, &need) ||
		pk_add_overflow(
			need, pk_store_engine_bytes(pull->store, manifest->total_size), &need))
		need = INT64_MAX;
	int rc = pull->total_bytes > 0 ? pk_store_room(pull->store, need, err) : 0;
	for (size_t i = 0; rc == 0 && i <= manifest->n_layers; i++) {
		const struct pk_descriptor *blob = nth_blob(manifest, i);
		rc = ensure_blob(pull, i == 0 ? "config" : blob->title, blob, err);
	}
	return rc < 0 ? rc : store_manifest(pull, manifest, bytes, err);
}

static int check_size(
	const struct pk_registry *registry, const struct pk_manifest *manifest, struct pk_err *err)
{
	int64_t max = registry->options->artifact_max_bytes;
	if (max <= 0 || manifest->total_size <= max)
		return 0;
	return pk_fail(err, -EFBIG,
		"the artifact has %" PRId64 " bytes, at most %" PRId64 " are allowed",
		manifest->total_size, max);
}

static int pull_ref(
	const struct pk_ref *ref, struct pull *pull, struct pk_manifest **out, struct pk_err *err)
{
	struct pk_buf bytes pk_auto_buf;
	pk_auto(pk_manifest) manifest = NULL;
	struct pk_resolved resolved = {0};
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	int rc = pk_registry_get(pull->registry, ref, &resolved, &bytes, err);
	if (rc == 0)
		rc = pk_manifest_parse(pk_buf_cstr(&bytes), bytes.len, &manifest, err);
	if (rc == 0)
		rc = check_size(pull->registry, manifest, err);
	if (rc == 0)
		rc = pull_all(pull, manifest, &bytes, err);
	if (rc == 0)
		*out = pk_steal(manifest);
	return rc;
}

int pk_pull(const char *ref_text, const struct pk_registry_options *options, struct pk_store *store,
	const struct pk_pull_progress *progress, struct pk_manifest **manifest, struct pk_err *err)
{
	struct pk_ref ref;
	pk_auto(pk_registry) registry = NULL;
	*manifest = NULL;
	int rc = pk_ref_parse(ref_text, &ref, err);
	if (rc < 0)
		return rc;
	rc = pk_registry_open(&ref, options, &registry, err);
	if (rc == 0) {
		struct pull pull = {.registry = registry, .store = store, .progress = progress};
		rc = pull_ref(&ref, &pull, manifest, err);
	}
	pk_ref_finish(&ref);
	if (rc < 0)
		pk_err_prefix(err, "%s", ref_text);
	return rc;
}
