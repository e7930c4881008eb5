// SPDX-License-Identifier: Apache-2.0
// Manifests: what is taken, what is refused and with which words.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/buf.h"
#include "registry/manifest.h"

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "\"digest\":\"sha256:" HEX "\""
#define WEIGHT "application/vnd.cncf.model.weight.v1.raw"
#define TAR    "application/vnd.oci.image.layer.v1.tar"
#define MTYPE  "\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\""
#define CONFIG                                                                                     \
	"\"config\":{\"mediaType\":\"application/vnd.cncf.model.config.v1+json\"," DIGEST          \
	",\"size\":10}"
#define HEAD "{\"schemaVersion\":2," MTYPE "," CONFIG ","
#define LAYER(type, name)                                                                          \
	"{\"mediaType\":\"" type "\"," DIGEST                                                      \
	",\"size\":5,\"annotations\":{\"org.opencontainers.image.title\":\"" name "\"}}"
#define PLAIN(type)   "{\"mediaType\":\"" type "\"," DIGEST ",\"size\":5}"
#define LAYERS(inner) "\"layers\":[" inner "]"
#define WITH(layer)   HEAD LAYERS(layer) "}"

static struct pk_manifest *parse(const char *text)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	if (pk_manifest_parse(text, strlen(text), &manifest, &err) < 0)
		fail_msg("%s\n%s", err.text, text);
	return manifest;
}

static void test_fields(void **state)
{
	static const char text[] = HEAD
		"\"artifactType\":\"application/vnd.cncf.model.manifest.v1+json\","
		"\"annotations\":{\"org.opencontainers.image.version\":\"1.2\",\"x\":\"y\"},"
		"\"unknown\":[1,2]," LAYERS(
			LAYER(WEIGHT, "model.onnx") "," LAYER(TAR, "card.yaml") "," PLAIN(TAR)) "}";
	struct pk_digest digest;
	struct pk_manifest *m = parse(text);
	assert_int_equal(pk_digest_bytes(text, strlen(text), &digest), 0);
	assert_true(pk_digest_equal(&m->digest, &digest));
	assert_string_equal(m->artifact_type, "application/vnd.cncf.model.manifest.v1+json");
	assert_string_equal(m->version, "1.2");
	assert_int_equal(m->config.size, 10);
	assert_int_equal(m->n_layers, 3);
	assert_int_equal(m->total_size, 25);
	assert_string_equal(m->layers[1].title, "card.yaml");
	assert_null(m->layers[2].title);
	assert_ptr_equal(pk_manifest_file(m, "card.yaml"), &m->layers[1]);
	assert_null(pk_manifest_file(m, "card"));
	assert_ptr_equal(pk_manifest_onnx(m), &m->layers[0]);
	pk_manifest_destroy(m);
	pk_manifest_destroy(NULL);
}

static void test_artifact_type_falls_back_to_config(void **state)
{
	struct pk_manifest *m = parse(WITH(""));
	assert_string_equal(m->artifact_type, "application/vnd.cncf.model.config.v1+json");
	assert_null(m->version);
	assert_int_equal(m->n_layers, 0);
	assert_null(pk_manifest_onnx(m));
	pk_manifest_destroy(m);
}

// Which layer is the model: -1 for none.
static void test_onnx_choice(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{WITH(LAYER(WEIGHT, "model.onnx")), 0},
		{WITH(LAYER(TAR, "a.txt") "," LAYER(TAR, "m.onnx")), 1},
		{WITH(LAYER(TAR, "M.ONNX")), 0},
		{WITH(PLAIN(TAR) "," PLAIN(WEIGHT)), 1},
		{WITH(PLAIN(WEIGHT) "," PLAIN(WEIGHT)), -1},
		{WITH(LAYER(WEIGHT, "m.onnx") "," LAYER(WEIGHT, "m.onnx.data")), 0},
		{WITH(LAYER(WEIGHT, "a.onnx") "," LAYER(WEIGHT, "b.onnx")), -1},
		{WITH(LAYER(WEIGHT, "a.onnx") "," LAYER(TAR, "golden.onnx")), 0},
		{WITH(LAYER(TAR, "a.onnx") "," LAYER(TAR, "b.onnx")), -1},
		{WITH(LAYER(TAR, ".onnx")), -1},
		{WITH(PLAIN(TAR)), -1},
	};
	for (size_t i = 0; i < PK_ARRAY_LEN(rows); i++) {
		struct pk_manifest *m = parse(rows[i].text);
		const struct pk_descriptor *found = pk_manifest_onnx(m);
		if (found != (rows[i].want < 0 ? NULL : &m->layers[rows[i].want]))
			fail_msg("row %zu", i);
		pk_manifest_destroy(m);
	}
}

