// SPDX-License-Identifier: Apache-2.0
// SHA-256 against published vectors, and the strict text form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"

// FIPS 180-2 appendix B.
#define ABC       "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY     "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define MILLION_A "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void assert_digest(const struct pk_digest *d, const char *want)
{
	char text[PK_DIGEST_TEXT];
	pk_digest_format(d, text);
	assert_string_equal(text, want);
}

static void bytes_and_pieces_agree(void **state)
{
	struct pk_digest d;
	assert_int_equal(pk_digest_bytes("abc", 3, &d), 0);
	assert_digest(&d, ABC);
	assert_int_equal(pk_digest_bytes(NULL, 0, &d), 0);
	assert_digest(&d, EMPTY);
	pk_auto(pk_hasher) hasher = pk_hasher_create();
	for (int i = 0; i < 1000000; i += 100) {
		char piece[100];
		memset(piece, 'a', sizeof(piece));
		pk_hasher_update(hasher, piece, sizeof(piece));
	}
	pk_hasher_final(hasher, &d);
	assert_digest(&d, MILLION_A);
}

static void files(void **state)
{
	char path[] = "/tmp/picket-digest-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	char *text = malloc(1000000);
	memset(text, 'a', 1000000);
	assert_int_equal(write(fd, text, 1000000), 1000000);
	free(text);
	struct pk_digest d, e;
	struct pk_err err = {0};
	assert_int_equal(pk_digest_fd(fd, &d, &err), 0); // from the start, wherever the offset is
	assert_digest(&d, MILLION_A);
	assert_int_equal(pk_digest_file(path, &e, &err), 0);
	assert_true(pk_digest_equal(&d, &e));
	e.bytes[31] ^= 1;
	assert_false(pk_digest_equal(&d, &e));
	close(fd);
	unlink(path);
	assert_int_equal(pk_digest_file(path, &e, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(pk_digest_file("/tmp", &e, &err), -EISDIR);
}

static void text_round_trip(void **state)
{
	struct pk_digest d;
	assert_int_equal(pk_digest_parse(ABC, &d), 0);
	assert_digest(&d, ABC);
}

static void bad_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"sha256:",
		"sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"SHA256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"sha256:BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
		"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015add",
		"sha256:ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"sha256:../../../../../../../../../../../../../../../../../../etc/passwd",
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(bad); i++) {
		struct pk_digest d;
		assert_int_equal(pk_digest_parse(bad[i], &d), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_pieces_agree),
		cmocka_unit_test(files),
		cmocka_unit_test(text_round_trip),
		cmocka_unit_test(bad_texts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
