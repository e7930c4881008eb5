// SPDX-License-Identifier: Apache-2.0
// A picture as a JPEG file.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/image/image.h"

// Any format; replaces path whole or not at all.
int pk_jpeg_write(const char *path, const struct pk_image *image, struct pk_err *err) pk_must_check;