#define DESC(media, rest) WITH("{\"mediaType\":\"" media "\"," rest "}")

static const struct {
	const char *text;
	int code;
	const char *why;
} refused[] = {
	{"", -EINVAL, "manifest"},
	{"{", -EINVAL, "line 1"},
	{"[]", -EINVAL, "expected an object"},
	{"null", -EINVAL, "expected an object"},
	{"{}", -EINVAL, "schemaVersion"},
	{WITH("") "x", -EINVAL, "manifest"},
	{"{\"schemaVersion\":2,\"schemaVersion\":2," CONFIG "," LAYERS("") "}", -EINVAL,
		"duplicate"},
	{"{\"schemaVersion\":1," CONFIG "," LAYERS("") "}", -ENOTSUP, "expected 2"},
	{"{\"schemaVersion\":\"2\"," CONFIG "," LAYERS("") "}", -EINVAL, "integer"},
	{"{\"schemaVersion\":2," LAYERS("") "}", -EINVAL, "config"},
	{"{\"schemaVersion\":2,\"config\":[]," LAYERS("") "}", -EINVAL, "config"},
	{"{\"schemaVersion\":2," CONFIG "}", -EINVAL, "layers"},
	{HEAD "\"layers\":{}}", -EINVAL, "layers"},
	{WITH("7"), -EINVAL, "layers[0]: expected an object"},
	{"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
	 "\"manifests\":[]}",
		-ENOTSUP, "image index"},
	{"{\"schemaVersion\":2,\"mediaType\":"
	 "\"application/vnd.docker.distribution.manifest.list.v2+json\",\"manifests\":[]}",
		-ENOTSUP, "image index"},
	{"{\"schemaVersion\":2,\"manifests\":[]}", -ENOTSUP, "image index"},
	{HEAD "\"manifests\":[]," LAYERS("") "}", -EINVAL, "'manifests' in it"},
	{"{\"schemaVersion\":2,\"mediaType\":"
	 "\"application/vnd.docker.distribution.manifest.v2+json\"," CONFIG "," LAYERS("") "}",
		-ENOTSUP, "container image"},
	{"{\"schemaVersion\":2,\"mediaType\":\"text/plain\"," CONFIG "," LAYERS("") "}", -ENOTSUP,
		"mediaType 'text/plain'"},
	{"{\"schemaVersion\":2,\"mediaType\":5," CONFIG "," LAYERS("") "}", -EINVAL, "mediaType"},
	{HEAD "\"artifactType\":7," LAYERS("") "}", -EINVAL, "artifactType"},
	{HEAD "\"artifactType\":\"\"," LAYERS("") "}", -EINVAL, "artifactType: empty"},
	{"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/"
	 "vnd.oci.empty.v1+json\"," DIGEST ",\"size\":2}," LAYERS("") "}",
		-EINVAL, "artifactType: required"},
	{DESC("x", DIGEST ",\"size\":1"), -EINVAL, "not a media type"},
	{DESC("a/b/c", DIGEST ",\"size\":1"), -EINVAL, "not a media type"},
	{DESC("/b", DIGEST ",\"size\":1"), -EINVAL, "not a media type"},
	{DESC("a/", DIGEST ",\"size\":1"), -EINVAL, "not a media type"},
	{DESC("a/ b", DIGEST ",\"size\":1"), -EINVAL, "not a media type"},
	{DESC("a/b", "\"size\":1"), -EINVAL, "layers[0]: digest"},
	{DESC("a/b", DIGEST), -EINVAL, "layers[0]: size"},
	{DESC("a/b", DIGEST ",\"size\":-1"), -EINVAL, "negative"},
	{DESC("a/b", DIGEST ",\"size\":1.0"), -EINVAL, "integer"},
	{DESC("a/b", DIGEST ",\"size\":\"1\""), -EINVAL, "integer"},
	{DESC("a/b", DIGEST ",\"size\":9223372036854775808"), -EINVAL, "integer"},
	{DESC("a/b", DIGEST ",\"size\":9223372036854775807"), -EINVAL, "overflows"},
	{DESC("a/b", "\"digest\":\"sha512:" HEX HEX "\",\"size\":1"), -ENOTSUP, "only sha256"},
	{DESC("a/b", "\"digest\":\"sha256:abc\",\"size\":1"), -EINVAL, "64 lower-case"},
	{DESC("a/b", "\"digest\":\"sha256:" HEX "/../x\",\"size\":1"), -EINVAL, "64 lower-case"},
	{DESC("a/b", "\"digest\":\"md5:" HEX "\",\"size\":1"), -ENOTSUP, "only sha256"},
	{DESC("a/b", DIGEST ",\"size\":1,\"annotations\":[]"), -EINVAL, "annotations"},
	{DESC("a/b", DIGEST ",\"size\":1,\"annotations\":{\"k\":7}"), -EINVAL, "'k'"},
	{HEAD "\"annotations\":{\"k\":null}," LAYERS("") "}", -EINVAL, "'k'"},
	{HEAD "\"annotations\":{\"org.opencontainers.image.version\":\"a\\u001bb\"}," LAYERS(
		 "") "}",
		-EINVAL, "control character"},
	{HEAD "\"annotations\":{\"org.opencontainers.image.version\":\"\"}," LAYERS("") "}",
		-EINVAL, "empty"},
	{HEAD "\"annotations\":{\"dev.picket.model.name\":\"\"}," LAYERS("") "}", -EINVAL,
		"dev.picket.model.name: empty"},
	{HEAD "\"annotations\":{\"dev.picket.model.name\":\"a\\nb\"}," LAYERS("") "}", -EINVAL,
		"control character"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"\"}," LAYERS("") "}", -EINVAL,
		"dev.picket.model.seq: empty"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"-1\"}," LAYERS("") "}", -EINVAL,
		"dev.picket.model.seq: '-1'"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"+1\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"07\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"1e3\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"0x7\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\" 7\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"7.0\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"9007199254740993\"}," LAYERS("") "}",
		-EINVAL, "at most 9007199254740992"},
	{HEAD "\"annotations\":{\"dev.picket.model.seq\":\"18446744073709551623\"}," LAYERS("") "}",
		-EINVAL, "at most"},
	{HEAD "\"annotations\":{\"dev.picket.rollout\":\"101\"}," LAYERS("") "}", -EINVAL,
		"dev.picket.rollout: '101'"},
	{HEAD "\"annotations\":{\"dev.picket.rollout\":\"5%\"}," LAYERS("") "}", -EINVAL,
		"decimal"},
	{HEAD "\"annotations\":{\"dev.picket.target\":\"a,,b\"}," LAYERS("") "}", -EINVAL,
		"classes"},
	{HEAD "\"annotations\":{\"dev.picket.target\":\"a,\"}," LAYERS("") "}", -EINVAL, "classes"},
	{HEAD "\"annotations\":{\"dev.picket.target\":\"Orin\"}," LAYERS("") "}", -EINVAL,
		"classes"},
	{HEAD "\"annotations\":{\"dev.picket.target\":\"a b\"}," LAYERS("") "}", -EINVAL,
		"classes"},
	{WITH(LAYER(TAR, "../../etc/passwd")), -EINVAL, "path separators"},
	{WITH(LAYER(TAR, "/etc/passwd")), -EINVAL, "path separators"},
	{WITH(LAYER(TAR, "a/b")), -EINVAL, "path separators"},
	{WITH(LAYER(TAR, "a\\\\b")), -EINVAL, "path separators"},
	{WITH(LAYER(TAR, "..")), -EINVAL, "'..'"},
	{WITH(LAYER(TAR, ".")), -EINVAL, "'.'"},
	{WITH(LAYER(TAR, "")), -EINVAL, "file name: empty"},
	{WITH(LAYER(TAR, "a\\nb")), -EINVAL, "control character"},
	{WITH(LAYER(TAR, "a\\u0000b")), -EINVAL, "manifest"},
	{WITH(LAYER(TAR, "a") "," LAYER(TAR, "a")), -EINVAL,
		"layers[1]: another layer is named 'a'"},
	{DESC("a/b", DIGEST ",\"size\":1,\"annotations\":{\"org.opencontainers.image.title\":\"a\","
			    "\"org.cncf.model.filepath\":\"b\"}"),
		-EINVAL, "differ"},
	{DESC("a/b", DIGEST ",\"size\":1,\"annotations\":{\"org.cncf.model.filepath\":\"x/y\"}"),
		-EINVAL, "path separators"},
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(refused); i++) {
		struct pk_manifest *manifest = (struct pk_manifest *)1;
		struct pk_err err = {0};
		const char *text = refused[i].text;
		// An exact heap copy without a NUL, so that reading past the end is seen.
		size_t n = strlen(text);
		char *copy = malloc(n ? n : 1);
		assert_non_null(copy);
		memcpy(copy, text, n);
		int rc = pk_manifest_parse(copy, n, &manifest, &err);
		if (rc != refused[i].code || !strstr(err.text, refused[i].why))
			fail_msg("row %zu: %d, '%s' of %s", i, rc, err.text, text);
		assert_null(manifest);
		assert_int_equal(strncmp(err.text, "manifest", 8), 0);
		assert_int_equal(pk_manifest_parse(copy, n, &manifest, NULL), rc);
		free(copy);
	}
}

