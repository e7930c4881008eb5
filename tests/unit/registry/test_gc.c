// SPDX-License-Identifier: Apache-2.0
// Cleaning and checking: what stays, what goes, what is found.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/fsops.h"
#include "base/record.h"
#include "fixture.h"
#include "registry/gc.h"
#include "registry/registry.h"

#define DAY_S (24 * 3600)

static void must(int rc, const struct pk_err *err)
{
	if (rc < 0)
		fail_msg("%s", pk_err_text(err, rc));
}

static struct pk_digest put(struct fixture *fx, const char *text)
{
	struct pk_digest digest;
	struct pk_err err = {0};
	assert_int_equal(pk_digest_bytes(text, strlen(text), &digest), 0);
	must(pk_store_put(fx->store, &digest, text, strlen(text), &err), &err);
	return digest;
}

static void pull(struct fixture *fx)
{
	char ref[256];
	struct pk_err err = {0};
	struct pk_manifest *manifest = NULL;
	fixture_artifact(fx, "stable");
	snprintf(ref, sizeof(ref), "oci:%s:stable", fx->layout);
	must(pk_pull(ref, NULL, fx->store, NULL, &manifest, &err), &err);
	pk_manifest_destroy(manifest);
}

static struct pk_store_roots roots_of(const struct pk_digest *manifest)
{
	struct pk_store_roots roots = {0};
	assert_int_equal(pk_store_roots_add(&roots, manifest), 0);
	assert_int_equal(pk_store_roots_add(&roots, manifest), 0);
	assert_int_equal(roots.n, 1);
	return roots;
}

static struct pk_store_gc_report clean(
	struct fixture *fx, const struct pk_store_roots *roots, bool dry_run)
{
	struct pk_store_gc_report report;
	struct pk_err err = {0};
	must(pk_store_gc(fx->store, roots, dry_run, &report, &err), &err);
	return report;
}

static bool has(struct fixture *fx, const struct pk_digest *digest)
{
	return pk_store_has(fx->store, digest, -1);
}

static void assert_whole(struct fixture *fx)
{
	assert_true(has(fx, &fx->manifest) && has(fx, &fx->onnx) && has(fx, &fx->card) &&
		    has(fx, &fx->config));
}

static void test_only_garbage_goes(void **state)
{
	struct fixture *fx = *state;
	pull(fx);
	struct pk_digest garbage = put(fx, "nobody names this");
	struct pk_store_roots roots = roots_of(&fx->manifest);
	struct pk_store_gc_report report = clean(fx, &roots, true);
	assert_int_equal(report.blobs.n_files, 1);
	assert_int_equal(report.blobs.bytes, strlen("nobody names this"));
	assert_int_equal(report.kept.n_files, 4);
	assert_true(has(fx, &garbage)); // only counted
	report = clean(fx, &roots, false);
	assert_int_equal(report.blobs.n_files, 1);
	assert_false(has(fx, &garbage));
	assert_whole(fx);
	report = clean(fx, &roots, false);
	assert_int_equal(report.blobs.n_files, 0);
	assert_whole(fx);
	pk_store_roots_finish(&roots);
	report = clean(fx, &roots, false);
	assert_int_equal(report.blobs.n_files, 4);
}

