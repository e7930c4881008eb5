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

static void test_registries(void **state)
{
	static const struct {
		const char *text, *scheme, *location, *name, *tag;
		bool has_digest;
	} rows[] = {
		{"reg.example/yolo:stable", "registry", "reg.example", "yolo", "stable", false},
		{"reg.example:5000/models/yolo@" DIGEST, "registry", "reg.example:5000",
			"models/yolo", NULL, true},
		{"reg.example/yolo:v1@" DIGEST, "registry", "reg.example", "yolo", "v1", true},
		{"localhost/yolo:t", "registry", "localhost", "yolo", "t", false},
		{"localhost:65535/a.b_c__d---e/0:t", "registry", "localhost:65535",
			"a.b_c__d---e/0", "t", false},
		{"[::1]:5000/yolo:t", "registry", "[::1]:5000", "yolo", "t", false},
		{"10.0.0.1/yolo:t", "registry", "10.0.0.1", "yolo", "t", false},
		{"file:/usb/b.tar:v1", "file", "/usb/b.tar", NULL, "v1", false},
		{"file:b.tar@" DIGEST, "file", "b.tar", NULL, NULL, true},
		{"https://h.example:8443/m/yolo.onnx#" DIGEST, "https",
			"https://h.example:8443/m/yolo.onnx", NULL, NULL, true},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_ref ref;
		struct pk_err err = {0};
		if (pk_ref_parse(rows[i].text, &ref, &err) < 0)
			fail_msg("%s: %s", rows[i].text, err.text);
		assert_string_equal(ref.scheme, rows[i].scheme);
		assert_string_equal(ref.location, rows[i].location);
		assert_string_equal(ref.name ? ref.name : "", rows[i].name ? rows[i].name : "");
		assert_string_equal(ref.tag ? ref.tag : "", rows[i].tag ? rows[i].tag : "");
		assert_int_equal(ref.has_digest, rows[i].has_digest);
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
		{"/srv/models:x", -EINVAL, "names no host"},
		{"models", -EINVAL, "expected HOST"},
		{"models/yolo:stable", -EINVAL, "names no host"},
		{"file::x", -EINVAL, "the file is missing"},
		{"file:/b.tar", -EINVAL, "neither a tag nor a digest"},
		{"OCI:/srv/models:x", -EINVAL, "after the host"},
		{"localhos/yolo:stable", -EINVAL, "names no host"},
		{"./yolo:stable", -EINVAL, "names no host"},
		{"reg.example/yolo", -EINVAL, "neither a tag nor a digest"},
		{"reg.example:5000/yolo", -EINVAL, "neither a tag nor a digest"},
		{"reg.example:/yolo:t", -EINVAL, "expected a port"},
		{"reg.example:0/yolo:t", -EINVAL, "expected a port"},
		{"reg.example:65536/yolo:t", -EINVAL, "expected a port"},
		{"reg.example:5o00/yolo:t", -EINVAL, "expected a port"},
		{"user@reg.example/yolo:t", -EINVAL, "after '@'"},
		{"-reg.example/yolo:t", -EINVAL, "is no host"},
		{"[::1/yolo:t", -EINVAL, "is no host"},
		{"reg.example/Yolo:t", -EINVAL, "name 'Yolo'"},
		{"reg.example/yolo/:t", -EINVAL, "name 'yolo/'"},
		{"reg.example//yolo:t", -EINVAL, "name '/yolo'"},
		{"reg.example/a..b:t", -EINVAL, "name 'a..b'"},
		{"reg.example/a___b:t", -EINVAL, "name 'a___b'"},
		{"reg.example/../b:t", -EINVAL, "name '../b'"},
		{"reg.example/a-:t", -EINVAL, "name 'a-'"},
		{"reg.example/yolo:t@sha256:zz", -EINVAL, "after '@'"},
		{"reg.example/yolo@sha512:" HEX HEX, -EINVAL, "sha256"},
		{"http://reg.example/yolo:t", -EINVAL, "only https://"},
		{"https://reg.example/yolo.onnx", -EINVAL, "#sha256:"},
		{"https://reg.example/yolo.onnx#" HEX, -EINVAL, "after '#'"},
		{"https://reg.example/#" DIGEST, -EINVAL, "names no file"},
		{"https://reg.example#" DIGEST, -EINVAL, "names no file"},
		{"https://u:p@reg.example/x#" DIGEST, -EINVAL, "after the host"},
		{"https://reg.example/x?token=1#" DIGEST, -EINVAL, "not allowed"},
		{"https://reg.example/a b#" DIGEST, -EINVAL, "not allowed"},
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
	snprintf(text, sizeof(text), "reg.example/%0243d:t", 1);
	assert_int_equal(pk_ref_parse(text, &ref, &err), 0);
	pk_ref_finish(&ref);
	snprintf(text, sizeof(text), "reg.example/%0244d:t", 1);
	assert_int_equal(pk_ref_parse(text, &ref, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than 255"));
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
		cmocka_unit_test(test_registries),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