static void test_identity(void **state)
{
	struct pk_manifest *m = parse(HEAD LAYERS("") "}");
	assert_null(m->model_name);
	assert_null(m->target);
	assert_int_equal(m->model_seq, -1);
	assert_int_equal(m->rollout_percent, -1);
	assert_true(pk_manifest_is_for(m, "any"));
	pk_manifest_destroy(m);
	m = parse(HEAD "\"annotations\":{\"dev.picket.model.name\":\"yolo/belt 2\","
		       "\"dev.picket.model.seq\":\"9007199254740992\",\"dev.picket.rollout\":\"0\","
		       "\"dev.picket.target\":\"orin,agx-64\"}," LAYERS("") "}");
	assert_string_equal(m->model_name, "yolo/belt 2");
	assert_int_equal(m->model_seq, PK_MODEL_SEQ_MAX);
	assert_int_equal(m->rollout_percent, 0);
	assert_true(pk_manifest_is_for(m, "orin"));
	assert_true(pk_manifest_is_for(m, "agx-64"));
	assert_false(pk_manifest_is_for(m, "agx"));
	assert_false(pk_manifest_is_for(m, "agx-6"));
	assert_false(pk_manifest_is_for(m, "rin"));
	assert_false(pk_manifest_is_for(m, "orin,agx"));
	pk_manifest_destroy(m);
}

