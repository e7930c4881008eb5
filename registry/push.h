// SPDX-License-Identifier: Apache-2.0
// An artifact from an OCI layout to a registry, its signatures with it. Source: OCI
// distribution-spec 1.1 ("Push").
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "registry/policy.h"
#include "registry/registry.h"

// Copies what layout_ref ("oci:…") names to target_ref ("HOST/NAME:TAG" or "HOST/NAME@sha256:…",
// then the same digest): blobs that are not there yet, manifests, the tag last. Then what the
// layout holds under the tags sha256-<hex> and sha256-<hex>.sig for that manifest: referrers and
// signatures. progress (or NULL): bytes of blobs; its blob callback says with `fetched` what had to
// be sent. *digest (or NULL): what was pushed. Errors as pk_pull; -EBADMSG: the layout's bytes are
// damaged. Blocks; any thread.
int pk_push(const char *layout_ref, const char *target_ref,
	const struct pk_registry_options *options, const struct pk_pull_progress *progress,
	struct pk_digest *digest, struct pk_err *err) pk_must_check;
