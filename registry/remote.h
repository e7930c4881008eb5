// SPDX-License-Identifier: Apache-2.0
// A registry over HTTPS: manifests, blobs (mirrors first), referrers. Source: OCI distribution-spec
// 1.1.
#pragma once

#include "registry/registry.h"

// Scheme "registry".
extern const struct pk_registry_ops pk_remote_ops;