static void test_signatures_stay(void **state)
{
	struct fixture *fx = *state;
	char text[1024];
	pull(fx);
	struct pk_digest bundle = put(fx, "{\"dsse\":1}");
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,\"layers\":[{\"mediaType\":\"x\",\"digest\":\"%s\",\"size\":"
		"10}],"
		"\"subject\":{\"digest\":\"%s\"}}",
		fixture_digest_text(&bundle), fixture_digest_text(&fx->manifest));
	struct pk_digest referrer = put(fx, text);
	snprintf(text, sizeof(text),
		"{\"critical\":{\"image\":{\"docker-manifest-digest\":\"%s\"}}}",
		fixture_digest_text(&fx->manifest));
	struct pk_digest payload = put(fx, text);
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,\"layers\":[{\"mediaType\":"
		"\"application/vnd.dev.cosign.simplesigning.v1+json\",\"digest\":\"%s\"}]}",
		fixture_digest_text(&payload));
	struct pk_digest cosign = put(fx, text);
	snprintf(text, sizeof(text), "{\"subject\":{\"digest\":\"%s\"}}",
		fixture_digest_text(&referrer)); // a signature of a signature
	struct pk_digest second = put(fx, text);
	snprintf(text, sizeof(text), "{\"subject\":{\"digest\":\"sha256:%064d\"}}", 7);
	struct pk_digest foreign = put(fx, text); // signs something that is not kept
	struct pk_store_roots roots = roots_of(&fx->manifest);
	clean(fx, &roots, false);
	assert_true(has(fx, &bundle) && has(fx, &referrer) && has(fx, &payload) &&
		    has(fx, &cosign) && has(fx, &second));
	assert_false(has(fx, &foreign));
	assert_whole(fx);
	pk_store_roots_finish(&roots);
}

static void test_index_keeps_its_manifests(void **state)
{
	struct fixture *fx = *state;
	char text[512];
	pull(fx);
	snprintf(text, sizeof(text), "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"%s\"}]}",
		fixture_digest_text(&fx->manifest));
	struct pk_digest index = put(fx, text);
	struct pk_store_roots roots = roots_of(&index);
	clean(fx, &roots, false);
	assert_true(has(fx, &index));
	assert_whole(fx);
	pk_store_roots_finish(&roots);
}

static void damage(struct fixture *fx, const struct pk_digest *digest)
{
	assert_int_equal(chmod(fixture_store_path(fx, digest), 0600), 0);
	fixture_flip(fixture_store_path(fx, digest), 5);
}

// A manifest that cannot be read says nothing of its layers: they must not go.
static void test_damaged_manifest_keeps_everything(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	pull(fx);
	put(fx, "garbage");
	struct pk_store_roots roots = roots_of(&fx->manifest);
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			damage(fx, &fx->manifest);
		else // moved aside
			assert_int_equal(pk_store_verify(fx->store, &fx->manifest, &err), -EBADMSG);
		struct pk_store_gc_report report = clean(fx, &roots, false);
		assert_true(report.incomplete);
		assert_non_null(strstr(report.why.text, fixture_digest_text(&fx->manifest)));
		assert_int_equal(report.blobs.n_files, 0);
		assert_true(has(fx, &fx->onnx));
	}
	pull(fx); // fetched again: known again
	struct pk_store_gc_report report = clean(fx, &roots, false);
	assert_false(report.incomplete);
	assert_int_equal(report.blobs.n_files, 1);
	assert_whole(fx);
	pk_store_roots_finish(&roots);
}

static void make_old(const char *path, int days)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - days * DAY_S}};
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_old_parts_go(void **state)
{
	struct fixture *fx = *state;
	struct pk_store_roots none = {0};
	struct pk_digest young, old;
	assert_int_equal(pk_digest_bytes("a", 1, &young), 0);
	assert_int_equal(pk_digest_bytes("b", 1, &old), 0);
	fixture_write(fixture_part_path(fx, &young), "x", 1);
	fixture_write(fixture_part_path(fx, &old), "xy", 2);
	make_old(fixture_part_path(fx, &young), 6);
	make_old(fixture_part_path(fx, &old), 8);
	assert_int_equal(clean(fx, &none, true).parts.bytes, 2);
	assert_int_equal(clean(fx, &none, false).parts.n_files, 1);
	assert_true(pk_fs_exists(fixture_part_path(fx, &young)));
	assert_false(pk_fs_exists(fixture_part_path(fx, &old)));
}

static void test_part_that_is_written_stays(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_roots none = {0};
	struct pk_store_write *write = NULL;
	struct pk_digest digest;
	assert_int_equal(pk_digest_bytes("b", 1, &digest), 0);
	must(pk_store_begin(fx->store, &digest, 1, &write, &err), &err);
	make_old(fixture_part_path(fx, &digest), 30);
	assert_int_equal(clean(fx, &none, false).parts.n_files, 0);
	assert_true(pk_fs_exists(fixture_part_path(fx, &digest)));
	pk_store_abort(write);
	make_old(fixture_part_path(fx, &digest), 30);
	pk_store_close(fx->store);
	must(pk_store_open(fx->store_root, 0, &fx->store, &err), &err); // also on opening
	assert_false(pk_fs_exists(fixture_part_path(fx, &digest)));
}

