// SPDX-License-Identifier: Apache-2.0
// One model as it lies in the store, and which engine files belong to it on this node.
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "daemon/fallback.h"

struct pk_engine_file {
	char runtime[32]; // "": no runtime can serve it
	int opt_level;
	char *path;                  // ENGINES/<hex of the key>.engine
	char *key;                   // canonical JSON
	char digest[PK_DIGEST_TEXT]; // of the key
	char *timing;
};
void pk_engine_file_finish(struct pk_engine_file *file);

#define PK_N_MADE_KINDS PK_ENGINE_OLD // QUICK and TUNED are made, OLD is inherited

struct pk_artifact {
	char digest[PK_DIGEST_TEXT]; // of the manifest
	char *onnx, *card;           // paths in the store
	json_t *shapes;              // {input: [1,3,320,320]}
	json_t *golden;              // {title: path} or NULL
	struct pk_engine_file files[PK_N_MADE_KINDS];
};
void pk_artifact_destroy(struct pk_artifact *artifact);
PK_DEFINE_AUTO(pk_artifact, pk_artifact_destroy);
// Same model and same engines.
bool pk_artifact_equal(const struct pk_artifact *a, const struct pk_artifact *b);

struct pk_artifact_request {
	const char *ref;                      // pulled from there; or
	const char *digest;                   // manifest digest of what is in the store already
	const char *store, *engines, *timing; // folders
	int64_t quota_bytes, reserve_bytes;   // as in registry/store.h
	struct {
		const char *runtime; // NULL or "": none
		int opt_level;
	} targets[PK_N_MADE_KINDS];
	const atomic_bool *cancel;
};

// Pulls or finds, verifies every blob, reads the card, works out the engine keys. Blocks; any one
// thread at a time. On 0 *out is the caller's. Errors of pk_pull; -EINVAL: the card or what the
// artifact holds.
int pk_artifact_prepare(const struct pk_artifact_request *request, struct pk_artifact **out,
	struct pk_err *err) pk_must_check;
