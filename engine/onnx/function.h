// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines itself: a call is replaced by the function's nodes.
#pragma once

#include "base/attr.h"
#include "engine/onnx/importer.h"

// NULL when the model has none of that name. They come before operators of the same name.
const struct pk_onnx_function *pk_function_find(
	const struct pk_onnx_model *model, struct pk_onnx_str op_type, struct pk_onnx_str domain);

// Imports the nodes of function in place of im's node, whose inputs are resolved. Bounded: calls
// nest 16 deep, and there are 4096 of them. Returns im->rc. Source: ONNX IR.md, "Functions".
int pk_function_import(struct pk_importer *im, const struct pk_onnx_function *function);