static void test_cleaning_is_alone(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_roots none = {0};
	struct pk_store_gc_report report;
	struct pk_store *other = NULL;
	must(pk_store_open(fx->store_root, 0, &other, &err), &err); // fetching is not
	assert_int_equal(pk_store_gc(fx->store, &none, false, &report, &err), -EBUSY);
	assert_non_null(strstr(err.text, "in use"));
	must(pk_store_gc(fx->store, &none, true, &report, &err), &err); // counting may
	pk_store_close(other);
	must(pk_store_gc(fx->store, &none, false, &report, &err), &err);
	must(pk_store_open(fx->store_root, 0, &other, &err), &err); // and it lets go again
	pk_store_close(other);
}

struct findings {
	int n[PK_N_STORE_FINDINGS];
	int64_t last_done;
	char names[PK_N_STORE_FINDINGS][100];
};

static int on_found(void *ctx, enum pk_store_finding finding, const char *name, int64_t size)
{
	struct findings *findings = ctx;
	findings->n[finding]++;
	assert_true(finding == PK_STORE_MISSING ? size == -1 : size >= 0);
	snprintf(findings->names[finding], 100, "%s", name);
	return 0;
}

static int on_progress(void *ctx, int64_t done, int64_t total)
{
	struct findings *findings = ctx;
	assert_true(done >= findings->last_done && done <= total);
	findings->last_done = done;
	return 0;
}

static void test_fsck(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_fsck_report report;
	struct findings findings = {0};
	const struct pk_store_fsck_watch watch = {
		.found = on_found, .progress = on_progress, .ctx = &findings};
	pull(fx);
	struct pk_store_roots roots = roots_of(&fx->manifest);
	must(pk_store_fsck(fx->store, &roots, &watch, &report, &err), &err);
	assert_int_equal(report.n[PK_STORE_OK], 4);
	assert_int_equal(report.n[PK_STORE_BAD] + report.n[PK_STORE_MISSING], 0);
	pk_store_fsck_report_finish(&report);
	damage(fx, &fx->onnx);
	assert_int_equal(unlink(fixture_store_path(fx, &fx->card)), 0);
	fixture_write(fixture_path(fx, "store/blobs/sha256/README"), "x", 1);
	findings = (struct findings){0};
	must(pk_store_fsck(fx->store, &roots, &watch, &report, &err), &err);
	assert_int_equal(report.n[PK_STORE_OK], 2);
	assert_int_equal(report.n[PK_STORE_BAD], 1);
	assert_int_equal(report.n[PK_STORE_FOREIGN], 1);
	assert_int_equal(report.n[PK_STORE_MISSING], 2);
	assert_memory_equal(report.n, findings.n, sizeof(report.n));
	assert_string_equal(findings.names[PK_STORE_FOREIGN], "README");
	assert_string_equal(
		findings.names[PK_STORE_BAD], fixture_digest_text(&fx->onnx) + strlen("sha256:"));
	bool onnx = pk_digest_equal(&report.missing[0], &fx->onnx) ||
		    pk_digest_equal(&report.missing[1], &fx->onnx);
	bool card = pk_digest_equal(&report.missing[0], &fx->card) ||
		    pk_digest_equal(&report.missing[1], &fx->card);
	assert_true(onnx && card);
	pk_store_fsck_report_finish(&report);
	assert_int_equal(pk_store_count_missing(fx->store, &fx->manifest, &err), 2);
	pull(fx); // fetches just these
	assert_int_equal(pk_store_count_missing(fx->store, &fx->manifest, &err), 0);
	must(pk_store_fsck(fx->store, &roots, NULL, &report, &err), &err);
	assert_int_equal(report.n[PK_STORE_OK], 4);
	assert_int_equal(report.n[PK_STORE_MISSING], 0);
	pk_store_fsck_report_finish(&report);
	pk_store_roots_finish(&roots);
}

