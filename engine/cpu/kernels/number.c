// SPDX-License-Identifier: Apache-2.0
// One number of any type as double or int64.
#include "engine/cpu/kernels/number.h"

// X(id, C type)
#define PLAIN_LIST(X)                                                                              \
	X(F32, float)                                                                              \
	X(F64, double)                                                                             \
	X(U8, uint8_t)                                                                             \
	X(I8, int8_t)                                                                              \
	X(U16, uint16_t)                                                                           \
	X(I16, int16_t)                                                                            \
	X(I32, int32_t)                                                                            \
	X(I64, int64_t)                                                                            \
	X(U32, uint32_t)                                                                           \
	X(U64, uint64_t)                                                                           \
	X(BOOL, uint8_t)

static double half_f(const void *data, int64_t idx)
{
	return (double)pk_f16_to_f32(((const uint16_t *)data)[idx]);
}
static double bf16_f(const void *data, int64_t idx)
{
	return (double)pk_bf16_to_f32(((const uint16_t *)data)[idx]);
}
#define X(id, type)                                                                                \
	static double get_f_##id(const void *data, int64_t idx)                                    \
	{                                                                                          \
		return (double)((const type *)data)[idx];                                          \
	}
PLAIN_LIST(X)
#undef X

double pk_number_f(enum pk_dtype dtype, const void *data, int64_t idx)
{
	static double (*const get[PK_N_DTYPES])(const void *, int64_t) = {
#define X(id, type) [PK_##id] = get_f_##id,
		PLAIN_LIST(X)
#undef X
			[PK_F16] = half_f,
		[PK_BF16] = bf16_f,
	};
	return get[dtype](data, idx);
}

static double clamped(double v, double low, double high)
{
	if (isnan(v))
		return 0;
	return fmin(fmax(trunc(v), low), high);
}

int64_t pk_number_i(enum pk_dtype dtype, const void *data, int64_t idx)
{
	switch (dtype) {
	case PK_U8:
	case PK_BOOL:
		return ((const uint8_t *)data)[idx];
	case PK_I8:
		return ((const int8_t *)data)[idx];
	case PK_U16:
		return ((const uint16_t *)data)[idx];
	case PK_I16:
		return ((const int16_t *)data)[idx];
	case PK_I32:
		return ((const int32_t *)data)[idx];
	case PK_U32:
		return ((const uint32_t *)data)[idx];
	case PK_I64:
	case PK_U64:
		return ((const int64_t *)data)[idx];
	default:
		return (int64_t)clamped(
			pk_number_f(dtype, data, idx), -0x1p63, 0x1.fffffffffffffp62);
	}
}

void pk_number_set_i(enum pk_dtype dtype, void *data, int64_t idx, int64_t v)
{
	switch (pk_number_is_float(dtype) ? 0 : pk_dtype_bytes(dtype)) {
	case 1:
		((uint8_t *)data)[idx] = dtype == PK_BOOL ? v != 0 : (uint8_t)v;
		break;
	case 2:
		((uint16_t *)data)[idx] = (uint16_t)v;
		break;
	case 4:
		((uint32_t *)data)[idx] = (uint32_t)v;
		break;
	case 8:
		((int64_t *)data)[idx] = v;
		break;
	default:
		pk_number_set_f(dtype, data, idx, (double)v);
	}
}

// Ranges of the integer types; the top of the 64-bit ones is the largest double below it.
static const struct {
	double low, high;
} ranges[PK_N_DTYPES] = {
	[PK_U8] = {0, UINT8_MAX},
	[PK_I8] = {INT8_MIN, INT8_MAX},
	[PK_U16] = {0, UINT16_MAX},
	[PK_I16] = {INT16_MIN, INT16_MAX},
	[PK_I32] = {INT32_MIN, INT32_MAX},
	[PK_U32] = {0, UINT32_MAX},
	[PK_I64] = {-0x1p63, 0x1.fffffffffffffp62},
	[PK_U64] = {0, 0x1.fffffffffffffp63},
};

void pk_number_set_f(enum pk_dtype dtype, void *data, int64_t idx, double v)
{
	switch (dtype) {
	case PK_F32:
		((float *)data)[idx] = (float)v;
		break;
	case PK_F64:
		((double *)data)[idx] = v;
		break;
	case PK_F16:
		((uint16_t *)data)[idx] = pk_f32_to_f16((float)v);
		break;
	case PK_BF16:
		((uint16_t *)data)[idx] = pk_f32_to_bf16((float)v);
		break;
	case PK_BOOL:
		((uint8_t *)data)[idx] = v != 0;
		break;
	case PK_U64:
		((uint64_t *)data)[idx] =
			(uint64_t)clamped(v, ranges[dtype].low, ranges[dtype].high);
		break;
	default:
		pk_number_set_i(dtype, data, idx,
			(int64_t)clamped(v, ranges[dtype].low, ranges[dtype].high));
	}
}
