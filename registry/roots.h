// SPDX-License-Identifier: Apache-2.0
// Which manifests must stay in the store: what the records below state/ name.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"

struct pk_store_roots {
	struct pk_digest *manifests;
	size_t n;
};

// Adds a digest unless it is there. -ENOMEM.
int pk_store_roots_add(struct pk_store_roots *roots, const struct pk_digest *manifest)
	pk_must_check;
void pk_store_roots_finish(struct pk_store_roots *roots);

// Adds every digest of every record (FOLDER/*.json, base/record.h) and of its previous generation:
// what a node may come back to must be there still. Not what stands under a member whose name says
// that it is no artifact to keep: "broken", "quarantine", "history", "key", "engine", and those
// that begin with "quarantine" or "engine". A digest too many keeps a file too many, no more. A
// missing folder has no records. -EBADMSG: a record of which no generation is whole, so that nobody
// knows what it named: then nothing may be removed. *roots grows by what was read in any case.
int pk_store_roots_read(const char *state_folder, struct pk_store_roots *roots, struct pk_err *err)
	pk_must_check;
// Of the bytes of one record's content. -EBADMSG: no JSON. Pure.
int pk_store_roots_parse(const void *content, size_t n, struct pk_store_roots *roots) pk_must_check;
