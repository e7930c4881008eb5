// SPDX-License-Identifier: Apache-2.0
// The verbs of `picketctl config` that talk to the running node.
#pragma once

extern const char pk_config_usage[]; // of all verbs of `config`

int pk_config_plan_verb(int argc, char **argv);
int pk_config_apply_verb(int argc, char **argv);
int pk_config_confirm_verb(int argc, char **argv);
int pk_config_revert_verb(int argc, char **argv);
