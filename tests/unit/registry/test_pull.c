// SPDX-License-Identifier: Apache-2.0
// Pulling an artifact: whole, again, after an interruption, and from a folder that lies.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/fs.h"
#include "fixture.h"
#include "registry/registry.h"

struct record {
	int n_fetched, n_present, n_updates;
	int cancel_at; // update call, from 1; 0: never
	int64_t first_done, last_done, total;
	char names[200];
};

static int on_update(void *ctx, int64_t done_bytes, int64_t total_bytes)
{
	struct record *record = ctx;
	if (record->n_updates++ == 0)
		record->first_done = done_bytes;
	assert_true(done_bytes >= 0 && done_bytes <= total_bytes);
	record->last_done = done_bytes;
	record->total = total_bytes;
	return record->n_updates == record->cancel_at;
}

static void on_blob(void *ctx, const char *name, const struct pk_descriptor *blob, bool fetched)
{
	struct record *record = ctx;
	*(fetched ? &record->n_fetched : &record->n_present) += 1;
	size_t n = strlen(record->names);
	snprintf(record->names + n, sizeof(record->names) - n, "%s ", name ? name : "-");
	assert_true(blob->size > 0);
}

static struct pk_pull_progress watch(struct record *record)
{
	return (struct pk_pull_progress){.update = on_update, .ctx = record, .blob = on_blob};
}

static const char *by_tag(const struct fixture *fx)
{
	static char text[256];
	snprintf(text, sizeof(text), "oci:%s:stable", fx->layout);
	return text;
}

static const char *by_digest(const struct fixture *fx)
{
	static char text[256];
	snprintf(text, sizeof(text), "oci:%s@%s", fx->layout, fixture_digest_text(&fx->manifest));
	return text;
}

static void pull_ok(struct fixture *fx, const char *ref, struct record *record)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	struct pk_pull_progress progress = watch(record);
	if (pk_pull(ref, NULL, fx->store, &progress, &manifest, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(pk_digest_equal(&manifest->digest, &fx->manifest));
	assert_int_equal(pk_store_verify(fx->store, &manifest->digest, &err), 0);
	assert_int_equal(pk_store_verify(fx->store, &manifest->config.digest, &err), 0);
	for (size_t i = 0; i < manifest->n_layers; i++)
		assert_int_equal(pk_store_verify(fx->store, &manifest->layers[i].digest, &err), 0);
	pk_manifest_destroy(manifest);
}

static void pull_fails(struct fixture *fx, const char *ref, int code, const char *why)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	int rc = pk_pull(ref, NULL, fx->store, NULL, &manifest, &err);
	if (rc != code || !strstr(err.text, why))
		fail_msg("%d, '%s' instead of %d, '%s'", rc, err.text, code, why);
	assert_null(manifest);
	assert_false(pk_store_has(fx->store, &fx->manifest, -1)); // names nothing that is missing
}

static void test_whole(void **state)
{
	struct fixture *fx = *state;
	struct record record = {0};
	struct pk_err err = {0};
	struct pk_resolved resolved = {0};
	fixture_artifact(fx, "stable");
	assert_int_equal(pk_resolve(by_tag(fx), NULL, &resolved, &err), 0);
	assert_true(pk_digest_equal(&resolved.digest, &fx->manifest));
	pull_ok(fx, by_tag(fx), &record);
	assert_int_equal(record.n_fetched, 4);
	assert_int_equal(record.n_present, 0);
	assert_string_equal(record.names, "config model.onnx card.yaml manifest ");
	assert_true(record.n_updates > 3);
	assert_int_equal(record.last_done, record.total);
	assert_true(record.total > FIXTURE_ONNX_BYTES);
}

static void test_again_fetches_nothing(void **state)
{
	struct fixture *fx = *state;
	struct record record = {0};
	fixture_artifact(fx, "stable");
	pull_ok(fx, by_tag(fx), &record);
	// The blobs are gone from the registry, the manifest is not: nothing may be asked for.
	assert_int_equal(unlink(fixture_blob_path(fx, &fx->onnx)), 0);
	assert_int_equal(unlink(fixture_blob_path(fx, &fx->card)), 0);
	record = (struct record){0};
	pull_ok(fx, by_tag(fx), &record);
	assert_int_equal(record.n_fetched, 0);
	assert_int_equal(record.n_present, 4);
	assert_int_equal(record.n_updates, 0);
	record = (struct record){0};
	pull_ok(fx, by_digest(fx), &record);
	assert_int_equal(record.n_fetched, 0);
}

static void test_shared_blobs_are_fetched_once(void **state)
{
	struct fixture *fx = *state;
	char text[1024];
	struct record record = {0};
	fixture_artifact(fx, "stable");
	pull_ok(fx, by_tag(fx), &record);
	// Another manifest with the same model, listed twice, and the card once more.
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,\"artifactType\":\"a/b\",\"config\":{\"mediaType\":"
		"\"application/vnd.oci.empty.v1+json\",\"digest\":\"sha256:"
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",\"size\":2},"
		"\"layers\":[{\"mediaType\":\"a/b\",\"digest\":\"%s\",\"size\":%d},"
		"{\"mediaType\":\"a/b\",\"digest\":\"%s\",\"size\":%d}]}",
		fixture_digest_text(&fx->onnx), FIXTURE_ONNX_BYTES, fixture_digest_text(&fx->onnx),
		FIXTURE_ONNX_BYTES);
	fixture_manifest(fx, text, "stable");
	record = (struct record){0};
	pull_ok(fx, by_tag(fx), &record); // the empty config is known without a fetch
	assert_int_equal(record.n_fetched, 2);
	assert_int_equal(record.n_present, 2);
}

