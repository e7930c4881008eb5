// SPDX-License-Identifier: Apache-2.0
// Element types, shapes and dense tensor views. Shapes are in ONNX order, row-major.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

// X(id, text name, bytes per element, ONNX TensorProto.DataType)
#define PK_DTYPE_LIST(X)                                                                           \
	X(F32, "f32", 4, 1)                                                                        \
	X(U8, "u8", 1, 2)                                                                          \
	X(I8, "i8", 1, 3)                                                                          \
	X(U16, "u16", 2, 4)                                                                        \
	X(I16, "i16", 2, 5)                                                                        \
	X(I32, "i32", 4, 6)                                                                        \
	X(I64, "i64", 8, 7)                                                                        \
	X(BOOL, "bool", 1, 9)                                                                      \
	X(F16, "f16", 2, 10)                                                                       \
	X(F64, "f64", 8, 11)                                                                       \
	X(U32, "u32", 4, 12)                                                                       \
	X(U64, "u64", 8, 13)                                                                       \
	X(BF16, "bf16", 2, 16)

enum pk_dtype {
	PK_DTYPE_NONE = 0,
#define X(id, name, bytes, onnx) PK_##id,
	PK_DTYPE_LIST(X)
#undef X
		PK_N_DTYPES,
};

size_t pk_dtype_bytes(enum pk_dtype dtype);          // 0 for NONE
const char *pk_dtype_name(enum pk_dtype dtype);      // "f32"; "?" when invalid
enum pk_dtype pk_dtype_from_name(const char *name);  // NONE when unknown
enum pk_dtype pk_dtype_from_onnx(int64_t data_type); // NONE when unsupported
int pk_dtype_to_onnx(enum pk_dtype dtype);

#define PK_MAX_RANK 8
// Upper bound for the elements of any tensor: 2^31 - 1, so that int64 index maths cannot overflow.
#define PK_MAX_ELEMENTS INT64_C(0x7fffffff)

// rank 0 is a scalar (one element). Dims are >= 0; 0 means an empty tensor.
struct pk_shape {
	int rank;
	int64_t dims[PK_MAX_RANK];
};

// Product of the dims, or -1 when it exceeds PK_MAX_ELEMENTS or a dim is negative.
int64_t pk_shape_elements(const struct pk_shape *shape);
bool pk_shape_equal(const struct pk_shape *a, const struct pk_shape *b);
// "[1,3,192,256]"
#define PK_SHAPE_TEXT_MAX 128
void pk_shape_format(const struct pk_shape *shape, char out[PK_SHAPE_TEXT_MAX]);
// Multidirectional (numpy) broadcast of a and b; false when they do not fit.
bool pk_shape_broadcast(const struct pk_shape *a, const struct pk_shape *b, struct pk_shape *out);

// A dense view; data is not owned. Aligned at least to its element size.
struct pk_tensor {
	enum pk_dtype dtype;
	struct pk_shape shape;
	void *data;
};

size_t pk_tensor_bytes(enum pk_dtype dtype, const struct pk_shape *shape); // SIZE_MAX: too large

float pk_f16_to_f32(uint16_t bits);
uint16_t pk_f32_to_f16(float v); // round half to even
float pk_bf16_to_f32(uint16_t bits);
uint16_t pk_f32_to_bf16(float v);