static int cancel(void *ctx, int64_t done, int64_t total)
{
	(void)ctx;
	return done > 0 || total > 0;
}

static void test_fsck_is_cancelled(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_roots none = {0};
	struct pk_store_fsck_report report;
	const struct pk_store_fsck_watch watch = {.progress = cancel};
	pull(fx);
	assert_int_equal(pk_store_fsck(fx->store, &none, &watch, &report, &err), -ECANCELED);
	pk_store_fsck_report_finish(&report);
}

static void save(struct fixture *fx, const char *name, const char *text)
{
	struct pk_err err = {0};
	must(pk_fs_mkdirs(fixture_path(fx, "state"), 0755, &err), &err);
	must(pk_record_save(NULL, fixture_path(fx, name), text, strlen(text), &err), &err);
}

#define A "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define D "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"

static bool names(const struct pk_store_roots *roots, const char *text)
{
	struct pk_digest digest;
	assert_int_equal(pk_digest_parse(text, &digest), 0);
	for (size_t i = 0; i < roots->n; i++)
		if (pk_digest_equal(&roots->manifests[i], &digest))
			return true;
	return false;
}

static void test_roots_of_records(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store_roots roots = {0};
	must(pk_store_roots_read(fixture_path(fx, "state"), &roots, &err), &err); // none yet
	assert_int_equal(roots.n, 0);
	save(fx, "state/m.json", "{\"active\":{\"digest\":\"" A "\",\"engine\":\"" C "\"}}");
	save(fx, "state/m.json",
		"{\"active\":{\"digest\":\"" B "\"},\"pins\":[\"" A "\"],\"x\":\"sha256:no\","
		"\"quarantine\":[{\"digest\":\"" C "\"}],\"broken\":[{\"key\":\"" C "\"}]}");
	save(fx, "state/n.json", "{\"candidate\":\"" D "\"}");
	fixture_write(fixture_path(fx, "state/notes.txt"), "x", 1);
	must(pk_store_roots_read(fixture_path(fx, "state"), &roots, &err), &err);
	assert_int_equal(roots.n, 3);
	assert_true(names(&roots, A) && names(&roots, B) && names(&roots, D));
	pk_store_roots_finish(&roots);
	fixture_write(fixture_path(fx, "state/m.json"), "", 0); // torn: the one before tells
	must(pk_store_roots_read(fixture_path(fx, "state"), &roots, &err), &err);
	assert_int_equal(roots.n, 2);
	assert_true(names(&roots, A) && names(&roots, D));
	pk_store_roots_finish(&roots);
	assert_int_equal(unlink(fixture_path(fx, "state/m.json")), 0); // only it is left
	must(pk_store_roots_read(fixture_path(fx, "state"), &roots, &err), &err);
	assert_true(names(&roots, A));
	pk_store_roots_finish(&roots);
	fixture_write(fixture_path(fx, "state/m.json.prev"), "zz", 2);
	assert_int_equal(pk_store_roots_read(fixture_path(fx, "state"), &roots, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "m.json is damaged"));
	pk_store_roots_finish(&roots);
}

