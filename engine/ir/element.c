// SPDX-License-Identifier: Apache-2.0
// One row of access functions per element type.
#include "engine/ir/element.h"

#include <string.h>

struct pk_element_row {
	double (*get)(const char *p);
	int64_t (*get_int)(const char *p);
	void (*put_float)(char *p, double v);
	void (*put_int)(char *p, int64_t v);
	int64_t min, max;
};

// X(dtype, C type, least, greatest)
#define PK_INT_ELEMENTS(X)                                                                         \
	X(U8, uint8_t, 0, UINT8_MAX)                                                               \
	X(I8, int8_t, INT8_MIN, INT8_MAX)                                                          \
	X(U16, uint16_t, 0, UINT16_MAX)                                                            \
	X(I16, int16_t, INT16_MIN, INT16_MAX)                                                      \
	X(U32, uint32_t, 0, UINT32_MAX)                                                            \
	X(I32, int32_t, INT32_MIN, INT32_MAX)                                                      \
	X(U64, uint64_t, 0, INT64_MAX)                                                             \
	X(I64, int64_t, INT64_MIN, INT64_MAX)                                                      \
	X(BOOL, uint8_t, 0, 1)

// X(dtype, stored type, to double, from double)
#define PK_FLOAT_ELEMENTS(X)                                                                       \
	X(F32, float, (double), (float))                                                           \
	X(F64, double, , )                                                                         \
	X(F16, uint16_t, pk_f16_to_double, pk_double_to_f16)                                       \
	X(BF16, uint16_t, pk_bf16_to_double, pk_double_to_bf16)

static double pk_f16_to_double(uint16_t bits)
{
	return (double)pk_f16_to_f32(bits);
}

static double pk_bf16_to_double(uint16_t bits)
{
	return (double)pk_bf16_to_f32(bits);
}

// Rounds to f32 so that a later rounding to 16 bits is right: to odd, which keeps the sticky bit.
static float pk_double_to_f32_odd(double v)
{
	float near = (float)v;
	if ((double)near == v || v != v || near - near != 0)
		return near;
	uint32_t bits;
	memcpy(&bits, &near, sizeof(bits));
	bool too_far = ((double)near > v) == (v > 0);
	if (!(bits & 1))
		bits += too_far ? -1u : 1u;
	memcpy(&near, &bits, sizeof(bits));
	return near;
}

static uint16_t pk_double_to_f16(double v)
{
	return pk_f32_to_f16(pk_double_to_f32_odd(v));
}

static uint16_t pk_double_to_bf16(double v)
{
	return pk_f32_to_bf16(pk_double_to_f32_odd(v));
}

#define X(id, type, least, greatest)                                                               \
	static double pk_get_##id(const char *p)                                                   \
	{                                                                                          \
		type v;                                                                            \
		memcpy(&v, p, sizeof(v));                                                          \
		return (double)v;                                                                  \
	}                                                                                          \
	static int64_t pk_get_int_##id(const char *p)                                              \
	{                                                                                          \
		type v;                                                                            \
		memcpy(&v, p, sizeof(v));                                                          \
		return (int64_t)v;                                                                 \
	}                                                                                          \
	static void pk_put_int_##id(char *p, int64_t v)                                            \
	{                                                                                          \
		type stored = (type)v;                                                             \
		memcpy(p, &stored, sizeof(stored));                                                \
	}
PK_INT_ELEMENTS(X)
#undef X

#define X(id, type, to_double, from_double)                                                        \
	static double pk_get_##id(const char *p)                                                   \
	{                                                                                          \
		type v;                                                                            \
		memcpy(&v, p, sizeof(v));                                                          \
		return to_double(v);                                                               \
	}                                                                                          \
	static void pk_put_float_##id(char *p, double v)                                           \
	{                                                                                          \
		type stored = from_double(v);                                                      \
		memcpy(p, &stored, sizeof(stored));                                                \
	}
PK_FLOAT_ELEMENTS(X)
#undef X

static const struct pk_element_row pk_element_rows[PK_N_DTYPES] = {
#define X(id, type, least, greatest)                                                               \
	[PK_##id] = {pk_get_##id, pk_get_int_##id, NULL, pk_put_int_##id, least, greatest},
	PK_INT_ELEMENTS(X)
#undef X
#define X(id, type, to_double, from_double)                                                        \
	[PK_##id] = {pk_get_##id, NULL, pk_put_float_##id, NULL, 0, 0},
		PK_FLOAT_ELEMENTS(X)
#undef X
};

bool pk_dtype_is_float(enum pk_dtype dtype)
{
	return pk_dtype_bytes(dtype) > 0 && pk_element_rows[dtype].put_float;
}

double pk_element_get(enum pk_dtype dtype, const void *data, size_t idx)
{
	return pk_element_rows[dtype].get((const char *)data + idx * pk_dtype_bytes(dtype));
}

int64_t pk_element_get_int(enum pk_dtype dtype, const void *data, size_t idx)
{
	const struct pk_element_row *row = &pk_element_rows[dtype];
	return row->get_int ? row->get_int((const char *)data + idx * pk_dtype_bytes(dtype)) : 0;
}

bool pk_element_put_float(enum pk_dtype dtype, void *data, size_t idx, double v)
{
	const struct pk_element_row *row = &pk_element_rows[dtype];
	if (!row->put_float)
		return false;
	row->put_float((char *)data + idx * pk_dtype_bytes(dtype), v);
	return true;
}

bool pk_element_put_int(enum pk_dtype dtype, void *data, size_t idx, int64_t v)
{
	const struct pk_element_row *row = &pk_element_rows[dtype];
	if (!row->put_int || v < row->min || v > row->max)
		return false;
	row->put_int((char *)data + idx * pk_dtype_bytes(dtype), v);
	return true;
}
