// SPDX-License-Identifier: Apache-2.0
// One plain file behind https as a registry with a single artifact in it.
#pragma once

#include "registry/registry.h"

// Scheme "https". The manifest is made here of the file's name, size and digest: one weight layer
// and the empty config; the same file gives the same manifest.
extern const struct pk_registry_ops pk_web_ops;
