// SPDX-License-Identifier: Apache-2.0
// A small update of a model as a node does it, and what must hold whenever it was cut short.
#include "update.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/record.h"
#include "registry/gc.h"
#include "registry/registry.h"

#define SLACK_BYTES 65536 // partial files count in blocks

static const char *record_path(const char *root)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/state/parts.json", root);
	return path;
}

// Each differs in its ONNX file and its card; the config is the same blob.
static void make_artifact(struct fixture *fx, unsigned seed, struct pk_digest *manifest)
{
	static const char config[] = "{\"config\":{\"format\":\"onnx\"}}";
	char card[64], text[2048];
	struct pk_digest onnx, card_digest, config_digest;
	uint8_t *bytes = fixture_pattern(UPDATE_ONNX_BYTES, seed);
	snprintf(card, sizeof(card), "name: seed%u\n", seed);
	fixture_blob(fx, bytes, UPDATE_ONNX_BYTES, &onnx);
	fixture_blob(fx, card, strlen(card), &card_digest);
	fixture_blob(fx, config, strlen(config), &config_digest);
	free(bytes);
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,"
		"\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
		"\"artifactType\":\"application/vnd.cncf.model.manifest.v1+json\","
		"\"config\":{\"mediaType\":\"application/vnd.cncf.model.config.v1+json\","
		"\"digest\":\"%s\",\"size\":%zu},\"layers\":["
		"{\"mediaType\":\"application/vnd.cncf.model.weight.v1.raw\",\"digest\":\"%s\","
		"\"size\":%d,\"annotations\":{\"org.opencontainers.image.title\":\"model.onnx\"}},"
		"{\"mediaType\":\"application/vnd.cncf.model.weight.config.v1.raw\","
		"\"digest\":\"%s\",\"size\":%zu,"
		"\"annotations\":{\"org.opencontainers.image.title\":\"card.yaml\"}}]}",
		fixture_digest_text(&config_digest), strlen(config), fixture_digest_text(&onnx),
		UPDATE_ONNX_BYTES, fixture_digest_text(&card_digest), strlen(card));
	fixture_manifest(fx, text, "stable");
	*manifest = fx->manifest;
}

static int pull(const struct update *update, struct pk_store *store,
	const struct pk_digest *manifest, struct pk_err *err)
{
	char ref[256];
	struct pk_manifest *pulled = NULL;
	snprintf(ref, sizeof(ref), "oci:%s@%s", update->fx->layout, fixture_digest_text(manifest));
	int rc = pk_pull(ref, NULL, store, NULL, &pulled, err);
	pk_manifest_destroy(pulled);
	return rc;
}

static int save(const char *root, const struct pk_digest *active, const struct pk_digest *previous,
	struct pk_err *err)
{
	char text[512];
	snprintf(text, sizeof(text), "{\"v\":1,\"active\":\"%s\",\"previous\":%s%s%s}",
		fixture_digest_text(active), previous ? "\"" : "",
		previous ? fixture_digest_text(previous) : "null", previous ? "\"" : "");
	return pk_record_save(NULL, record_path(root), text, strlen(text), err);
}

static int open_store(
	const struct update *update, const char *root, struct pk_store **out, struct pk_err *err)
{
	const struct pk_store_options options = {
		.quota_bytes = update->quota_bytes, .reserve_bytes = PK_STORE_RESERVE_NONE};
	return pk_store_open_with(root, &options, out, err);
}

static void must(int rc, const struct pk_err *err, const char *what, const char *step)
{
	if (rc < 0)
		fail_msg("%s: %s: %s", what, step, pk_err_text(err, rc));
}

void update_prepare(struct update *update, struct fixture *fx)
{
	struct pk_err err = {0};
	struct pk_store *store = NULL;
	char state[128];
	*update = (struct update){.fx = fx};
	snprintf(update->root, sizeof(update->root), "%s/node", fx->dir);
	snprintf(state, sizeof(state), "%s/state", update->root);
	make_artifact(fx, 1, &update->old);
	make_artifact(fx, 2, &update->garbage);
	make_artifact(fx, 3, &update->new);
	must(pk_fs_mkdirs(state, 0755, &err), &err, "prepare", "folder");
	must(open_store(update, update->root, &store, &err), &err, "prepare", "open");
	must(pull(update, store, &update->old, &err), &err, "prepare", "pull");
	must(pull(update, store, &update->garbage, &err), &err, "prepare", "pull");
	must(save(update->root, &update->old, NULL, &err), &err, "prepare", "save");
	int64_t used = 0;
	must(pk_store_usage(store, &used, &err), &err, "prepare", "usage");
	update->quota_bytes = used + used / 2 + SLACK_BYTES; // three artifacts, just
	pk_store_close(store);
}

