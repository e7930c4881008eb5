// SPDX-License-Identifier: Apache-2.0
// Noise, black, white and gradient as tensors.
#include "engine/gate/pattern.h"

#include <stddef.h>
#include <string.h>

#include "engine/ir/element.h"

static const char *const names[PK_N_GATE_PATTERNS] = {"noise", "black", "white", "gradient"};

const char *pk_gate_pattern_name(enum pk_gate_pattern pattern)
{
	return names[pattern];
}

void pk_gate_pattern_fill(enum pk_gate_pattern pattern, enum pk_dtype dtype,
	const struct pk_shape *shape, uint32_t seed, void *data)
{
	int64_t n = pk_shape_elements(shape);
	int64_t width = shape->rank ? shape->dims[shape->rank - 1] : 1;
	memset(data, 0, pk_tensor_bytes(dtype, shape));
	if (!pk_dtype_is_float(dtype) && dtype != PK_U8)
		return;
	for (int64_t i = 0; i < n; i++) {
		double v = 0;
		seed = seed * 1664525u + 1013904223u;
		if (pattern == PK_GATE_NOISE_PATTERN)
			v = (double)(seed >> 8) / 16777216.0;
		else if (pattern == PK_GATE_WHITE_PATTERN)
			v = 1;
		else if (pattern == PK_GATE_GRADIENT_PATTERN && width > 1)
			v = (double)(i % width) / (double)(width - 1);
		if (dtype == PK_U8)
			(void)pk_element_put_int(dtype, data, (size_t)i, (int64_t)(v * 255 + 0.5));
		else
			(void)pk_element_put_float(dtype, data, (size_t)i, v);
	}
}
