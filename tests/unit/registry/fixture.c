// SPDX-License-Identifier: Apache-2.0
// A temporary folder with a hand-made OCI image layout and a store, for the registry's tests.
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"

#define SLOT_BYTES 512

static char *next_slot(void)
{
	static char slots[4][SLOT_BYTES];
	static unsigned next;
	return slots[next++ % 4];
}

const char *fixture_path(const struct fixture *fx, const char *name)
{
	char *slot = next_slot();
	snprintf(slot, SLOT_BYTES, "%s/%s", fx->dir, name);
	return slot;
}

const char *fixture_digest_text(const struct pk_digest *digest)
{
	char *slot = next_slot();
	pk_digest_format(digest, slot);
	return slot;
}

static const char *below(
	const char *root, const char *folder, const struct pk_digest *digest, const char *suffix)
{
	char *slot = next_slot();
	char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	snprintf(slot, SLOT_BYTES, "%s/%s/%s%s", root, folder, text + strlen(PK_DIGEST_PREFIX),
		suffix);
	return slot;
}

const char *fixture_blob_path(const struct fixture *fx, const struct pk_digest *digest)
{
	return below(fx->layout, "blobs/sha256", digest, "");
}

const char *fixture_store_path(const struct fixture *fx, const struct pk_digest *digest)
{
	return below(fx->store_root, "blobs/sha256", digest, "");
}

const char *fixture_part_path(const struct fixture *fx, const struct pk_digest *digest)
{
	return below(fx->store_root, "tmp", digest, ".part");
}

void fixture_write(const char *path, const void *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

char *fixture_read(const char *path, size_t *n)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	long size = ftell(file);
	assert_true(size >= 0);
	rewind(file);
	char *bytes = malloc((size_t)size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	bytes[size] = '\0';
	fclose(file);
	if (n)
		*n = (size_t)size;
	return bytes;
}

void fixture_flip(const char *path, long offset)
{
	FILE *file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	int c = fgetc(file);
	assert_true(c != EOF);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_true(fputc(c ^ 1, file) != EOF);
	assert_int_equal(fclose(file), 0);
}

uint8_t *fixture_pattern(size_t n, unsigned seed)
{
	uint8_t *bytes = malloc(n ? n : 1);
	assert_non_null(bytes);
	uint32_t x = seed * 2654435761u + 1;
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(x >> 24);
	}
	return bytes;
}

const char *fixture_blob(struct fixture *fx, const void *bytes, size_t n, struct pk_digest *digest)
{
	assert_int_equal(pk_digest_bytes(bytes, n, digest), 0);
	const char *path = fixture_blob_path(fx, digest);
	fixture_write(path, bytes, n);
	return path;
}

void fixture_index(struct fixture *fx, const char *text)
{
	fixture_write(fixture_path(fx, "layout/index.json"), text, strlen(text));
}

void fixture_manifest(struct fixture *fx, const char *text, const char *tag)
{
	char index[1024];
	fixture_blob(fx, text, strlen(text), &fx->manifest);
	snprintf(index, sizeof(index),
		"{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":"
		"\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"%s\",\"size\":%zu,"
		"\"annotations\":{\"org.opencontainers.image.ref.name\":\"%s\"}}]}",
		fixture_digest_text(&fx->manifest), strlen(text), tag);
	fixture_index(fx, index);
}

void fixture_artifact(struct fixture *fx, const char *tag)
{
	static const char card[] = "name: test\n";
	static const char config[] = "{\"config\":{\"format\":\"onnx\"}}";
	char text[2048];
	uint8_t *onnx = fixture_pattern(FIXTURE_ONNX_BYTES, 1);
	fixture_blob(fx, onnx, FIXTURE_ONNX_BYTES, &fx->onnx);
	free(onnx);
	fixture_blob(fx, card, strlen(card), &fx->card);
	fixture_blob(fx, config, strlen(config), &fx->config);
	snprintf(text, sizeof(text),
		"{\"schemaVersion\":2,"
		"\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
		"\"artifactType\":\"application/vnd.cncf.model.manifest.v1+json\","
		"\"config\":{\"mediaType\":\"application/vnd.cncf.model.config.v1+json\","
		"\"digest\":\"%s\",\"size\":%zu},"
		"\"layers\":["
		"{\"mediaType\":\"application/vnd.cncf.model.weight.v1.raw\",\"digest\":\"%s\","
		"\"size\":%d,\"annotations\":{\"org.opencontainers.image.title\":\"model.onnx\"}},"
		"{\"mediaType\":\"application/vnd.cncf.model.weight.config.v1.raw\","
		"\"digest\":\"%s\",\"size\":%zu,"
		"\"annotations\":{\"org.cncf.model.filepath\":\"card.yaml\"}}],"
		"\"annotations\":{\"org.opencontainers.image.version\":\"1.4.0\"}}",
		fixture_digest_text(&fx->config), strlen(config), fixture_digest_text(&fx->onnx),
		FIXTURE_ONNX_BYTES, fixture_digest_text(&fx->card), strlen(card));
	fixture_manifest(fx, text, tag);
}

int fixture_setup(void **state)
{
	static const char marker[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
	struct fixture *fx = calloc(1, sizeof(*fx));
	struct pk_err err = {0};
	if (!fx)
		return -1;
	const char *tmp = getenv("TMPDIR");
	snprintf(fx->dir, sizeof(fx->dir), "%.40s/picket-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(fx->dir))
		return -1;
	snprintf(fx->layout, sizeof(fx->layout), "%s/layout", fx->dir);
	snprintf(fx->store_root, sizeof(fx->store_root), "%s/store", fx->dir);
	if (pk_fs_mkdirs(fixture_path(fx, "layout/blobs/sha256"), 0755, &err) < 0)
		return -1;
	fixture_write(fixture_path(fx, "layout/oci-layout"), marker, strlen(marker));
	fixture_index(fx, "{\"schemaVersion\":2,\"manifests\":[]}");
	*state = fx;
	const struct pk_store_options options = {.reserve_bytes = PK_STORE_RESERVE_NONE};
	return pk_store_open_with(fx->store_root, &options, &fx->store, &err);
}

int fixture_teardown(void **state)
{
	struct fixture *fx = *state;
	struct pk_err err = {0};
	pk_store_close(fx->store);
	int rc = pk_fs_remove_tree(fx->dir, &err);
	free(fx);
	return rc;
}
