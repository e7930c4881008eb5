// SPDX-License-Identifier: Apache-2.0
// Reading an OCI image layout: tags, links, odd files, and an index written by a liar.
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
#include "registry/descriptor.h"
#include "registry/layout.h"

#define HEX_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX_B "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ENTRY(type, hex, tag)                                                                      \
	"{\"mediaType\":\"application/vnd.oci.image." type ".v1+json\",\"digest\":\"sha256:" hex   \
	"\",\"size\":7,\"annotations\":{\"org.opencontainers.image.ref.name\":\"" tag "\"}}"
#define INDEX(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"

static int find(const char *text, const char *tag, struct pk_descriptor *out, struct pk_err *err)
{
	return pk_layout_find(text, strlen(text), tag, out, err);
}

static void test_find(void **state)
{
	static const char text[] = INDEX(ENTRY("manifest", HEX_A, "v1") "," ENTRY(
		"manifest", HEX_B, "stable") ",{\"other\":true}");
	struct pk_descriptor found;
	struct pk_err err = {0};
	assert_int_equal(find(text, "stable", &found, &err), 0);
	assert_string_equal(fixture_digest_text(&found.digest), "sha256:" HEX_B);
	assert_int_equal(found.size, 7);
	pk_descriptor_finish(&found);
}

static void test_find_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *why;
	} rows[] = {
		{INDEX(""), -ENOENT, "no tag 't'"},
		{INDEX(ENTRY("manifest", HEX_A, "v1") "," ENTRY("manifest", HEX_B, "v2")), -ENOENT,
			"it has: v1, v2"},
		{INDEX(ENTRY("manifest", HEX_A, "t") "," ENTRY("manifest", HEX_B, "t")), -EINVAL,
			"manifests[1]: the tag 't' is given to two manifests"},
		{"[]", -EINVAL, "index.json"},
		{"{}", -EINVAL, "manifests"},
		{"{\"manifests\":{}}", -EINVAL, "manifests"},
		{"{\"manifests\":[],\"manifests\":[]}", -EINVAL, "duplicate"},
		{INDEX("5"), -EINVAL, "manifests[0]: expected an object"},
		{INDEX("{\"annotations\":{\"org.opencontainers.image.ref.name\":\"t\"}}"), -EINVAL,
			"manifests[0]: mediaType"},
		{INDEX("{\"annotations\":7}"), -EINVAL, "annotations"},
		{INDEX(ENTRY("manifest", "zz", "t")), -EINVAL, "64 lower-case"},
		{INDEX(ENTRY("manifest", "../../../../etc/passwd", "t")), -EINVAL, "64 lower-case"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_descriptor found;
		struct pk_err err = {0};
		int rc = find(rows[i].text, "t", &found, &err);
		if (rc != rows[i].code || !strstr(err.text, rows[i].why))
			fail_msg("row %zu: %d, '%s'", i, rc, err.text);
		assert_null(found.media_type);
	}
}

static void test_same_digest_twice_is_fine(void **state)
{
	struct pk_descriptor found;
	struct pk_err err = {0};
	assert_int_equal(
		find(INDEX(ENTRY("manifest", HEX_A, "t") "," ENTRY("manifest", HEX_A, "t")), "t",
			&found, &err),
		0);
	pk_descriptor_finish(&found);
}

static int open_at(const struct fixture *fx, const char *suffix, struct pk_registry **registry,
	struct pk_err *err)
{
	char text[256];
	struct pk_ref ref;
	snprintf(text, sizeof(text), "oci:%s%s:t", fx->layout, suffix);
	assert_int_equal(pk_ref_parse(text, &ref, err), 0);
	int rc = pk_registry_open(&ref, NULL, registry, err);
	pk_ref_finish(&ref);
	return rc;
}

static void test_marker(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{"{\"imageLayoutVersion\":\"1.0.0\"}", 0},
		{" {\"imageLayoutVersion\":\"1.0.0\",\"x\":1}\n", 0},
		{"{\"imageLayoutVersion\":\"2.0.0\"}", -ENOTSUP},
		{"{\"imageLayoutVersion\":1}", -EINVAL},
		{"{}", -EINVAL},
		{"", -EINVAL},
		{"hello", -EINVAL},
	};
	struct fixture *fx = *state;
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_registry *registry = NULL;
		struct pk_err err = {0};
		fixture_write(
			fixture_path(fx, "layout/oci-layout"), rows[i].text, strlen(rows[i].text));
		int rc = open_at(fx, "", &registry, &err);
		if (rc != rows[i].code)
			fail_msg("row %zu: %d, '%s'", i, rc, err.text);
		pk_registry_close(registry);
	}
}

