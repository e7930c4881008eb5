// SPDX-License-Identifier: Apache-2.0
// Parameter structs of the GPU kernels, shared by the rows (C) and the .cu texts (CUDA C++).
// Plain int and float only, so that both compilers lay them out alike. All offsets and strides are
// in elements; rows refuse tensors whose extent does not fit an int.
#pragma once

#define PK_CU_RANK     8 // axes of one walk, outermost first, after folding
#define PK_CU_LANES    4 // neighbours along the innermost axis that one thread of a chain computes
#define PK_CU_INPUTS   6 // of one chain
#define PK_CU_OUTPUTS  2
#define PK_CU_REGS     16
#define PK_CU_OPS      12
#define PK_CU_CH_RANK  6
#define PK_CU_BLOCK    256 // threads a block of the kernels that have no geometry of their own
#define PK_CU_TILE     32  // side of a transpose's tile
#define PK_CU_TILE_ROW 8   // rows of threads in it

// Element types of chain operands.
enum pk_cu_dtype {
	PK_CU_F32 = 1,
	PK_CU_F16,
	PK_CU_I8,
	PK_CU_U8,
	PK_CU_BOOL,
	PK_CU_I16,
	PK_CU_U16,
	PK_CU_I32,
	PK_CU_U32,
	PK_CU_I64,
};

// Codes of chain steps besides enum pk_fn.
enum pk_cu_code {
	PK_CU_SELECT = 240, // a != 0 ? b : c
	PK_CU_PRELU,        // a < 0 ? b * a : a
};

struct pk_cu_operand {
	int dtype, offset;
	int strides[PK_CU_CH_RANK]; // 0 where it broadcasts
};

// regs[dst] = code(regs[a], regs[b], regs[c]); registers 0.. hold the inputs at the start.
struct pk_cu_step {
	unsigned char code, dst, a, b, c, zero[3];
	float alpha, beta;
};

// Elementwise chain: one thread computes PK_CU_LANES elements of the innermost axis.
struct pk_cu_chain {
	int rank, n_inputs, n_outputs, n_steps;
	int groups; // threads: product of the outer dims times ceil(inner / PK_CU_LANES)
	int inner;  // written along the innermost axis; beyond dims[rank - 1]: zeros (padding)
	int dims[PK_CU_CH_RANK];
	struct pk_cu_operand in[PK_CU_INPUTS], out[PK_CU_OUTPUTS];
	unsigned char from[8]; // register that output k takes
	struct pk_cu_step steps[PK_CU_OPS];
};

// Strided copy; axes in the order of dst.
struct pk_cu_copy {
	int rank, n; // n: product of dims
	int src_offset, dst_offset;
	int dims[PK_CU_RANK], src[PK_CU_RANK], dst[PK_CU_RANK];
};

// Copy between two axes orders through a tile in shared memory. Axis a has stride 1 in src, axis b
// in dst; grid (ceil(n_a / tile), ceil(n_b / tile), batches), block (tile, PK_CU_TILE_ROW).
struct pk_cu_transpose {
	int rank; // of the batch axes
	int n_a, n_b;
	int src_b, dst_a; // strides of axis b in src, of axis a in dst
	int src_offset, dst_offset;
	int dims[PK_CU_RANK], src[PK_CU_RANK], dst[PK_CU_RANK];
};

// Copy between tensors of other shapes: element i of the row-major order of both.
struct pk_cu_reshape {
	int n, src_rank, dst_rank;
	int src_dims[PK_CU_RANK], src[PK_CU_RANK];
	int dst_dims[PK_CU_RANK], dst[PK_CU_RANK], logical[PK_CU_RANK];
};

// y[at] = x[at with one axis taken from indices]. Axes in the order of y.
struct pk_cu_gather {
	int rank, n;
	int n_axis, axis_stride; // of x along the indexed axis
	int wide;                // indices are i64, else i32
	int dims[PK_CU_RANK], x[PK_CU_RANK], index[PK_CU_RANK], y[PK_CU_RANK];
};

// y[at] = x at one table entry per axis (elements from x, -1: fill), tables one after the other.
struct pk_cu_map {
	int rank, n;
	unsigned fill[4]; // bits of the element, repeated
	int dims[PK_CU_RANK], table[PK_CU_RANK], y[PK_CU_RANK];
};

// Zeros in the channels of padding.
struct pk_cu_pads {
	int pixels, channels, padded;
};

// Pooling over up to three spatial axes; missing ones in front are 1. Channels are counted in
// vectors of the kernel's width; strides x_c and y_c go from vector to vector.
struct pk_cu_pool {
	int n; // threads: batch * out * vectors
	int vectors, average, count_pad;
	int in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
	int x_n, x_c, x_s[3], y_n, y_c, y_s[3];
};

