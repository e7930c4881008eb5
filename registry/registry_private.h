// SPDX-License-Identifier: Apache-2.0
// What registry.c and pull.c share.
#pragma once

#include "registry/registry.h"

struct pk_registry {
	const struct pk_registry_ops *ops;
	void *impl;
	const struct pk_registry_options *options; // never NULL
};

// The raw bytes of the manifest that ref names, checked against its digest when it has one; of an
// image index the manifest for this platform, checked likewise. Nothing when poll says
// not_modified.
int pk_registry_get(struct pk_registry *registry, const struct pk_ref *ref,
	struct pk_resolved *poll, struct pk_buf *bytes, struct pk_err *err) pk_must_check;

// After wrong bytes: is there sense in asking for the same blob again?
bool pk_registry_distrust(struct pk_registry *registry);
