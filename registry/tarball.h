// SPDX-License-Identifier: Apache-2.0
// An OCI image layout inside a tar file as a registry: what a USB stick brings.
#pragma once

#include "registry/registry.h"

// Scheme "file". The file must not change while it is open; every byte is verified all the same.
extern const struct pk_registry_ops pk_tarball_ops;
