// SPDX-License-Identifier: Apache-2.0
// Element types, shape arithmetic and the 16-bit float conversions.
#include "engine/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

struct pk_dtype_row {
	const char *name;
	size_t bytes;
	int onnx;
};

static const struct pk_dtype_row pk_dtypes[PK_N_DTYPES] = {
#define X(id, name, bytes, onnx) [PK_##id] = {name, bytes, onnx},
	PK_DTYPE_LIST(X)
#undef X
};

static bool pk_dtype_valid(enum pk_dtype dtype)
{
	return (int)dtype > PK_DTYPE_NONE && (int)dtype < PK_N_DTYPES;
}

size_t pk_dtype_bytes(enum pk_dtype dtype)
{
	return pk_dtype_valid(dtype) ? pk_dtypes[dtype].bytes : 0;
}

const char *pk_dtype_name(enum pk_dtype dtype)
{
	return pk_dtype_valid(dtype) ? pk_dtypes[dtype].name : "?";
}

enum pk_dtype pk_dtype_from_name(const char *name)
{
	for (int i = PK_DTYPE_NONE + 1; i < PK_N_DTYPES; i++)
		if (strcmp(pk_dtypes[i].name, name) == 0)
			return (enum pk_dtype)i;
	return PK_DTYPE_NONE;
}

enum pk_dtype pk_dtype_from_onnx(int64_t data_type)
{
	for (int i = PK_DTYPE_NONE + 1; i < PK_N_DTYPES; i++)
		if (pk_dtypes[i].onnx == data_type)
			return (enum pk_dtype)i;
	return PK_DTYPE_NONE;
}

int pk_dtype_to_onnx(enum pk_dtype dtype)
{
	return pk_dtype_valid(dtype) ? pk_dtypes[dtype].onnx : 0;
}

// The product of the non-zero dims is bounded too: strides of an empty tensor stay in range.
int64_t pk_shape_elements(const struct pk_shape *shape)
{
	if (shape->rank < 0 || shape->rank > PK_MAX_RANK)
		return -1;
	int64_t n = 1;
	bool empty = false;
	for (int i = 0; i < shape->rank; i++) {
		int64_t dim = shape->dims[i];
		if (dim < 0 || dim > PK_MAX_ELEMENTS)
			return -1;
		if (dim == 0)
			empty = true;
		else
			n *= dim; // at most 2^62
		if (n > PK_MAX_ELEMENTS)
			return -1;
	}
	return empty ? 0 : n;
}

bool pk_shape_equal(const struct pk_shape *a, const struct pk_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

void pk_shape_format(const struct pk_shape *shape, char out[PK_SHAPE_TEXT_MAX])
{
	size_t len = 0;
	int rank = PK_MIN(shape->rank, PK_MAX_RANK);
	for (int i = 0; i < rank && len < PK_SHAPE_TEXT_MAX - 2; i++) {
		int64_t dim = shape->dims[i];
		// A dim beyond any legal one is shown as "?", so that the text always fits.
		int n = dim < -PK_MAX_ELEMENTS || dim > PK_MAX_ELEMENTS
				? snprintf(out + len, PK_SHAPE_TEXT_MAX - len, "%s?", i ? "," : "[")
				: snprintf(out + len, PK_SHAPE_TEXT_MAX - len, "%s%lld",
					  i ? "," : "[", (long long)dim);
		len += (size_t)n;
	}
	snprintf(out + len, PK_SHAPE_TEXT_MAX - len, "%s", rank > 0 ? "]" : "[]");
}

bool pk_shape_broadcast(const struct pk_shape *a, const struct pk_shape *b, struct pk_shape *out)
{
	int rank = PK_MAX(a->rank, b->rank);
	struct pk_shape result = {.rank = rank};
	for (int i = 0; i < rank; i++) {
		int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
		int64_t da = ia < 0 ? 1 : a->dims[ia];
		int64_t db = ib < 0 ? 1 : b->dims[ib];
		if (da != db && da != 1 && db != 1)
			return false;
		result.dims[i] = da == 1 ? db : da;
	}
	*out = result;
	return true;
}

size_t pk_tensor_bytes(enum pk_dtype dtype, const struct pk_shape *shape)
{
	int64_t n = pk_shape_elements(shape);
	size_t bytes = pk_dtype_bytes(dtype);
	if (n < 0 || bytes == 0)
		return SIZE_MAX;
	return pk_mul_overflow((size_t)n, bytes, &bytes) ? SIZE_MAX : bytes;
}

static uint32_t pk_f32_bits(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static float pk_f32_of_bits(uint32_t bits)
{
	float v;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

float pk_f16_to_f32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
	uint32_t exponent = (bits >> 10) & 0x1fu;
	uint32_t mantissa = bits & 0x3ffu;
	if (exponent == 0x1f)
		return pk_f32_of_bits(sign | 0x7f800000u | mantissa << 13);
	if (exponent != 0)
		return pk_f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
	float v = (float)mantissa * 0x1p-24f; // zero and subnormals are multiples of 2^-24
	return sign ? -v : v;
}

// A magnitude below 2^-14: a multiple of 2^-24, half to even.
static uint32_t pk_f16_subnormal(uint32_t x)
{
	uint32_t shift = 126 - (x >> 23);
	if (shift > 25)
		return 0;
	uint32_t m = (x & 0x7fffffu) | 0x800000u;
	uint32_t n = m >> shift;
	uint32_t rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
	return n + (rest > half || (rest == half && (n & 1)));
}

uint16_t pk_f32_to_f16(float v)
{
	uint32_t x = pk_f32_bits(v);
	uint32_t sign = x >> 16 & 0x8000u;
	x &= 0x7fffffffu;
	uint32_t h;
	if (x > 0x7f800000u)
		h = 0x7e00u | (x >> 13 & 0x1ffu); // a quiet NaN
	else if (x >= 0x477ff000u)
		h = 0x7c00u; // 65520 and above round to infinity
	else if (x < 0x38800000u)
		h = pk_f16_subnormal(x);
	else
		h = (x - (112u << 23) + 0xfffu + (x >> 13 & 1)) >> 13;
	return (uint16_t)(sign | h);
}

float pk_bf16_to_f32(uint16_t bits)
{
	return pk_f32_of_bits((uint32_t)bits << 16);
}

uint16_t pk_f32_to_bf16(float v)
{
	uint32_t x = pk_f32_bits(v);
	if ((x & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(x >> 16 | 0x40u);
	return (uint16_t)((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}
