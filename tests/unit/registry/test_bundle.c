// SPDX-License-Identifier: Apache-2.0
// Bundles: media types, names, determinism, tags that move, and the way back through a pull.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/fs.h"
#include "base/json.h"
#include "fixture.h"
#include "registry/bundle.h"
#include "registry/registry.h"

// The paths of one bundle's inputs and of the layout that it makes.
struct paths {
	char onnx[128], card[128], golden[128], out[128];
};

static struct paths make_inputs(const struct fixture *fx)
{
	struct paths p;
	struct pk_err err = {0};
	uint8_t *onnx = fixture_pattern(FIXTURE_ONNX_BYTES, 21);
	snprintf(p.onnx, sizeof(p.onnx), "%s/net.bin", fx->dir);
	snprintf(p.card, sizeof(p.card), "%s/belt.yaml", fx->dir);
	snprintf(p.golden, sizeof(p.golden), "%s/golden", fx->dir);
	snprintf(p.out, sizeof(p.out), "%s/out", fx->dir);
	fixture_write(p.onnx, onnx, FIXTURE_ONNX_BYTES);
	free(onnx);
	fixture_write(p.card, "name: belt\n", 11);
	assert_int_equal(pk_fs_mkdirs(p.golden, 0755, &err), 0);
	fixture_write(fixture_path(fx, "golden/b.ppm"), "second", 6);
	fixture_write(fixture_path(fx, "golden/golden.json"), "{}", 2);
	fixture_write(fixture_path(fx, "golden/a.ppm"), "first", 5);
	fixture_write(fixture_path(fx, "golden/.hidden"), "no", 2);
	return p;
}

static struct pk_bundle_options options_of(const struct paths *p, const char *tag)
{
	return (struct pk_bundle_options){
		.onnx_path = p->onnx,
		.card_path = p->card,
		.golden_dir = p->golden,
		.name = "belt",
		.version = "1.0.0",
		.folder = p->out,
		.tag = tag,
	};
}

static struct pk_digest create(const struct pk_bundle_options *options)
{
	struct pk_digest digest;
	struct pk_err err = {0};
	if (pk_bundle_create(options, &digest, &err) < 0)
		fail_msg("%s", err.text);
	return digest;
}

static void create_fails(const struct pk_bundle_options *options, int code, const char *why)
{
	struct pk_digest digest;
	struct pk_err err = {0};
	int rc = pk_bundle_create(options, &digest, &err);
	if (rc != code || !strstr(err.text, why))
		fail_msg("%d, '%s' instead of %d, '%s'", rc, err.text, code, why);
}

static void use_out_as_layout(struct fixture *fx, const struct paths *p)
{
	snprintf(fx->layout, sizeof(fx->layout), "%.95s", p->out);
}

static struct pk_manifest *pull(struct fixture *fx, const char *suffix)
{
	struct pk_manifest *manifest = NULL;
	struct pk_err err = {0};
	char ref[256];
	snprintf(ref, sizeof(ref), "oci:%s%s", fx->layout, suffix);
	if (pk_pull(ref, NULL, fx->store, NULL, &manifest, &err) < 0)
		fail_msg("%s", err.text);
	return manifest;
}

static json_t *load(const char *path)
{
	size_t n;
	json_t *json = NULL;
	struct pk_err err = {0};
	char *text = fixture_read(path, &n);
	if (pk_json_parse(text, n, path, &json, &err) < 0)
		fail_msg("%s", err.text);
	free(text);
	return json;
}

static const char *text_at(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));
	return text ? text : "";
}

static void check_layer(const json_t *layer, const char *media_type, const char *name)
{
	const json_t *names = json_object_get(layer, "annotations");
	assert_string_equal(text_at(layer, "mediaType"), media_type);
	assert_string_equal(text_at(names, "org.opencontainers.image.title"), name);
	assert_string_equal(text_at(names, "org.cncf.model.filepath"), name);
}

