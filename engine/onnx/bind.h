// SPDX-License-Identifier: Apache-2.0
// Static shapes for the inputs of a model, from its own dims and the caller's bindings.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/onnx/importer.h"

// Adds every input that is no initialiser to the graph. A dim comes from the file, else from a
// binding of the input, else from a binding of its dim_param or from another input that was bound
// and has the same dim_param. One guess is made: dim 0 of an input of rank 2 or more whose other
// dims are all known is a batch, and 1. Dims of 0 and below in the file mean "dynamic" (some
// exporters write them). -EDOM: left open; -EINVAL: a binding that fits nothing; -ENOTSUP: the
// type.
int pk_bind_inputs(struct pk_import_state *state, struct pk_names *names, struct pk_err *err)
	pk_must_check;
