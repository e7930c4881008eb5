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
#include "registry/manifest.h"
#include "registry/store.h"

struct pk_engine_file {
	char runtime[32]; // "": no runtime can serve it
	int opt_level;
	bool int8;
	char *path;                  // ENGINES/<hex of the key>.engine
	char *key;                   // canonical JSON
	char digest[PK_DIGEST_TEXT]; // of the key
	char *timing;
};
void pk_engine_file_finish(struct pk_engine_file *file);

#define PK_N_MADE_KINDS PK_ENGINE_OLD // QUICK and TUNED are made, OLD is inherited

struct pk_artifact {
	unsigned n_refs;
	char digest[PK_DIGEST_TEXT]; // of the manifest
	char version[64];            // as its maker calls it; ""
	json_t *labels;              // array of texts
	char *onnx, *card;           // paths in the store
	char *calibration;           // likewise; NULL: it brings none
	json_t *shapes;              // {input: [1,3,320,320]}
	json_t *golden;              // {title: path} or NULL
	struct pk_engine_file files[PK_N_MADE_KINDS];
};
struct pk_artifact *pk_artifact_ref(struct pk_artifact *artifact); // one thread at a time
void pk_artifact_unref(struct pk_artifact *artifact);              // NULL is fine
PK_DEFINE_AUTO(pk_artifact, pk_artifact_unref);
// Same model and same engines.
bool pk_artifact_equal(const struct pk_artifact *a, const struct pk_artifact *b);

struct pk_artifact_request {
	const char *digest;                   // of the manifest, in the store already
	const char *store, *engines, *timing; // folders
	int64_t quota_bytes, reserve_bytes;
	struct {
		const char *runtime; // NULL or "": none
		int opt_level;
		bool int8; // if there is a calibration
	} targets[PK_N_MADE_KINDS];
};

// Finds it in the store, hashes every blob once more (the disk may have changed since), reads the
// card, works out the engine keys. Blocks; any one thread at a time. On 0 *out is the caller's.
// -ENOENT: not in the store; -EBADMSG: damaged, and moved aside; -EINVAL: the card or what the
// artifact holds.
int pk_artifact_prepare(const struct pk_artifact_request *request, struct pk_artifact **out,
	struct pk_err *err) pk_must_check;

// The manifest of a digest in the store, hashed. -ENOENT, -EBADMSG, -EINVAL.
int pk_artifact_manifest(struct pk_store *store, const char *digest, struct pk_manifest **out,
	struct pk_err *err) pk_must_check;
// Everything that it names is in the store; nothing is hashed but the manifest.
bool pk_artifact_is_complete(struct pk_store *store, const char *digest);
