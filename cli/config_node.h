// SPDX-License-Identifier: Apache-2.0
// The verbs of `picketctl config` that talk to the running node.
#pragma once

static const char *const pk_config_verbs[] = {"plan", "apply", "confirm", "revert"};

int pk_cmd_config_node(int argc, char **argv); // argv[0] is the verb; the exit code