static void test_not_a_layout(void **state)
{
	struct fixture *fx = *state;
	struct pk_registry *registry = NULL;
	struct pk_err err = {0};
	assert_int_equal(open_at(fx, "-missing", &registry, &err), -ENOENT);
	assert_int_equal(open_at(fx, "/blobs", &registry, &err), -ENOENT);
	assert_non_null(strstr(err.text, "not an OCI image layout"));
	char *huge = calloc(1, PK_LAYOUT_MARKER_MAX + 1);
	fixture_write(fixture_path(fx, "layout/oci-layout"), huge, PK_LAYOUT_MARKER_MAX + 1);
	assert_int_equal(open_at(fx, "", &registry, &err), -EFBIG);
	free(huge);
	assert_null(registry);
}

static void test_linked_folders_are_refused(void **state)
{
	struct fixture *fx = *state;
	struct pk_registry *registry = NULL;
	struct pk_err err = {0};
	char blobs[200];
	snprintf(blobs, sizeof(blobs), "%s/blobs", fx->layout);
	assert_int_equal(rename(blobs, fixture_path(fx, "elsewhere")), 0);
	assert_int_equal(symlink(fixture_path(fx, "elsewhere"), blobs), 0);
	assert_true(open_at(fx, "", &registry, &err) < 0);
	assert_int_equal(unlink(blobs), 0);
	assert_int_equal(mkdir(blobs, 0755), 0);
	snprintf(blobs, sizeof(blobs), "%s/blobs/sha256", fx->layout);
	assert_int_equal(symlink(fixture_path(fx, "elsewhere/sha256"), blobs), 0);
	assert_true(open_at(fx, "", &registry, &err) < 0);
	assert_null(registry);
}

// Reads one blob of the layout straight through the implementers' door.
static int get_blob(struct fixture *fx, const struct pk_descriptor *blob, int64_t have,
	const struct pk_registry_watch *watch, struct pk_err *err)
{
	struct pk_ref ref = {.scheme = "oci", .location = fx->layout};
	void *impl = NULL;
	FILE *out = tmpfile();
	assert_non_null(out);
	assert_int_equal(pk_layout_ops.open(&ref, NULL, &impl, err), 0);
	pk_layout_ops.watch(impl, watch);
	int rc = pk_layout_ops.get_blob(impl, blob, fileno(out), have, err);
	pk_layout_ops.close(impl);
	fclose(out);
	return rc;
}

static void test_odd_blobs(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_descriptor blob = {.size = 6};
	const char *path = fixture_blob(fx, "abcdef", 6, &blob.digest);
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), 0);
	assert_int_equal(get_blob(fx, &blob, 6, NULL, &err), 0);
	blob.size = 5;
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -EBADMSG);
	blob.size = 7;
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "6 bytes instead of the 7"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -ENOENT);
	assert_int_equal(symlink("/dev/zero", path), 0); // endless
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "symbolic links are refused"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); // must not hang either
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a regular file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(get_blob(fx, &blob, 0, NULL, &err), -EINVAL);
}

static int stop(void *ctx, struct pk_err *err)
{
	++*(int *)ctx;
	return pk_fail(err, -ECANCELED, "enough");
}

static void test_watch_stops_the_transfer(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_descriptor blob = {.size = FIXTURE_ONNX_BYTES};
	int n_calls = 0;
	const struct pk_registry_watch watch = {.landed = stop, .ctx = &n_calls};
	fixture_artifact(fx, "t");
	blob.digest = fx->onnx;
	assert_int_equal(get_blob(fx, &blob, 0, &watch, &err), -ECANCELED);
	assert_int_equal(n_calls, 1);
}

// A huge sparse file under the name of a manifest: refused by its size, not read.
static void test_endless_manifest(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_resolved resolved = {0};
	char text[256];
	fixture_artifact(fx, "t");
	assert_int_equal(truncate(fixture_blob_path(fx, &fx->manifest), INT64_C(1) << 33), 0);
	snprintf(text, sizeof(text), "oci:%s:t", fx->layout);
	assert_int_equal(pk_resolve(text, NULL, &resolved, &err), -EFBIG);
	snprintf(text, sizeof(text), "oci:%s@%s", fx->layout, fixture_digest_text(&fx->manifest));
	assert_int_equal(pk_resolve(text, NULL, &resolved, &err), -EFBIG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_refused),
		cmocka_unit_test(test_same_digest_twice_is_fine),
		TEST(test_marker),
		TEST(test_not_a_layout),
		TEST(test_linked_folders_are_refused),
		TEST(test_odd_blobs),
		TEST(test_watch_stops_the_transfer),
		TEST(test_endless_manifest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