// The exact document: OCI manifest 1.1 with the ModelPack's media types.
static void test_manifest_text(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	options.seq = "17";
	options.target = "orin,agx";
	options.rollout = "25";
	struct pk_digest digest = create(&options);
	use_out_as_layout(fx, &p);
	json_t *m = load(fixture_blob_path(fx, &digest));
	const json_t *layers = json_object_get(m, "layers");
	assert_int_equal(json_integer_value(json_object_get(m, "schemaVersion")), 2);
	assert_string_equal(text_at(m, "mediaType"), "application/vnd.oci.image.manifest.v1+json");
	assert_string_equal(
		text_at(m, "artifactType"), "application/vnd.cncf.model.manifest.v1+json");
	assert_string_equal(text_at(json_object_get(m, "config"), "mediaType"),
		"application/vnd.cncf.model.config.v1+json");
	assert_int_equal(json_array_size(layers), 5);
	check_layer(json_array_get(layers, 0), "application/vnd.cncf.model.weight.v1.raw",
		"model.onnx");
	check_layer(json_array_get(layers, 1), "application/vnd.cncf.model.weight.config.v1.raw",
		"card.yaml");
	check_layer(
		json_array_get(layers, 2), "application/vnd.cncf.model.dataset.v1.raw", "a.ppm");
	check_layer(
		json_array_get(layers, 3), "application/vnd.cncf.model.dataset.v1.raw", "b.ppm");
	check_layer(json_array_get(layers, 4), "application/vnd.cncf.model.dataset.v1.raw",
		"golden.json");
	const json_t *annotations = json_object_get(m, "annotations");
	assert_string_equal(text_at(annotations, "org.opencontainers.image.version"), "1.0.0");
	assert_string_equal(text_at(annotations, "org.opencontainers.image.title"), "belt");
	assert_null(json_object_get(annotations, "org.opencontainers.image.created"));
	assert_string_equal(text_at(annotations, "dev.picket.model.name"), "belt");
	assert_string_equal(text_at(annotations, "dev.picket.model.seq"), "17");
	assert_string_equal(text_at(annotations, "dev.picket.target"), "orin,agx");
	assert_string_equal(text_at(annotations, "dev.picket.rollout"), "25");
	json_decref(m);
	struct pk_manifest *read = pull(fx, ":stable");
	assert_string_equal(read->model_name, "belt");
	assert_int_equal(read->model_seq, 17);
	assert_int_equal(read->rollout_percent, 25);
	pk_manifest_destroy(read);
}

// The schema of the ModelPack config has additionalProperties: false at every level.
static void test_config_text(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	options.created = "2026-11-30T19:24:27Z";
	create(&options);
	use_out_as_layout(fx, &p);
	struct pk_manifest *m = pull(fx, ":stable");
	json_t *config = load(fixture_store_path(fx, &m->config.digest));
	const json_t *about = json_object_get(config, "descriptor");
	const json_t *modelfs = json_object_get(config, "modelfs");
	const json_t *diff_ids = json_object_get(modelfs, "diffIds");
	assert_int_equal(json_object_size(config), 3);
	assert_int_equal(json_object_size(about), 3);
	assert_string_equal(text_at(about, "name"), "belt");
	assert_string_equal(text_at(about, "version"), "1.0.0");
	assert_string_equal(text_at(about, "createdAt"), "2026-11-30T19:24:27Z");
	assert_int_equal(json_object_size(json_object_get(config, "config")), 1);
	assert_string_equal(text_at(json_object_get(config, "config"), "format"), "onnx");
	assert_int_equal(json_object_size(modelfs), 2);
	assert_string_equal(text_at(modelfs, "type"), "layers");
	assert_int_equal(json_array_size(diff_ids), m->n_layers);
	for (size_t i = 0; i < m->n_layers; i++)
		assert_string_equal(json_string_value(json_array_get(diff_ids, i)),
			fixture_digest_text(&m->layers[i].digest));
	json_decref(config);
	pk_manifest_destroy(m);
}

static void test_round_trip(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	struct pk_digest digest = create(&options);
	use_out_as_layout(fx, &p);
	struct pk_manifest *m = pull(fx, ":stable");
	assert_true(pk_digest_equal(&m->digest, &digest));
	assert_string_equal(m->version, "1.0.0");
	const struct pk_descriptor *onnx = pk_manifest_onnx(m);
	assert_non_null(onnx);
	assert_ptr_equal(onnx, pk_manifest_file(m, PK_BUNDLE_ONNX));
	size_t n;
	char *bytes = fixture_read(fixture_store_path(fx, &onnx->digest), &n);
	char *source = fixture_read(p.onnx, NULL);
	assert_int_equal(n, FIXTURE_ONNX_BYTES);
	assert_memory_equal(bytes, source, n);
	free(bytes);
	free(source);
	const struct pk_descriptor *card = pk_manifest_file(m, PK_BUNDLE_CARD);
	assert_non_null(card);
	bytes = fixture_read(fixture_store_path(fx, &card->digest), NULL);
	assert_string_equal(bytes, "name: belt\n");
	free(bytes);
	assert_non_null(pk_manifest_file(m, "golden.json"));
	pk_manifest_destroy(m);
}

