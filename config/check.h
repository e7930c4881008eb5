// SPDX-License-Identifier: Apache-2.0
// What no single key can tell: names that must exist, values that must agree.
#pragma once

#include "config/config.h"
#include "config/problem.h"
#include "config/yaml.h"

// Checks a decoded snapshot; root is the tree it was decoded from (for places). Members whose keys
// had mistakes hold their defaults and are passed over. 0 or -EINVAL with problems added.
int pk_config_check(const struct pk_config *config, const struct pk_yaml_node *root,
	struct pk_problems *problems) pk_must_check;
