// SPDX-License-Identifier: Apache-2.0
// An OCI image-layout folder as a registry. Source: OCI image-spec 1.1, image-layout.md.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "registry/registry.h"

#define PK_LAYOUT_VERSION     "1.0.0"
#define PK_LAYOUT_INDEX_MAX   (1 << 20) // bytes of index.json
#define PK_LAYOUT_MARKER_MAX  4096      // bytes of the file "oci-layout"
#define PK_LAYOUT_MARKER      "oci-layout"
#define PK_LAYOUT_INDEX       "index.json"
#define PK_LAYOUT_MARKER_TEXT "{\"imageLayoutVersion\":\"" PK_LAYOUT_VERSION "\"}"

// Scheme "oci". Links inside the folder are not followed; only regular files are read.
extern const struct pk_registry_ops pk_layout_ops;

// 0 when the marker file's bytes say that this is a layout of a version that we know.
int pk_layout_check_marker(const void *bytes, size_t n, struct pk_err *err) pk_must_check;

// What tag names in index.json's bytes; *out is the caller's (pk_descriptor_finish). -ENOENT with
// the tags that are there; -EINVAL when the index is malformed or gives the tag twice with
// different digests.
int pk_layout_find(const void *bytes, size_t n, const char *tag, struct pk_descriptor *out,
	struct pk_err *err) pk_must_check;
