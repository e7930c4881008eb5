// SPDX-License-Identifier: Apache-2.0
// The `registries` of a config as the registry library wants them.
#pragma once

#include <stddef.h>

#include "base/attr.h"
#include "config/config.h"
#include "registry/policy.h"

struct pk_registries {
	struct pk_registry_host *hosts;
	size_t n;
};

// A deep copy: it may outlive config. "credential:NAME" becomes $CREDENTIALS_DIRECTORY/NAME. On 0
// the caller finishes *out; -ENOMEM: *out holds nothing.
int pk_registries_copy(const struct pk_config *config, struct pk_registries *out) pk_must_check;
void pk_registries_finish(struct pk_registries *registries); // zeroes it
