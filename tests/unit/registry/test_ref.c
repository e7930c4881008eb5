// SPDX-License-Identifier: Apache-2.0
// The grammar of references.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "registry/registry.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "sha256:" HEX

static void test_accepted(void **state)
{
	static const struct {
		const char *text, *location, *tag;
		bool has_digest;
	} rows[] = {
		{"oci:/srv/models:stable", "/srv/models", "stable", false},
		{"oci:models:v1.4.0", "models", "v1.4.0", false},
		{"oci:./models:_x", "./models", "_x", false},
		{"oci:/srv/a:b/models:t", "/srv/a:b/models", "t", false},
		{"oci:/srv/models@" DIGEST, "/srv/models", NULL, true},
		{"oci:/srv/models:t@" DIGEST, "/srv/models", "t", true},
		{"oci:/srv/a:b/models@" DIGEST, "/srv/a:b/models", NULL, true},
		{"oci:/srv/a@b/models@" DIGEST, "/srv/a@b/models", NULL, true},
		{"oci:/srv/a b/ü:T-._9", "/srv/a b/ü", "T-._9", false},
		{"oci:/:x", "/", "x", false},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_ref ref;
		struct pk_err err = {0};
		if (pk_ref_parse(rows[i].text, &ref, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.text);
		assert_string_equal(ref.scheme, "oci");
		assert_string_equal(ref.location, rows[i].location);
		assert_int_equal(ref.has_digest, rows[i].has_digest);
		if (rows[i].tag)
			assert_string_equal(ref.tag, rows[i].tag);
		else
			assert_null(ref.tag);
		pk_ref_finish(&ref);
		pk_ref_finish(&ref);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *why;
	} rows[] = {
		{"", -EINVAL, "empty"},
		{"oci:", -EINVAL, "folder is missing"},
		{"oci::tag", -EINVAL, "folder is missing"},
		{"oci:@" DIGEST, -EINVAL, "folder is missing"},
		{"oci:/srv/models", -EINVAL, "neither a tag nor a digest"},
		{"oci:/srv/a:b/models", -EINVAL, "neither a tag nor a digest"},
		{"oci:/srv/models:", -EINVAL, "tag after ':' is empty"},
		{"oci:/srv/models:-x", -EINVAL, "tag '-x'"},
		{"oci:/srv/models:.x", -EINVAL, "tag '.x'"},
		{"oci:/srv/models:a b", -EINVAL, "tag 'a b'"},
		{"oci:/srv/models:ä", -EINVAL, "letters, digits"},
		{"oci:/srv/models:x@", -EINVAL, "after '@'"},
		{"oci:/srv/models@latest", -EINVAL, "after '@'"},
		{"oci:/srv/a@b:latest", -EINVAL, "after '@'"},
		{"oci:/srv/models@sha256:" HEX "0", -EINVAL, "64 lower-case"},
		{"oci:/srv/models@sha256:ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789"
		 "abcdef",
			-EINVAL, "64 lower-case"},
		{"oci:/srv/models@sha512:" HEX HEX, -EINVAL, "sha256"},
		{"oci:/srv/mod\nels:x", -EINVAL, "control character"},
		{"/srv/models:x", -EINVAL, "expected oci:"},
		{"models", -EINVAL, "expected oci:"},
		{"file:/srv/models:x", -EINVAL, "expected oci:"},
		{"OCI:/srv/models:x", -EINVAL, "expected oci:"},
		{"reg.example/models/yolo:stable", -ENOTSUP, "not supported yet"},
		{"reg.example:5000/models/yolo@" DIGEST, -ENOTSUP, "not supported yet"},
		{"localhost:5000/yolo:stable", -ENOTSUP, "not supported yet"},
		{"localhos/yolo:stable", -EINVAL, "expected oci:"},
		{"./yolo:stable", -EINVAL, "expected oci:"},
		{"localhost/yolo:stable", -ENOTSUP, "not supported yet"},
		{"https://reg.example/yolo.onnx", -ENOTSUP, "not supported yet"},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_ref ref;
		struct pk_err err = {0};
		int rc = pk_ref_parse(rows[i].text, &ref, &err);
		if (rc != rows[i].code || !strstr(err.text, rows[i].why))
			fail_msg("'%s': %d, '%s'", rows[i].text, rc, err.text);
		assert_null(ref.location);
		assert_null(ref.tag);
		assert_int_equal(pk_ref_parse(rows[i].text, &ref, NULL), rc);
	}
}

static void test_lengths(void **state)
{
	char text[5000];
	struct pk_ref ref;
	struct pk_err err = {0};
	snprintf(text, sizeof(text), "oci:/m:%0128d", 1);
	assert_int_equal(pk_ref_parse(text, &ref, &err), 0);
	pk_ref_finish(&ref);
	snprintf(text, sizeof(text), "oci:/m:%0129d", 1);
	assert_int_equal(pk_ref_parse(text, &ref, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than 128"));
	memset(text, 'a', sizeof(text));
	memcpy(text, "oci:/", 5);
	memcpy(text + 4094, ":t", 3);
	assert_int_equal(pk_ref_parse(text, &ref, &err), 0);
	pk_ref_finish(&ref);
	memcpy(text + 4094, ":tt", 4);
	assert_int_equal(pk_ref_parse(text, &ref, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than 4096"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