static int clean(const char *root, struct pk_store *store, struct pk_err *err)
{
	struct pk_store_roots roots = {0};
	struct pk_store_gc_report report;
	char state[256];
	snprintf(state, sizeof(state), "%s/state", root);
	int rc = pk_store_roots_read(state, &roots, err);
	if (rc == 0)
		rc = pk_store_gc(store, &roots, false, &report, err);
	pk_store_roots_finish(&roots);
	return rc;
}

int update_run(const struct update *update, const char *root, struct pk_err *err)
{
	struct pk_store *store = NULL;
	int rc = open_store(update, root, &store, err);
	if (rc == 0)
		rc = pull(update, store, &update->new, err);
	if (rc == 0)
		rc = save(root, &update->new, &update->old, err);
	if (rc == 0)
		rc = clean(root, store, err);
	pk_store_close(store);
	return rc;
}

// Manifest and all that it names.
static void check_whole(struct pk_store *store, const struct pk_digest *manifest, const char *what)
{
	struct pk_err err = {0};
	pk_auto_buf struct pk_buf bytes;
	pk_auto(pk_manifest) parsed = NULL;
	must(pk_store_verify(store, manifest, &err), &err, what, "manifest");
	pk_auto_free char *path = pk_store_path(store, manifest);
	pk_buf_init(&bytes, PK_MANIFEST_MAX_BYTES);
	must(pk_fs_read(path, PK_MANIFEST_MAX_BYTES, &bytes, &err), &err, what, "manifest");
	must(pk_manifest_parse(bytes.data, bytes.len, &parsed, &err), &err, what, "manifest");
	must(pk_store_verify(store, &parsed->config.digest, &err), &err, what, "config");
	for (size_t i = 0; i < parsed->n_layers; i++)
		must(pk_store_verify(store, &parsed->layers[i].digest, &err), &err, what, "layer");
}

static void check_record(const struct update *update, struct pk_store *store, const char *root,
	bool must_be_new, const char *what)
{
	static const char *const members[] = {"active", "previous"};
	struct pk_err err = {0};
	pk_auto_buf struct pk_buf bytes;
	pk_auto_json json = NULL;
	pk_buf_init(&bytes, 4096);
	must(pk_record_load(record_path(root), &bytes, NULL, &err), &err, what, "record");
	must(pk_json_parse(bytes.data, bytes.len, "record", &json, &err), &err, what, "record");
	const char *active = json_string_value(json_object_get(json, "active"));
	assert_non_null(active);
	bool is_new = strcmp(active, fixture_digest_text(&update->new)) == 0;
	if (!is_new && (must_be_new || strcmp(active, fixture_digest_text(&update->old)) != 0))
		fail_msg("%s: the record names %s", what, active);
	for (size_t i = 0; i < PK_ARRAY_LEN(members); i++) {
		struct pk_digest digest;
		const char *text = json_string_value(json_object_get(json, members[i]));
		if (text && pk_digest_parse(text, &digest) == 0)
			check_whole(store, &digest, what);
	}
}

void update_check(const struct update *update, const char *root, const char *what)
{
	struct pk_err err = {0};
	struct pk_store *store = NULL;
	int64_t used = 0;
	must(open_store(update, root, &store, &err), &err, what, "open");
	check_record(update, store, root, false, what);
	pk_store_close(store);
	must(update_run(update, root, &err), &err, what, "the update after");
	must(open_store(update, root, &store, &err), &err, what, "open");
	check_record(update, store, root, true, what);
	check_whole(store, &update->old, what);
	if (pk_store_has(store, &update->garbage, -1))
		fail_msg("%s: the garbage is still there", what);
	must(pk_store_usage(store, &used, &err), &err, what, "usage");
	if (used > update->quota_bytes)
		fail_msg("%s: above the quota", what);
	pk_store_close(store);
}
