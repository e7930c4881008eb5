// SPDX-License-Identifier: Apache-2.0
// Writes into an OCI image-layout folder: blobs first, the tag last.
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"

struct pk_layout_writer;

// Makes the folder, the marker and blobs/sha256 when missing, and locks the folder. -ENOTEMPTY: it
// holds something else; -EBUSY: another writer.
int pk_layout_writer_open(const char *folder, struct pk_layout_writer **out, struct pk_err *err)
	pk_must_check;
void pk_layout_writer_close(struct pk_layout_writer *writer);
PK_DEFINE_AUTO(pk_layout_writer, pk_layout_writer_close);

// Copies a non-empty regular file in, hashing what it writes. *digest and *size say what it became.
int pk_layout_writer_file(struct pk_layout_writer *writer, const char *path,
	struct pk_digest *digest, int64_t *size, struct pk_err *err) pk_must_check;
int pk_layout_writer_bytes(struct pk_layout_writer *writer, const void *bytes, size_t n,
	struct pk_digest *digest, struct pk_err *err) pk_must_check;
// Points tag at descriptor (copied, the annotation for the tag is added); all other entries and
// keys of index.json stay as they are.
int pk_layout_writer_tag(struct pk_layout_writer *writer, const char *tag, const json_t *descriptor,
	struct pk_err *err) pk_must_check;
