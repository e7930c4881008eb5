// SPDX-License-Identifier: Apache-2.0
// The longer verbs of picketctl bundle. Each gets argv with argv[0] = the verb.
#pragma once

int pk_bundle_cmd_sign(int argc, char **argv);
int pk_bundle_cmd_verify(int argc, char **argv);