static void test_same_inputs_same_bytes(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	char other[128];
	char index[160];
	struct pk_digest first = create(&options);
	snprintf(index, sizeof(index), "%s/index.json", p.out);
	char *before = fixture_read(index, NULL);
	struct pk_digest again = create(&options);
	char *after = fixture_read(index, NULL);
	assert_true(pk_digest_equal(&first, &again));
	assert_string_equal(before, after);
	free(before);
	free(after);
	// Elsewhere, at another time, under other file names, files in another order.
	snprintf(other, sizeof(other), "%s/elsewhere", fx->dir);
	char moved[128];
	snprintf(moved, sizeof(moved), "%s/renamed.onnx", fx->dir);
	assert_int_equal(rename(p.onnx, moved), 0);
	char b[160], j[160], a[160];
	snprintf(a, sizeof(a), "%s/a.ppm", p.golden);
	snprintf(b, sizeof(b), "%s/b.ppm", p.golden);
	snprintf(j, sizeof(j), "%s/golden.json", p.golden);
	const char *golden[] = {j, b, a};
	options.golden_dir = NULL;
	options.golden_paths = golden;
	options.n_golden_paths = 3;
	options.onnx_path = moved;
	options.folder = other;
	options.tag = "another";
	struct pk_digest elsewhere = create(&options);
	assert_true(pk_digest_equal(&first, &elsewhere));
}

static void test_each_input_changes_the_digest(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	struct pk_digest seen[6];
	size_t n = 0;
	seen[n++] = create(&options);
	options.version = "1.0.1";
	seen[n++] = create(&options);
	options.created = "2026-11-30T19:24:27Z";
	seen[n++] = create(&options);
	fixture_flip(p.onnx, 77);
	seen[n++] = create(&options);
	fixture_write(p.card, "name: Belt\n", 11);
	seen[n++] = create(&options);
	options.golden_dir = NULL;
	seen[n++] = create(&options);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(pk_digest_equal(&seen[i], &seen[j]));
}

static void test_tags(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options v1 = options_of(&p, "v1");
	struct pk_bundle_options stable = options_of(&p, "stable");
	use_out_as_layout(fx, &p);
	struct pk_digest first = create(&v1);
	create(&stable);
	fixture_flip(p.onnx, 5);
	stable.version = "2.0.0";
	struct pk_digest second = create(&stable);
	struct pk_manifest *m = pull(fx, ":stable");
	assert_true(pk_digest_equal(&m->digest, &second));
	assert_string_equal(m->version, "2.0.0");
	pk_manifest_destroy(m);
	m = pull(fx, ":v1");
	assert_true(pk_digest_equal(&m->digest, &first));
	pk_manifest_destroy(m);
	json_t *index = load(fixture_path(fx, "out/index.json"));
	assert_int_equal(json_array_size(json_object_get(index, "manifests")), 2);
	json_decref(index);
}

// What others wrote into index.json stays; a tag that was there twice is there once.
static void test_foreign_index(void **state)
{
	static const char text[] =
		"{\"schemaVersion\":2,\"annotations\":{\"k\":\"v\"},\"manifests\":["
		"{\"mediaType\":\"x/y\",\"annotations\":{\"org.opencontainers.image.ref.name\":"
		"\"stable\"}},"
		"{\"mediaType\":\"x/keep\",\"platform\":{\"os\":\"linux\"}},"
		"{\"mediaType\":\"x/z\",\"annotations\":{\"org.opencontainers.image.ref.name\":"
		"\"stable\"}}]}";
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options options = options_of(&p, "stable");
	options.folder = fx->layout;
	fixture_index(fx, text);
	create(&options);
	json_t *index = load(fixture_path(fx, "layout/index.json"));
	const json_t *manifests = json_object_get(index, "manifests");
	assert_string_equal(text_at(json_object_get(index, "annotations"), "k"), "v");
	assert_int_equal(json_array_size(manifests), 2);
	assert_string_equal(text_at(json_array_get(manifests, 0), "artifactType"),
		"application/vnd.cncf.model.manifest.v1+json");
	assert_string_equal(text_at(json_array_get(manifests, 1), "mediaType"), "x/keep");
	json_decref(index);
	pk_manifest_destroy(pull(fx, ":stable"));
}