static void test_engines_of_nobody_go(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	static const char *const keep[] = {"a.engine"};
	const char *const files[] = {"a.engine", "b.engine", "b.jsonl", "c.tmp", "old.tmp"};
	struct pk_store_part_usage removed;
	must(pk_fs_mkdirs(fixture_path(fx, "engines"), 0755, &err), &err);
	for (size_t i = 0; i < PK_ARRAY_LEN(files); i++) {
		char name[64];
		snprintf(name, sizeof(name), "engines/%s", files[i]);
		fixture_write(fixture_path(fx, name), "xyz", 3);
	}
	make_old(fixture_path(fx, "engines/old.tmp"), 2);
	struct pk_store_sweep sweep = {.folder = fixture_path(fx, "engines"),
		.suffix = ".engine",
		.keep = keep,
		.n_keep = 1,
		.dry_run = true};
	must(pk_store_sweep_folder(&sweep, &removed, &err), &err);
	assert_int_equal(removed.n_files, 2);
	sweep.dry_run = false;
	sweep.folder = fixture_path(fx, "engines");
	must(pk_store_sweep_folder(&sweep, &removed, &err), &err);
	assert_int_equal(removed.bytes, 6);
	assert_true(pk_fs_exists(fixture_path(fx, "engines/a.engine")));
	assert_true(pk_fs_exists(fixture_path(fx, "engines/c.tmp")));
	assert_false(pk_fs_exists(fixture_path(fx, "engines/b.engine")));
	assert_false(pk_fs_exists(fixture_path(fx, "engines/old.tmp")));
	sweep.folder = "/nonexistent/engines";
	must(pk_store_sweep_folder(&sweep, &removed, &err), &err);
	assert_int_equal(removed.n_files, 0);
}

static struct statvfs small_disk;

static int on_small_disk(int fd, struct statvfs *out)
{
	(void)fd;
	*out = small_disk;
	return 0;
}

static void test_reserve_stays_free(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_store *store = NULL;
	struct pk_store_usage_detail detail;
	struct pk_fsops ops = pk_fsops_real;
	ops.statvfs = on_small_disk;
	small_disk = (struct statvfs){
		.f_frsize = 1 << 20, .f_blocks = 1000, .f_bavail = 100, .f_bsize = 4096};
	pk_fsops_replace(&ops);
	must(pk_store_open(fx->store_root, 0, &store, &err), &err);
	must(pk_store_usage_detail(store, &detail, &err), &err);
	assert_int_equal(detail.reserve_bytes, 64 << 20); // more than 5 % of 1000 MiB
	must(pk_store_room(store, 36 << 20, &err), &err);
	assert_int_equal(pk_store_room(store, (36 << 20) + 1, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "reserve"));
	small_disk.f_blocks = 2000; // 5 %: all that is free
	assert_int_equal(pk_store_room(store, 1, &err), -ENOSPC);
	pk_store_close(store);
	const struct pk_store_options own = {.reserve_bytes = 10 << 20};
	must(pk_store_open_with(fx->store_root, &own, &store, &err), &err);
	must(pk_store_room(store, 90 << 20, &err), &err);
	assert_int_equal(pk_store_room(store, 91 << 20, &err), -ENOSPC);
	pk_store_close(store);
	const struct pk_store_options all = {.reserve_bytes = PK_STORE_RESERVE_NONE};
	must(pk_store_open_with(fx->store_root, &all, &store, &err), &err);
	must(pk_store_room(store, 100 << 20, &err), &err);
	pk_store_close(store);
	pk_fsops_replace(NULL);
}

// What a partial file has taken already is not asked for twice.
static void test_room_of_a_continued_blob(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	struct pk_digest digest;
	uint8_t *bytes = fixture_pattern(100000, 3);
	assert_int_equal(pk_digest_bytes(bytes, 100000, &digest), 0);
	assert_int_equal(pk_store_need_bytes(fx->store, &digest, 100000), 100000);
	fixture_write(fixture_part_path(fx, &digest), bytes, 60000);
	int64_t need = pk_store_need_bytes(fx->store, &digest, 100000);
	assert_true(need <= 40000 && need > 30000); // blocks
	must(pk_store_put(fx->store, &digest, bytes, 100000, &err), &err);
	assert_int_equal(pk_store_need_bytes(fx->store, &digest, 100000), 0);
	free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_garbage_goes),
		TEST(test_signatures_stay),
		TEST(test_index_keeps_its_manifests),
		TEST(test_damaged_manifest_keeps_everything),
		TEST(test_old_parts_go),
		TEST(test_part_that_is_written_stays),
		TEST(test_cleaning_is_alone),
		TEST(test_fsck),
		TEST(test_fsck_is_cancelled),
		TEST(test_roots_of_records),
		TEST(test_engines_of_nobody_go),
		TEST(test_reserve_stays_free),
		TEST(test_room_of_a_continued_blob),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
