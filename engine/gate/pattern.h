// SPDX-License-Identifier: Apache-2.0
// Synthetic inputs of the gate: what needs no sample picture.
#pragma once

#include <stdint.h>

#include "engine/tensor.h"

enum pk_gate_pattern {
	PK_GATE_NOISE_PATTERN, // seeded, uniform
	PK_GATE_BLACK_PATTERN,
	PK_GATE_WHITE_PATTERN,
	PK_GATE_GRADIENT_PATTERN, // along the last axis, from black to white
	PK_N_GATE_PATTERNS,
};
#define PK_GATE_ALL_PATTERNS ((1u << PK_N_GATE_PATTERNS) - 1)

const char *pk_gate_pattern_name(enum pk_gate_pattern pattern);

// Fills a dense tensor: 0..1 for float types, 0..255 for u8. All other types stay 0: they are
// indices or switches, for which noise means nothing.
void pk_gate_pattern_fill(enum pk_gate_pattern pattern, enum pk_dtype dtype,
	const struct pk_shape *shape, uint32_t seed, void *data);