static void test_tag_moves(void **state)
{
	struct fixture *fx = *state;
	struct record record = {0};
	fixture_artifact(fx, "stable");
	pull_ok(fx, by_tag(fx), &record);
	struct pk_digest old = fx->manifest;
	char *text = fixture_read(fixture_blob_path(fx, &old), NULL);
	char *version = strstr(text, "1.4.0");
	assert_non_null(version);
	version[0] = '2';
	fixture_manifest(fx, text, "stable");
	free(text);
	assert_false(pk_digest_equal(&old, &fx->manifest));
	record = (struct record){0};
	pull_ok(fx, by_tag(fx), &record);
	assert_int_equal(record.n_fetched, 1); // the manifest
	fx->manifest = old;
	pull_ok(fx, by_digest(fx), &record); // the old one still goes by its digest
}

static void test_digest_wins_over_tag(void **state)
{
	struct fixture *fx = *state;
	struct record record = {0};
	char text[256];
	fixture_artifact(fx, "stable");
	snprintf(text, sizeof(text), "oci:%s:nosuchtag@%s", fx->layout,
		fixture_digest_text(&fx->manifest));
	pull_ok(fx, text, &record);
}

static void test_cancel_and_resume(void **state)
{
	struct fixture *fx = *state;
	struct record record = {.cancel_at = 4};
	struct pk_pull_progress progress = watch(&record);
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	fixture_artifact(fx, "stable");
	int rc = pk_pull(by_tag(fx), NULL, fx->store, &progress, &manifest, &err);
	assert_int_equal(rc, -ECANCELED);
	assert_null(manifest);
	int64_t have = pk_fs_size(fixture_part_path(fx, &fx->onnx));
	assert_true(have > 0 && have < FIXTURE_ONNX_BYTES);
	record = (struct record){0};
	pull_ok(fx, by_tag(fx), &record);
	assert_int_equal(record.first_done, have); // what was there counts as done
	assert_int_equal(record.last_done, record.total);
}

static void test_wrong_prefix_is_fetched_anew(void **state)
{
	struct fixture *fx = *state;
	struct record record = {0};
	fixture_artifact(fx, "stable");
	uint8_t *zeros = calloc(1, 300000); // what a power cut may leave
	assert_non_null(zeros);
	fixture_write(fixture_part_path(fx, &fx->onnx), zeros, 300000);
	free(zeros);
	pull_ok(fx, by_tag(fx), &record);
	assert_int_equal(record.n_fetched, 4);
}

static void test_corrupt_blob(void **state)
{
	struct fixture *fx = *state;
	static const long places[] = {0, FIXTURE_ONNX_BYTES / 2, FIXTURE_ONNX_BYTES - 1};
	fixture_artifact(fx, "stable");
	for (size_t i = 0; i < PK_ARRAY_LEN(places); i++) {
		fixture_flip(fixture_blob_path(fx, &fx->onnx), places[i]);
		pull_fails(fx, by_tag(fx), -EBADMSG, "model.onnx: sha256:");
		assert_false(pk_store_has(fx->store, &fx->onnx, -1));
		assert_false(pk_fs_exists(fixture_part_path(fx, &fx->onnx)));
		fixture_flip(fixture_blob_path(fx, &fx->onnx), places[i]);
	}
	struct record record = {0};
	pull_ok(fx, by_tag(fx), &record); // the lie did no lasting harm
}

static void test_truncated_longer_and_missing_blob(void **state)
{
	struct fixture *fx = *state;
	fixture_artifact(fx, "stable");
	const char *path = fixture_blob_path(fx, &fx->onnx);
	char kept[256];
	snprintf(kept, sizeof(kept), "%s", path);
	assert_int_equal(truncate(kept, FIXTURE_ONNX_BYTES - 1), 0);
	pull_fails(fx, by_tag(fx), -EBADMSG, "700000 bytes instead of the 700001");
	assert_int_equal(truncate(kept, FIXTURE_ONNX_BYTES + 1), 0);
	pull_fails(fx, by_tag(fx), -EBADMSG, "700002 bytes instead of the 700001");
	assert_int_equal(truncate(kept, 0), 0);
	pull_fails(fx, by_tag(fx), -EBADMSG, "0 bytes instead of");
	assert_int_equal(unlink(kept), 0);
	pull_fails(fx, by_tag(fx), -ENOENT, "model.onnx");
	assert_int_equal(symlink("/dev/zero", kept), 0);
	pull_fails(fx, by_tag(fx), -EINVAL, "symbolic links");
}

