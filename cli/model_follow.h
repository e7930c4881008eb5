// SPDX-License-Identifier: Apache-2.0
// Follows an update until it serves, waits or is given up, with progress on stderr.
#pragma once

#include <stdbool.h>

// The exit code: 0 when the model serves what its reference names.
int pk_model_follow(const char *name, bool json);
