// SPDX-License-Identifier: Apache-2.0
// Indexes by platform, and lists of referrers.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "registry/descriptor.h"
#include "registry/index.h"

#if defined(__aarch64__)
#define OURS "arm64"
#else
#define OURS "amd64"
#endif
#define KIND   "application/vnd.oci.image.manifest.v1+json"
#define INDEX  "application/vnd.oci.image.index.v1+json"
#define DIGEST "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8"
#define ENTRY(kind, last, more)                                                                    \
	"{\"mediaType\":\"" kind "\",\"digest\":\"" DIGEST last "\",\"size\":7" more "}"
#define ON(arch)      ",\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch "\"}"
#define LIST(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"

static void test_select(void **state)
{
	static const struct {
		const char *json;
		int rc;
		char last; // digit of the digest that is chosen
		const char *why;
	} rows[] = {
		{"{}", 0, 0, NULL},
		{"nonsense", 0, 0, NULL},
		{LIST(ENTRY(KIND, "a", ON("mips")) "," ENTRY(KIND, "b", ON(OURS))), 1, 'b', NULL},
		{LIST(ENTRY(KIND, "a", "") "," ENTRY(KIND, "b", ON("mips"))), 1, 'a', NULL},
		{LIST(ENTRY(KIND, "a", ON(OURS)) "," ENTRY(KIND, "b", ON(OURS))), -ENOENT, 0,
			"not exactly one"},
		{LIST(ENTRY(KIND, "a", ON("mips"))), -ENOENT, 0, "linux/mips"},
		{LIST(""), -ENOENT, 0, "nothing"},
		{LIST(ENTRY(INDEX, "a", ON(OURS))), -ENOTSUP, 0, "index in the index"},
		{LIST("7"), -ENOENT, 0, "not exactly one"},
		{"{\"mediaType\":\"" KIND "\",\"manifests\":[]}", 0, 0, NULL},
		{"{\"layers\":[],\"manifests\":[]}", 0, 0, NULL},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_descriptor found;
		struct pk_err err = {0};
		char text[PK_DIGEST_TEXT];
		int rc = pk_index_select(rows[i].json, strlen(rows[i].json), &found, &err);
		if (rc != rows[i].rc || (rc < 0 && !strstr(err.text, rows[i].why)))
			fail_msg("%s: %d %s", rows[i].json, rc, err.text);
		if (rc <= 0)
			continue;
		pk_digest_format(&found.digest, text);
		assert_int_equal(text[strlen(text) - 1], rows[i].last);
		pk_descriptor_finish(&found);
	}
}

static void test_filter(void **state)
{
	static const char json[] = LIST(ENTRY(KIND, "a", ",\"artifactType\":\"x/a\"") "," ENTRY(
		KIND, "b", ",\"artifactType\":\"x/b\"") ",7,{}," ENTRY(KIND, "c", ""));
	static const struct {
		const char *type, *kept, *dropped;
	} rows[] = {
		{NULL, DIGEST "b", "{}"}, {"x/a", DIGEST "a", DIGEST "b"},
		{"x/c", DIGEST "c", DIGEST "a"}, // says nothing: the reader will see
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_buf out;
		pk_buf_init(&out, 10000);
		assert_int_equal(pk_index_filter(json, strlen(json), rows[i].type, &out, NULL), 0);
		assert_non_null(strstr(out.data, rows[i].kept));
		assert_null(strstr(out.data, rows[i].dropped));
		pk_buf_finish(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_filter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
