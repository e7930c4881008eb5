// SPDX-License-Identifier: Apache-2.0
// What tells this node from all others, for rollouts.
#pragma once

#include "config/config.h"

#define PK_NODE_ID_MAX 160

// node.id of the config, else made from the machine id (which itself is not shown), else the node's
// name.
void pk_node_id(const struct pk_config *config, char out[PK_NODE_ID_MAX]);
