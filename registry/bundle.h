// SPDX-License-Identifier: Apache-2.0
// Makes an artifact of files: ONNX, card and golden samples as a CNCF ModelPack in an OCI layout.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"

// The names of the files inside the artifact; golden samples keep their own.
#define PK_BUNDLE_ONNX        "model.onnx"
#define PK_BUNDLE_CARD        "card.yaml"
#define PK_BUNDLE_CALIBRATION "calibration.json"

struct pk_bundle_options {
	const char *onnx_path;        // required
	const char *card_path;        // required; checking it is the caller's
	const char *calibration_path; // what `picketctl engine calibrate` wrote for it; or NULL
	const char *golden_dir;       // every file in it (hidden ones not), no subfolders; or NULL
	const char *const *golden_paths; // further golden samples, n_golden_paths of them
	size_t n_golden_paths;
	const char *name;    // of the model, also dev.picket.model.name; or NULL
	const char *seq;     // dev.picket.model.seq: decimal, 0 .. 2^53; or NULL
	const char *target;  // dev.picket.target: classes of nodes, "a,b"; or NULL
	const char *rollout; // dev.picket.rollout: percent, 0 .. 100; or NULL
	const char *version; // or NULL
	const char *created; // "2026-11-30T19:24:27Z"; NULL: left out, so that equal inputs give
			     // equal bytes
	const char *folder;  // the layout; made when missing, an existing one keeps its other tags
	const char *tag;     // moved when it is there
};

// Writes blobs, manifest and index.json, each atomically and the index last, so a reader of the
// folder sees the old tag or the new one, whole. The same inputs give the same digest. One writer
// at a time is enforced by a lock on the folder (-EBUSY). Any thread. -EINVAL: file names or
// options; -ENOTEMPTY: the folder holds something that is no OCI layout.
int pk_bundle_create(const struct pk_bundle_options *options, struct pk_digest *manifest_digest,
	struct pk_err *err) pk_must_check;
