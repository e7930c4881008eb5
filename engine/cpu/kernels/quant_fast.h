// SPDX-License-Identifier: Apache-2.0
// What the faster quantised kernels share, and their entry points per instruction set.
#pragma once

#include <stdint.h>

#include "engine/cpu/kernels/check.h"
#include "engine/cpu/kernels/quant.h"
#include "engine/cpu/kernels/walk.h"

// Columns of the output that are unfolded together, and output channels summed together.
#define PK_QCONV_COLUMNS 64
#define PK_QCONV_ROWS    4

struct pk_qconv_fast {
	struct pk_window geom;
	struct pk_quant quant;
	int64_t c, m;    // input and output channels of a group
	int64_t k;       // length of a sum
	int64_t n_pairs; // of taps, the last one padded with 0
};

// quantize and dequantize of one scale.
struct pk_quant_line {
	enum pk_dtype stored;
	bool has_zero;
	int64_t n;
};

struct pk_qbinary {
	struct pk_quant quant; // x, w: types of both operands; to, act, alpha, beta
	enum pk_fn fn;
	bool has_scale;      // of y
	bool has_zero[3];    // of a, b, y
	struct pk_walk walk; // operands: y, a, b
};

// a[rows, k] times a constant b[k, n], packed less its zero points in [tile][pair of k][column][2].
struct pk_qmatmul_fast {
	struct pk_quant quant;
	int64_t rows, k, n;
	int64_t n_pairs; // of k, the last one padded with 0
};
#define PK_QMATMUL_COLUMNS 16
#define PK_QMATMUL_ROWS    4 // summed together

void pk_qmatmul_pairs_run_plain(const struct pk_cpu_call *call);
void pk_qconv_gemm_run_plain(const struct pk_cpu_call *call);
void pk_quantize_line_run_plain(const struct pk_cpu_call *call);
void pk_dequantize_line_run_plain(const struct pk_cpu_call *call);
void pk_qbinary_line_run_plain(const struct pk_cpu_call *call);
#if defined(__x86_64__)
void pk_qconv_gemm_run_avx2(const struct pk_cpu_call *call);
void pk_quantize_line_run_avx2(const struct pk_cpu_call *call);
void pk_dequantize_line_run_avx2(const struct pk_cpu_call *call);
void pk_qmatmul_pairs_run_avx2(const struct pk_cpu_call *call);
void pk_qbinary_line_run_avx2(const struct pk_cpu_call *call);
void pk_lookup_line_run_avx2(const struct pk_cpu_call *call); // state: int64_t, bytes
#endif
