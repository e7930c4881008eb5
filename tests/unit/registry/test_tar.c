// SPDX-License-Identifier: Apache-2.0
// Tar files: the forms that are read, what is refused, and an artifact pulled out of one.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "registry/registry.h"
#include "registry/tar.h"
#include "tests/unit/registry/fixture.h"

struct bytes {
	char data[8192];
	size_t size;
};

static int read_bytes(void *ctx, int64_t offset, void *out, size_t n)
{
	const struct bytes *bytes = ctx;
	assert_true(offset >= 0 && (size_t)offset + n <= bytes->size);
	memcpy(out, bytes->data + offset, n);
	return 0;
}

// Appends one member of a kind with its data, padded.
static void add(struct bytes *b, char kind, const char *name, const char *data, size_t n)
{
	char *h = b->data + b->size;
	unsigned sum = 0;
	memset(h, 0, 512);
	snprintf(h, 100, "%s", name);
	snprintf(h + 124, 12, "%011zo", n);
	h[156] = kind;
	memcpy(h + 257,
		"ustar\0"
		"00",
		8);
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	memset(h + 512, 0, (n + 511) / 512 * 512);
	memcpy(h + 512, data, n);
	b->size += 512 + (n + 511) / 512 * 512;
}

static void refused(struct bytes *b, int code, const char *why)
{
	struct pk_tar tar;
	struct pk_err err = {0};
	int rc = pk_tar_list(read_bytes, b, (int64_t)b->size, &tar, &err);
	if (rc != code || !strstr(err.text, why))
		fail_msg("%d %s, not %s", rc, err.text, why);
	assert_null(tar.members);
}

static void test_forms(void **state)
{
	struct bytes b = {0};
	struct pk_tar tar;
	struct pk_err err = {0};
	add(&b, '5', "./", "", 0);
	add(&b, 'g', "pax_global_header", "11 comment=\n", 12);
	add(&b, '0', "./a", "hello", 5);
	add(&b, 'x', "PaxHeaders/b", "24 path=some/longer/name\n", 25); // wrong length
	refused(&b, -EINVAL, "pax header");
	b.size -= 1024;
	add(&b, 'x', "PaxHeaders/b", "25 path=some/longer/name\n", 25);
	add(&b, '0', "short", "world", 5);
	add(&b, 'L', "././@LongLink", "gnu/name", 9);
	add(&b, '\0', "cut", "", 0);
	memset(b.data + b.size, 0, 1024);
	b.size += 1024;
	if (pk_tar_list(read_bytes, &b, (int64_t)b.size, &tar, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tar.n, 3);
	assert_int_equal(pk_tar_find(&tar, "a")->size, 5);
	assert_memory_equal(b.data + pk_tar_find(&tar, "some/longer/name")->offset, "world", 5);
	assert_int_equal(pk_tar_find(&tar, "gnu/name")->size, 0);
	assert_null(pk_tar_find(&tar, "short"));
	pk_tar_finish(&tar);
}

static void test_refused(void **state)
{
	static const struct {
		char kind;
		const char *name, *data;
		size_t n;
		int code;
		const char *why;
	} rows[] = {
		{'2', "link", "", 0, -ENOTSUP, "no regular file"},
		{'1', "link", "", 0, -ENOTSUP, "no regular file"},
		{'3', "device", "", 0, -ENOTSUP, "no regular file"},
		{'S', "holes", "", 0, -ENOTSUP, "no regular file"},
		{'0', "../up", "", 0, -EINVAL, "leads outside"},
		{'0', "/abs", "", 0, -EINVAL, "leads outside"},
		{'0', "first", "", 0, -EINVAL, "same name twice"},
		{'x', "pax", "20 GNU.sparse.map=1\n", 20, -ENOTSUP, "holes"},
		{'x', "pax", "9 size=x\n", 9, -EINVAL, "no number"},
		{'x', "pax", "99 path=x\n", 10, -EINVAL, "pax header"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct bytes b = {0};
		add(&b, '0', "first", "1", 1);
		add(&b, rows[i].kind, rows[i].name, rows[i].data, rows[i].n);
		refused(&b, rows[i].code, rows[i].why);
	}
	struct bytes b = {0};
	add(&b, '0', "a", "1", 1);
	b.data[0] = 'b';
	refused(&b, -EINVAL, "checksum");
	b.data[0] = 'a';
	b.size = 512; // its data is cut off
	refused(&b, -EINVAL, "beyond the end");
	b.size = 100;
	refused(&b, -EINVAL, "no tar file");
	b.size = 1024;
	memcpy(b.data, "\x1f\x8b", 2);
	refused(&b, -ENOTSUP, "compressed");
}

static void test_pull(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	char command[200], ref[256];
	struct pk_manifest *manifest = NULL;
	fixture_artifact(fx, "v1");
	snprintf(command, sizeof(command), "%s", fixture_path(fx, "b.tar"));
	pid_t child = fork();
	if (child == 0) {
		execlp("tar", "tar", "-C", fx->layout, "-cf", command, ".", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	snprintf(ref, sizeof(ref), "file:%s:v1", command);
	if (pk_pull(ref, NULL, fx->store, NULL, &manifest, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(pk_digest_equal(&manifest->digest, &fx->manifest));
	assert_true(pk_store_has(fx->store, &fx->onnx, FIXTURE_ONNX_BYTES));
	pk_manifest_destroy(manifest);
	snprintf(ref, sizeof(ref), "file:%s:v2", command);
	assert_int_equal(pk_pull(ref, NULL, fx->store, NULL, &manifest, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_refused),
		cmocka_unit_test_setup_teardown(test_pull, fixture_setup, fixture_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
