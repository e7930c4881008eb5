// SPDX-License-Identifier: Apache-2.0
// What a change of the config means for what runs, in words.
#pragma once

#include <jansson.h>

#include "config/diff.h"

// {cameras:[{name, change, effect}], models:[…], sinks:[…], sections:[{name, effect}]}; what a
// change means for what runs.
json_t *pk_config_changes_json(const struct pk_config_diff *diff);