static void test_refused_inputs(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options good = options_of(&p, "stable");
	struct pk_bundle_options o = good;
	o.tag = "bad tag";
	create_fails(&o, -EINVAL, "tag 'bad tag'");
	o = good;
	o.tag = NULL;
	create_fails(&o, -EINVAL, "required");
	o = good;
	o.created = "yesterday";
	create_fails(&o, -EINVAL, "created 'yesterday'");
	o.created = "2026-11-30T19:24:27Zx";
	create_fails(&o, -EINVAL, "created");
	o = good;
	o.version = "a\nb";
	create_fails(&o, -EINVAL, "version: control character");
	o.version = "\xff";
	create_fails(&o, -EINVAL, "not UTF-8");
	o = good;
	o.seq = "9007199254740993";
	create_fails(&o, -EINVAL, "seq: '9007199254740993'");
	o = good;
	o.rollout = "101";
	create_fails(&o, -EINVAL, "rollout: '101'");
	o = good;
	o.target = "Orin";
	create_fails(&o, -EINVAL, "target: 'Orin'");
	o = good;
	o.onnx_path = fixture_path(fx, "missing.onnx");
	create_fails(&o, -ENOENT, "missing.onnx");
	o.onnx_path = p.golden;
	create_fails(&o, -EINVAL, "not a regular file");
	o.onnx_path = "/dev/zero";
	create_fails(&o, -EINVAL, "not a regular file");
	fixture_write(fixture_path(fx, "empty"), "", 0);
	o.onnx_path = fixture_path(fx, "empty");
	create_fails(&o, -EINVAL, "empty: empty");
	o = good;
	o.golden_dir = fixture_path(fx, "nowhere");
	create_fails(&o, -ENOENT, "nowhere");
	o = good;
	assert_int_equal(mkdir(fixture_path(fx, "golden/sub"), 0755), 0);
	create_fails(&o, -EINVAL, "sub: not a regular file");
	assert_int_equal(rmdir(fixture_path(fx, "golden/sub")), 0);
	fixture_write(fixture_path(fx, "golden/card.yaml"), "x", 1);
	create_fails(&o, -EINVAL, "another layer is named 'card.yaml'");
	assert_int_equal(unlink(fixture_path(fx, "golden/card.yaml")), 0);
	create(&good);
}

static void test_refused_folders(void **state)
{
	struct fixture *fx = *state;
	struct paths p = make_inputs(fx);
	struct pk_bundle_options o = options_of(&p, "stable");
	o.folder = p.golden; // holds files, no layout
	create_fails(&o, -ENOTEMPTY, "neither empty nor an OCI image layout");
	assert_false(pk_fs_exists(fixture_path(fx, "golden/oci-layout")));
	o.folder = p.card;
	assert_true(pk_bundle_create(&o, &(struct pk_digest){0}, NULL) < 0);
	o.folder = fx->layout;
	fixture_index(fx, "{\"manifests\":7}");
	create_fails(&o, -EINVAL, "manifests");
	fixture_index(fx, "{\"manifests\":[]}");
	int fd = open(fx->layout, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	create_fails(&o, -EBUSY, "another process");
	close(fd);
	create(&o);
	fixture_write(fixture_path(fx, "layout/oci-layout"), "{\"imageLayoutVersion\":\"9\"}", 26);
	create_fails(&o, -ENOTSUP, "only 1.0.0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_manifest_text),
		TEST(test_config_text),
		TEST(test_round_trip),
		TEST(test_same_inputs_same_bytes),
		TEST(test_each_input_changes_the_digest),
		TEST(test_tags),
		TEST(test_foreign_index),
		TEST(test_refused_inputs),
		TEST(test_refused_folders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
