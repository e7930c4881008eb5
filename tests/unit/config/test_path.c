// SPDX-License-Identifier: Apache-2.0
#include "config/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/config/cm.h"

typedef int resolver(const char *, const char *, char **, struct pk_err *);

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	resolver *resolve;
	const char *text, *dir, *expected; // NULL: refused
} cases[] = {
	{pk_path_resolve, "a.mp4", "/etc/picket", "/etc/picket/a.mp4"},
	{pk_path_resolve, "./a.mp4", "/etc/picket", "/etc/picket/a.mp4"},
	{pk_path_resolve, ".//a.mp4", "/etc/picket", "/etc/picket/a.mp4"},
	{pk_path_resolve, "../a.mp4", "/etc/picket", "/etc/picket/../a.mp4"},
	{pk_path_resolve, ".", "/etc/picket", "/etc/picket"},
	{pk_path_resolve, "..", "/etc/picket", "/etc/picket/.."},
	{pk_path_resolve, "/a.mp4", "/etc/picket", "/a.mp4"},
	{pk_path_resolve, "a.mp4", "/", "/a.mp4"},
	{pk_path_resolve, "a:b", "/d", "/d/a:b"},
	{pk_path_resolve, "-", "/d", "/d/-"},
	{pk_path_resolve, "dir/a://b", "/d", "/d/dir/a://b"},
	{pk_path_resolve, "http://h/x", "/d", NULL},
	{pk_path_resolve, "file:///x", "/d", NULL},
	{pk_path_resolve_output, "-", "/d", "-"},
	{pk_path_resolve_output, "unix:s.sock", "/d", "unix:/d/s.sock"},
	{pk_path_resolve_output, "unix:/run/s.sock", "/d", "unix:/run/s.sock"},
	{pk_path_resolve_output, "unix:", "/d", NULL},
	{pk_path_resolve_output, "r.jsonl", "/d", "/d/r.jsonl"},
	{pk_path_resolve_artifact, "oci:r:t", "/d", "oci:/d/r:t"},
	{pk_path_resolve_artifact, "oci:../r:v1.2", "/d", "oci:/d/../r:v1.2"},
	{pk_path_resolve_artifact, "oci:/r:t", "/d", "oci:/r:t"},
	{pk_path_resolve_artifact, "oci:r@sha256:" DIGEST, "/d", "oci:/d/r@sha256:" DIGEST},
	{pk_path_resolve_artifact, "oci:a:b/r:t", "/d", "oci:/d/a:b/r:t"},
	{pk_path_resolve_artifact, "oci:a:b/r", "/d", NULL},
	{pk_path_resolve_artifact, "oci:r", "/d", NULL},
	{pk_path_resolve_artifact, "oci:r:", "/d", NULL},
	{pk_path_resolve_artifact, "oci:", "/d", NULL},
	{pk_path_resolve_artifact, "oci:r:.t", "/d", NULL},
	{pk_path_resolve_artifact, "oci:r@sha256:00", "/d", NULL},
	{pk_path_resolve_artifact, "oci:@sha256:" DIGEST, "/d", NULL},
	{pk_path_resolve_artifact, "r:t", "/d", NULL},
	{pk_path_resolve_artifact, "file:b.tar:t", "/d", "file:/d/b.tar:t"},
	{pk_path_resolve_artifact, "file::t", "/d", NULL},
	{pk_path_resolve_artifact, "reg.example:5000/m/y:t", "/d", "reg.example:5000/m/y:t"},
	{pk_path_resolve_artifact, "localhost/m@sha256:" DIGEST, "/d",
		"localhost/m@sha256:" DIGEST},
	{pk_path_resolve_artifact, "reg.example:5000/m/y", "/d", NULL},
	{pk_path_resolve_artifact, "reg/m:t", "/d", NULL},
	{pk_path_resolve_artifact, "https://h/m.onnx#sha256:" DIGEST, "/d",
		"https://h/m.onnx#sha256:" DIGEST},
	{pk_path_resolve_artifact, "https://h/m.onnx", "/d", NULL},
	{pk_path_resolve_artifact, "http://h/m.onnx#sha256:" DIGEST, "/d", NULL},
	{pk_path_resolve_secret, "credential:reg", "/d", "credential:reg"},
	{pk_path_resolve_secret, "credential:../reg", "/d", NULL},
	{pk_path_resolve_secret, "credential:", "/d", NULL},
	{pk_path_resolve_secret, "pw", "/d", "/d/pw"},
};

static void test_resolve(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pk_err err = {0};
		char *out = NULL;
		int rc = cases[i].resolve(cases[i].text, cases[i].dir, &out, &err);
		if (cases[i].expected) {
			assert_int_equal(rc, 0);
			assert_string_equal(out, cases[i].expected);
		} else {
			assert_int_equal(rc, -EINVAL);
			assert_null(out);
			assert_true(err.text[0] != '\0');
		}
		free(out);
	}
}

static void test_folder(void **state)
{
	char *here = getcwd(NULL, 0);
	char *folder = pk_path_folder("picket.yaml");
	assert_string_equal(folder, here);
	free(folder);
	folder = pk_path_folder("/etc/picket/picket.yaml");
	assert_string_equal(folder, "/etc/picket");
	free(folder);
	folder = pk_path_folder("/picket.yaml");
	assert_string_equal(folder, "/");
	free(folder);
	folder = pk_path_folder("a/picket.yaml");
	assert_int_equal(strncmp(folder, here, strlen(here)), 0);
	assert_string_equal(folder + strlen(here), "/a");
	free(folder);
	folder = pk_path_absolute(NULL);
	assert_string_equal(folder, here);
	free(folder);
	free(here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_folder),
	};
	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
