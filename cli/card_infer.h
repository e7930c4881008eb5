// SPDX-License-Identifier: Apache-2.0
// Proposes a model card from what an ONNX file says of itself: shapes and metadata. Never guesses:
// what could mean two things is a question to the person.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

#define PK_CARD_INFER_MAX_OUTPUTS 16
#define PK_CARD_INFER_MAX_RANK    6

// One tensor of the graph.
struct pk_card_tensor {
	const char *name;
	int rank; // may be more than there is room for in dims
	int64_t dims[PK_CARD_INFER_MAX_RANK];
};

// What the file says. Strings are borrowed; metadata that is absent is NULL.
struct pk_card_facts {
	struct pk_card_tensor input; // the only one
	struct pk_card_tensor outputs[PK_CARD_INFER_MAX_OUTPUTS];
	size_t n_outputs;
	// Written by the Ultralytics exporter (docs of its ONNX metadata): Python literals as text.
	const char *task, *names, *end2end, *author;
};

// What a person decided; NULL or 0: not decided.
struct pk_card_choices {
	const char *name; // of the model; default "model"
	const char *family, *color, *resize, *activation;
	const char *scale, *mean, *std; // as they stand in the card
	int classes;
};

// Appends the card to out, or, when something is open, one line per question to questions ("color:
// rgb, bgr or gray? choose with --color") and returns -EDOM. -EINVAL: the metadata is malformed;
// -ENOTSUP: no picture goes in. Pure.
int pk_card_infer(const struct pk_card_facts *facts, const struct pk_card_choices *choices,
	struct pk_buf *out, struct pk_buf *questions, struct pk_err *err) pk_must_check;
