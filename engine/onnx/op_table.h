// SPDX-License-Identifier: Apache-2.0
// One row per ONNX operator and range of opsets that mean the same.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/onnx/model.h"

struct pk_importer;

// The newest opset of the default domain whose meanings the table knows.
#define PK_ONNX_MAX_OPSET 22

struct pk_op_row {
	const char *op_type;
	const char *domain;             // "": ai.onnx
	int since, until;               // opsets, inclusive
	int n_inputs_min, n_inputs_max; // max -1: any number
	// Space-separated "name:type", type of i f s t g I F S (as AttributeProto.AttributeType) or
	// x (the operator has it, but Picket does not), with '!' when required. Every other
	// attribute is an error.
	const char *attrs;
	int (*import)(struct pk_importer *im); // returns im->rc
	int arg;                               // for handlers that serve several rows
	const char *notes;                     // what is refused, for docs; NULL: nothing
};

extern const struct pk_op_row pk_op_table[];
extern const size_t pk_op_table_n;

// NULL when there is none; *other is then a row of the same operator at another opset, or NULL.
const struct pk_op_row *pk_op_table_find(struct pk_onnx_str op_type, struct pk_onnx_str domain,
	int64_t opset, const struct pk_op_row **other);
// "" and "ai.onnx" are one domain.
struct pk_onnx_str pk_onnx_domain(struct pk_onnx_str domain);