// Convolution and transposed convolution, over up to three spatial axes. Packed: float bias[padded
// out channels], then weights [kernel cell][input channel of the group][output channel].
struct pk_cu_conv {
	int n;         // threads
	int channels;  // written a pixel: beyond out_c zeros
	int out_c;     // channels of the weights' rows
	int in_c;      // of one group, padded to the kernel's vectors
	int group_in;  // input channels from group to group
	int group_out; // output channels of a group
	int across;    // threads a row of the output: each computes PK_CU_PIXELS of it
	int act, residual, has_bias;
	float alpha, beta;
	int weights; // bytes from the start of packed
	int in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
	int x_n, x_c, x_s[3], y_n, y_c, y_s[3];
};
#define PK_CU_PIXELS     4  // neighbours along the last axis that one thread computes
#define PK_CU_STEM_OUT   16 // output channels a thread of the stem computes
#define PK_CU_STEM_IN    4  // input channels at most
#define PK_CU_STEM_CELLS 49 // kernel cells at most
#define PK_CU_STEM_BLOCK 128

#define PK_CU_GEMM_SIDE 64 // rows and columns of one block's tile
#define PK_CU_GEMM_DEEP 16 // steps of k held in shared memory
// y[b][m][n] = alpha * sum of a[b][m][k] * w[b][k][n] + beta * c[m][n]. grid (tiles of n, tiles of
// m, batches), block PK_CU_BLOCK.
struct pk_cu_gemm {
	int m, n, k;
	int a_m, a_k, b_k, b_n, c_m, c_n, y_m, y_n;
	int rank; // of the batch axes
	int dims[PK_CU_RANK], a[PK_CU_RANK], b[PK_CU_RANK], y[PK_CU_RANK];
	int has_c;
	float alpha, beta;
};

// Reductions along some axes for each position of the others. A block of PK_CU_BLOCK threads
// holds PK_CU_BLOCK / parts positions with `parts` threads each, a power of two; `apart` is the
// distance between the threads of one position: 1 where the reduced axis is contiguous (lines are
// then read along it), else the number of positions (lines are read across positions).
struct pk_cu_rows {
	int rows, n; // positions, elements reduced
	int parts, apart;
	int rank, reduced_rank;
	int dims[PK_CU_RANK], x[PK_CU_RANK], y[PK_CU_RANK], scale[PK_CU_RANK];
	int reduced_dims[4], reduced_x[4], reduced_y[4], reduced_scale[4];
	int fn;    // reduce and softmax: enum pk_fn
	int flags; // enum pk_cu_rows_flags
	float epsilon;
};
enum pk_cu_rows_flags {
	PK_CU_HAS_BIAS = 1,
	PK_CU_SELECT_LAST = 2,
	PK_CU_LARGEST = 4,
};

// One tap of a resize: offset along its axis (elements; -1: extrapolate) and weight.
struct pk_cu_tap {
	int at;
	float weight;
};
// Resize by taps along two axes. vectors of channels as in struct pk_cu_pool.
struct pk_cu_resize {
	int n, vectors, channels;
	int out[2], taps[2], table[2]; // per axis: taps of an output, where its table begins
	int x_n, x_c, y_n, y_c, y_s[2];
	float outside;
};

// Elementwise between floats and quantised integers.
struct pk_cu_quant {
	int rank, n, has_zero;
	int dims[PK_CU_RANK], x[PK_CU_RANK], y[PK_CU_RANK], scale[PK_CU_RANK];
};

// What an integer convolution's packed weights begin with; then int bias[] and float mult[] by
// output channel, then short weights [kernel cell][input channel of the group][output channel].
struct pk_cu_qconv_head {
	float y_scale;
	int x_zero, y_zero, has_scale;
};

// One plane family of a picture: source pixels are at start + i * step, in 2^-32 pixels.
struct pk_cu_axis {
	long long start, step;
	int last; // source index
	int zero;
};
// From a camera picture to the input tensor, one thread a pixel of the tensor.
struct pk_cu_preprocess {
	struct pk_cu_axis x, y, chroma_x, chroma_y; // chroma: YUV formats
	int format;                                 // enum pk_cu_pixels
	int n_channels, swapped;                    // of the tensor; its order is BGR
	int width, height, x0, y0, x1, y1; // of the tensor; the part that the picture covers
	int strides[3];                    // bytes a row of each plane
	int to, to_c, to_h, to_w;          // where the picture's tensor begins; strides
	float luma_scale, luma_base, r_v, g_u, g_v, b_u;
	float scale[3], offset[3], border[3];
};
enum pk_cu_pixels {
	PK_CU_NV12,
	PK_CU_I420,
	PK_CU_RGB,
	PK_CU_BGR,
	PK_CU_GRAY8,
};

// Elementwise on bytes. Strides of both operands and the result, 0 where they broadcast.
struct pk_cu_qbinary {
	int rank, n;
	int dims[PK_CU_RANK], a[PK_CU_RANK], b[PK_CU_RANK], y[PK_CU_RANK];
	int fn, act;
	float alpha, beta;
	int is_signed[3], has_zero[3]; // a, b, y
};
// A table of 256 bytes over n elements; of `padded` channels those from `channels` on become 0.
struct pk_cu_lookup {
	int n, channels, padded;
};
