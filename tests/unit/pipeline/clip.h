// SPDX-License-Identifier: Apache-2.0
// Clips for source tests, made when they run.
#pragma once

#include <stdbool.h>

#include "base/attr.h"

// Encodes n frames of 320 x 240 at 30/s as H.264 in MP4. False when this machine has no encoder.
bool test_clip(const char *path, int n_frames) pk_must_check;
// Tests that need it exit 77 so.
void test_need_clip(const char *path, int n_frames);
