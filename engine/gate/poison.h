// SPDX-License-Identifier: Apache-2.0
// Gate step G9: an engine gives the same bytes when everything dead in its memory is NaN.
#pragma once

#include "base/err.h"
#include "engine/runtime.h"

// Writes one input; called twice for each with the same result.
typedef void pk_gate_fill(void *ctx, int input_idx, const struct pk_value *value, void *data);

// Runs `loaded` plainly and poisoned, in one context of its own. fill: NULL takes seeded noise in
// 0..1 for floats, else zeros. 0: all outputs are equal to the bit; -EBADE: not (err names the
// output and the first element); -ENOTSUP: the runtime has no poison mode; what else a run fails
// with.
int pk_gate_poison(const struct pk_runtime_ops *runtime, void *loaded, pk_gate_fill *fill,
	void *ctx, struct pk_err *err) pk_must_check;
