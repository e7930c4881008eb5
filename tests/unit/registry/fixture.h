// SPDX-License-Identifier: Apache-2.0
// A temporary folder with a hand-made OCI image layout and a store, for the registry's tests.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "registry/store.h"

#define FIXTURE_ONNX_BYTES 700001 // more than two copy chunks, and no multiple of anything

struct fixture {
	char dir[64];
	char layout[96];
	char store_root[96];
	struct pk_store *store;
	struct pk_digest onnx, card, config, manifest; // of fixture_artifact
};

int fixture_setup(void **state); // cmocka's form
int fixture_teardown(void **state);

void fixture_write(const char *path, const void *bytes, size_t n);
char *fixture_read(const char *path, size_t *n); // malloc'ed, NUL-terminated
// path of a file below the fixture's folder, in a buffer that lives until the fourth call after
const char *fixture_path(const struct fixture *fx, const char *name);

// Bytes that differ from place to place; for FIXTURE_ONNX_BYTES. malloc'ed.
uint8_t *fixture_pattern(size_t n, unsigned seed);
// A blob in the layout; returns its path (as fixture_path).
const char *fixture_blob(struct fixture *fx, const void *bytes, size_t n, struct pk_digest *digest);
const char *fixture_blob_path(const struct fixture *fx, const struct pk_digest *digest);
const char *fixture_store_path(const struct fixture *fx, const struct pk_digest *digest);
const char *fixture_part_path(const struct fixture *fx, const struct pk_digest *digest);
const char *fixture_digest_text(const struct pk_digest *digest); // as fixture_path
// A manifest text as a blob and the only tag of index.json.
void fixture_manifest(struct fixture *fx, const char *text, const char *tag);
// index.json as given.
void fixture_index(struct fixture *fx, const char *text);
// A whole artifact: model.onnx, card.yaml, config, manifest, tag.
void fixture_artifact(struct fixture *fx, const char *tag);
// Changes one byte of a file.
void fixture_flip(const char *path, long offset);
