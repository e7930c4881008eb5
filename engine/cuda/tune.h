// SPDX-License-Identifier: Apache-2.0
// The cuda tuner: for each operation the fastest way that computes what the cpu's reference does.
// Ways are rows of kernels and the plans of cuDNN rows. Each runs on the device and is compared
// before it may win. Times, the winner and its plan are kept in the timing cache, whose header
// names device, power mode and clocks: what is found there again costs neither search nor
// measuring.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/lower.h"
#include "engine/cuda/row.h"
#include "engine/runtime.h"

// One way to carry out an operation.
struct pk_cuda_trial {
	const struct pk_cuda_call *call;
	const struct pk_cuda_row *row;
	const struct pk_cuda_bytes *json; // of a plan; NULL for rows of kernels
};

// Where ways are tried: the device (engine/cuda/lab.h), or a double in tests.
struct pk_cuda_lab {
	// Runs the way on made-up operands and times it. -EBADE: its results are not those of the
	// reference; -ENOTSUP, -ESTALE: it does not run here. Others end the build.
	int (*try_way)(struct pk_cuda_lab *lab, const struct pk_cuda_trial *trial, double *us,
		struct pk_err *err);
	// Walks the plans of a cuDNN row, as pk_cuda_plan_ops.each.
	int (*each_plan)(struct pk_cuda_lab *lab, const struct pk_cuda_trial *trial,
		const struct pk_cuda_plan_visit *visit, struct pk_err *err);
	// Whether a kept plan still opens: 0, or -ESTALE and the like.
	int (*open_plan)(
		struct pk_cuda_lab *lab, const struct pk_cuda_trial *trial, struct pk_err *err);
};

struct pk_cuda_tuner {
	struct pk_cuda_lab *lab;
	struct pk_runtime_build *build; // timing cache; counts n_measured and n_cache_hits
	int n_rejected;                 // ways that computed something else
};

// choice->json is initialised by the caller; cleared first. Nothing passing is no error: row is
// NULL. What lab reports otherwise; -ENOMEM.
int pk_cuda_tune(struct pk_cuda_tuner *tuner, const struct pk_cuda_call *call,
	struct pk_cuda_choice *choice, struct pk_err *err) pk_must_check;