static void test_size_overflow(void **state)
{
	static const char text[] =
		HEAD LAYERS("{\"mediaType\":\"a/b\"," DIGEST ",\"size\":9223372036854775000},"
			    "{\"mediaType\":\"a/b\"," DIGEST ",\"size\":9223372036854775000}") "}";
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_manifest_parse(text, strlen(text), &manifest, &err), -EINVAL);
	assert_non_null(strstr(err.text, "layers[1]: size: the sum of all sizes overflows"));
}

static void test_too_big(void **state)
{
	size_t n = PK_MANIFEST_MAX_BYTES + 1;
	char *text = malloc(n);
	assert_non_null(text);
	memset(text, ' ', n);
	static const char small[] = WITH("");
	memcpy(text, small, strlen(small));
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_manifest_parse(text, n, &manifest, &err), -EFBIG);
	assert_int_equal(pk_manifest_parse(text, n - 1, &manifest, &err), 0);
	pk_manifest_destroy(manifest);
	free(text);
}

static void build_layers(struct pk_buf *out, int n)
{
	pk_buf_str(out, HEAD "\"layers\":[");
	for (int i = 0; i < n; i++)
		pk_buf_printf(out, "%s" PLAIN(TAR), i ? "," : "");
	pk_buf_str(out, "]}");
}

static void test_too_many_layers(void **state)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	struct pk_buf text pk_auto_buf;
	pk_buf_init(&text, PK_MANIFEST_MAX_BYTES);
	build_layers(&text, 256);
	assert_int_equal(pk_manifest_parse(text.data, text.len, &manifest, &err), 0);
	assert_int_equal(manifest->n_layers, 256);
	pk_manifest_destroy(manifest);
	pk_buf_clear(&text);
	build_layers(&text, 257);
	assert_int_equal(pk_manifest_parse(text.data, text.len, &manifest, &err), -EFBIG);
	assert_non_null(strstr(err.text, "257"));
}

static void test_deep_nesting(void **state)
{
	size_t n = 200000;
	char *text = malloc(n);
	assert_non_null(text);
	memset(text, '[', n);
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	assert_int_equal(pk_manifest_parse(text, n, &manifest, &err), -EINVAL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_artifact_type_falls_back_to_config),
		cmocka_unit_test(test_onnx_choice),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_size_overflow),
		cmocka_unit_test(test_too_big),
		cmocka_unit_test(test_too_many_layers),
		cmocka_unit_test(test_deep_nesting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