static void test_corrupt_manifest(void **state)
{
	struct fixture *fx = *state;
	char kept[256];
	fixture_artifact(fx, "stable");
	snprintf(kept, sizeof(kept), "%s", fixture_blob_path(fx, &fx->manifest));
	int64_t size = pk_fs_size(kept);
	fixture_flip(kept, (long)size / 2);
	pull_fails(fx, by_tag(fx), -EBADMSG, "do not match the digest");
	pull_fails(fx, by_digest(fx), -EBADMSG, "do not match the digest");
	fixture_flip(kept, (long)size / 2);
	assert_int_equal(truncate(kept, size - 1), 0);
	pull_fails(fx, by_tag(fx), -EBADMSG, "instead of the");
	pull_fails(fx, by_digest(fx), -EBADMSG, "do not match the digest");
	assert_int_equal(truncate(kept, size + 1), 0);
	pull_fails(fx, by_tag(fx), -EBADMSG, "instead of the");
	pull_fails(fx, by_digest(fx), -EBADMSG, "do not match the digest");
	assert_int_equal(unlink(kept), 0);
	pull_fails(fx, by_tag(fx), -ENOENT, "manifest");
	pull_fails(fx, by_digest(fx), -ENOENT, "manifest");
	int64_t used = -1;
	struct pk_err err = {0};
	assert_int_equal(pk_store_usage(fx->store, &used, &err), 0);
	assert_int_equal(used, 0); // nothing was written for a manifest that lies
}

// The manifest itself is sound, but gives the wrong size for a blob.
static void test_wrong_size_in_descriptor(void **state)
{
	struct fixture *fx = *state;
	static const char *const sizes[] = {"700000", "700002"};
	fixture_artifact(fx, "stable");
	char *text = fixture_read(fixture_blob_path(fx, &fx->manifest), NULL);
	for (size_t i = 0; i < PK_ARRAY_LEN(sizes); i++) {
		char *size = strstr(text, i == 0 ? "700001" : sizes[i - 1]);
		assert_non_null(size);
		memcpy(size, sizes[i], strlen(sizes[i]));
		fixture_manifest(fx, text, "stable");
		pull_fails(fx, by_tag(fx), -EBADMSG, "700001 bytes instead of the");
	}
	free(text);
}

static void test_hostile_texts(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"schemaVersion\":2}",
		"\xff\xfe",
		"{\"a\":1,\"a\":2}",
		"nul",
	};
	struct fixture *fx = *state;
	for (size_t i = 0; i < PK_ARRAY_LEN(texts); i++) {
		fixture_manifest(fx, texts[i], "stable");
		pull_fails(fx, by_tag(fx), -EINVAL, "manifest: ");
		fixture_index(fx, texts[i]);
		pull_fails(fx, by_tag(fx), -EINVAL, "index.json");
	}
	pull_fails(fx, "oci:/x", -EINVAL, "neither a tag nor a digest");
	pull_fails(fx, "models/x:y", -EINVAL, "names no host");
}

static void test_unknown_tag(void **state)
{
	struct fixture *fx = *state;
	fixture_artifact(fx, "v1");
	pull_fails(fx, by_tag(fx), -ENOENT, "no tag 'stable'; it has: v1");
}

static void test_quota(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	int64_t used = -1;
	fixture_artifact(fx, "stable");
	pk_store_close(fx->store);
	fx->store = NULL;
	assert_int_equal(pk_store_open(fx->store_root, 700100, &fx->store, &err), 0);
	pull_fails(fx, by_tag(fx), -ENOSPC, "quota of 700100 bytes");
	assert_int_equal(pk_store_usage(fx->store, &used, &err), 0);
	assert_int_equal(used, 0); // refused before the first byte
	pk_store_close(fx->store);
	fx->store = NULL;
	assert_int_equal(pk_store_open(fx->store_root, 710000, &fx->store, &err), 0);
	struct record record = {0};
	pull_ok(fx, by_tag(fx), &record);
	pull_ok(fx, by_tag(fx), &record); // nothing more is needed
}

static void test_no_progress_wanted(void **state)
{
	struct fixture *fx = *state;
	struct pk_manifest *manifest = NULL;
	fixture_artifact(fx, "stable");
	assert_int_equal(pk_pull(by_tag(fx), NULL, fx->store, NULL, &manifest, NULL), 0);
	assert_string_equal(manifest->version, "1.4.0");
	assert_non_null(pk_manifest_onnx(manifest));
	pk_manifest_destroy(manifest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_whole),
		TEST(test_again_fetches_nothing),
		TEST(test_shared_blobs_are_fetched_once),
		TEST(test_tag_moves),
		TEST(test_digest_wins_over_tag),
		TEST(test_cancel_and_resume),
		TEST(test_wrong_prefix_is_fetched_anew),
		TEST(test_corrupt_blob),
		TEST(test_truncated_longer_and_missing_blob),
		TEST(test_corrupt_manifest),
		TEST(test_wrong_size_in_descriptor),
		TEST(test_hostile_texts),
		TEST(test_unknown_tag),
		TEST(test_quota),
		TEST(test_no_progress_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
