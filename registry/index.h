// SPDX-License-Identifier: Apache-2.0
// OCI image indexes: picking this platform's manifest, filtering lists of referrers.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "registry/manifest.h"

// When the bytes are an image index: its one manifest for linux on this build's architecture, else
// the only one that names no platform; 1 and *out is the caller's (pk_descriptor_finish). 0: they
// are no index (or nothing that can be read: the manifest's parser will tell). -ENOENT with the
// platforms that are there, -ENOTSUP (an index in the index), -EINVAL.
int pk_index_select(const void *bytes, size_t n, struct pk_descriptor *out, struct pk_err *err)
	pk_must_check;

// Appends {"manifests":[…]} with the entries of artifact_type (NULL: all) that are well-formed.
// Bytes that are no image index give an empty list, as no bytes do.
int pk_index_filter(const void *bytes, size_t n, const char *artifact_type, struct pk_buf *out,
	struct pk_err *err) pk_must_check;
