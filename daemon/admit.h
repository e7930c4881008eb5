// SPDX-License-Identifier: Apache-2.0
// The first look at a model from outside, in picket-build: can it be used here at all?
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/card.h"
#include "engine/engine.h"

// Imports the ONNX file and checks the card against what it takes and gives: the input's shape and
// kind, the outputs that the decoder reads, the number of classes. Builds nothing. card may be
// NULL: only the import. -ENOTSUP, -EINVAL, -EDOM as pk_onnx_import; -EINVAL: card and model do not
// fit.
int pk_admit(const struct pk_build_options *options, const struct pk_card *card, struct pk_err *err)
	pk_must_check;
