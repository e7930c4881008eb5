// SPDX-License-Identifier: Apache-2.0
// OCI image manifests of model artifacts (CNCF ModelPack), parsed and checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"

#define PK_MANIFEST_MAX_BYTES (1 << 20)
#define PK_MODEL_NAME_MAX     255
#define PK_MODEL_SEQ_MAX      (INT64_C(1) << 53) // what every JSON reader can hold exactly

struct pk_descriptor {
	char *media_type;
	struct pk_digest digest;
	int64_t size;
	char *title; // file name from org.opencontainers.image.title or org.cncf.model.filepath; or
		     // NULL
};

struct pk_manifest {
	struct pk_digest digest; // of the raw bytes
	char *artifact_type;     // config.mediaType when the manifest names none
	struct pk_descriptor config;
	struct pk_descriptor *layers;
	size_t n_layers;
	char *version; // org.opencontainers.image.version or NULL
	// What a signature over the digest covers too; NULL and -1: not stated.
	char *model_name;    // dev.picket.model.name
	int64_t model_seq;   // dev.picket.model.seq: 0 .. 2^53, grows with every release
	char *target;        // dev.picket.target: classes of nodes, "a,b"
	int rollout_percent; // dev.picket.rollout: 0 .. 100
	int64_t total_size;  // bytes of config and layers; does not overflow
};

// Checks what stands above: kind, schemaVersion 2, media types, sha256 digests, sizes >= 0 and
// their sum, file names without path parts, no name twice, at most 256 layers, the dev.picket.*
// annotations. Located errors
// ("manifest: layers[2]: size: …"): -EINVAL, -EFBIG, -ENOTSUP (an index, a container image, another
// digest algorithm), -ENOMEM. On failure *out is NULL.

int pk_manifest_parse(const void *bytes, size_t n, struct pk_manifest **out, struct pk_err *err)
	pk_must_check;
void pk_manifest_destroy(struct pk_manifest *manifest);
PK_DEFINE_AUTO(pk_manifest, pk_manifest_destroy);

// The one ONNX layer; NULL when there is none or more than one.
const struct pk_descriptor *pk_manifest_onnx(const struct pk_manifest *manifest);
// Whether the artifact may run on nodes of class target: it names no target, or this one.
bool pk_manifest_is_for(const struct pk_manifest *manifest, const char *target);
// A decimal number as annotations carry it: digits only, no leading zero, 0 .. max. 0 or -EINVAL.
int pk_manifest_parse_decimal(const char *text, int64_t max, int64_t *out, struct pk_err *err)
	pk_must_check;
// Classes of nodes: 1..63 of a-z, 0-9, '.', '_' and '-' each, separated by commas. 0 or -EINVAL.
int pk_manifest_check_target(const char *text, struct pk_err *err) pk_must_check;
// A layer by its title ("card.yaml", "golden.json", …) or NULL.
const struct pk_descriptor *pk_manifest_file(const struct pk_manifest *manifest, const char *title);
