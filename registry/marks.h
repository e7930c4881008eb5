// SPDX-License-Identifier: Apache-2.0
// Everything in the store that a set of manifests names, directly or as their signatures.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/err.h"
#include "registry/roots.h"
#include "registry/store.h"

struct pk_store_mark {
	struct pk_digest digest;
	bool root; // named by a record, not by another blob
};

struct pk_store_marks {
	struct pk_store_mark *items;
	size_t n;
	// A root was here once (its bad bytes are) and cannot be read: what it names is not known,
	// so no blob may be taken for unneeded. The text says which.
	bool incomplete;
	struct pk_err why;
};

// Marks the roots, what their bytes name (config, layers, the manifests of an index and theirs),
// and every artifact in the store that signs one of them: by "subject" (OCI 1.1) or by the payload
// of a cosign signature. A root that was never fetched marks only itself. -ENOMEM, -EIO. Reads the
// marked manifests and all small JSON blobs. Finish in any case.
int pk_store_marks_make(struct pk_store_marks *marks, struct pk_store *store,
	const struct pk_store_roots *roots, struct pk_err *err) pk_must_check;
void pk_store_marks_finish(struct pk_store_marks *marks);
const struct pk_store_mark *pk_store_marks_find(
	const struct pk_store_marks *marks, const struct pk_digest *digest); // or NULL
