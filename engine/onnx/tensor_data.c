// SPDX-License-Identifier: Apache-2.0
// The elements of an ONNX tensor in the form that the IR keeps: f16, bf16 and f64 become f32.
#include "engine/onnx/tensor_data.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/names.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw_data is little-endian");

// Which typed field of TensorProto holds a type that has no raw_data.
enum field {
	FIELD_NONE,
	FIELD_FLOATS,
	FIELD_DOUBLES,
	FIELD_INTS,
};

// One row per TensorProto.DataType, indexed by it.
struct type_row {
	const char *name;
	enum pk_dtype stored; // as in the file; NONE: unsupported
	enum pk_dtype dtype;  // in the IR
	enum field field;
	int64_t min, max; // of FIELD_INTS
};

static const struct type_row types[] = {
	[0] = {.name = "undefined"},
	[1] = {"float", PK_F32, PK_F32, FIELD_FLOATS, 0, 0},
	[2] = {"uint8", PK_U8, PK_U8, FIELD_INTS, 0, UINT8_MAX},
	[3] = {"int8", PK_I8, PK_I8, FIELD_INTS, INT8_MIN, INT8_MAX},
	[4] = {.name = "uint16"},
	[5] = {.name = "int16"},
	[6] = {"int32", PK_I32, PK_I32, FIELD_INTS, INT32_MIN, INT32_MAX},
	[7] = {"int64", PK_I64, PK_I64, FIELD_INTS, INT64_MIN, INT64_MAX},
	[8] = {.name = "string"},
	[9] = {"bool", PK_BOOL, PK_BOOL, FIELD_INTS, 0, 1},
	[10] = {"float16", PK_F16, PK_F32, FIELD_INTS, 0, UINT16_MAX},
	[11] = {"double", PK_F64, PK_F32, FIELD_DOUBLES, 0, 0},
	[12] = {.name = "uint32"},
	[13] = {.name = "uint64"},
	[14] = {.name = "complex64"},
	[15] = {.name = "complex128"},
	[16] = {"bfloat16", PK_BF16, PK_F32, FIELD_INTS, 0, UINT16_MAX},
	[17] = {.name = "float8e4m3fn"},
	[18] = {.name = "float8e4m3fnuz"},
	[19] = {.name = "float8e5m2"},
	[20] = {.name = "float8e5m2fnuz"},
	[21] = {.name = "uint4"},
	[22] = {.name = "int4"},
	[23] = {.name = "float4e2m1"},
};

static const struct type_row *find_type(int64_t data_type)
{
	static const struct type_row unknown = {.name = "an unknown type"};
	if (data_type < 0 || data_type >= (int64_t)PK_ARRAY_LEN(types))
		return &unknown;
	return &types[data_type];
}

enum pk_dtype pk_tensor_data_dtype(int64_t data_type)
{
	return find_type(data_type)->dtype;
}

const char *pk_tensor_data_type_name(int64_t data_type)
{
	return find_type(data_type)->name;
}

static int read_shape(
	const struct pk_onnx_tensor *tensor, struct pk_shape *shape, int64_t *n, struct pk_err *err)
{
	if (tensor->n_dims > PK_MAX_RANK)
		return pk_fail(err, -EINVAL, "%zu dimensions; %d are possible", tensor->n_dims,
			PK_MAX_RANK);
	shape->rank = (int)tensor->n_dims;
	for (size_t i = 0; i < tensor->n_dims; i++) {
		shape->dims[i] = tensor->dims[i];
		if (tensor->dims[i] < 0)
			return pk_fail(err, -EINVAL, "dimension %zu is %lld", i,
				(long long)tensor->dims[i]);
	}
	*n = pk_shape_elements(shape);
	if (*n < 0) {
		char text[PK_SHAPE_TEXT_MAX];
		pk_shape_format(shape, text);
		return pk_fail(err, -EFBIG, "shape %s has more than 2^31 - 1 elements", text);
	}
	return 0;
}

static bool is_denormal(uint32_t bits)
{
	return (bits & 0x7f800000) == 0 && (bits & 0x007fffff) != 0;
}

static bool has_denormals(const void *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, (const char *)data + 4 * i, sizeof(bits));
		if (is_denormal(bits))
			return true;
	}
	return false;
}

static size_t flush_denormals(void *data, int64_t n)
{
	size_t flushed = 0;
	for (int64_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, (char *)data + 4 * i, sizeof(bits));
		if (!is_denormal(bits))
			continue;
		bits &= 0x80000000;
		memcpy((char *)data + 4 * i, &bits, sizeof(bits));
		flushed++;
	}
	return flushed;
}

static bool has_odd_bool(const uint8_t *data, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (data[i] > 1)
			return true;
	return false;
}

// Raw elements that only need a home: in place when aligned and clean.
static int keep_raw(const struct pk_onnx_str *raw, struct pk_arena *arena, struct pk_tensor *out,
	int64_t n, size_t *n_denormals)
{
	size_t align = pk_dtype_bytes(out->dtype);
	bool found = out->dtype == PK_F32 && has_denormals(raw->data, n);
	bool odd = out->dtype == PK_BOOL && has_odd_bool((const uint8_t *)raw->data, n);
	if (!found && !odd && n && (uintptr_t)raw->data % align == 0) {
		out->data = (void *)(uintptr_t)raw->data; // the IR never writes constants
		return 0;
	}
	out->data = pk_arena_alloc(arena, raw->n);
	if (!out->data)
		return -ENOMEM;
	if (raw->n)
		memcpy(out->data, raw->data, raw->n);
	if (found)
		*n_denormals += flush_denormals(out->data, n);
	for (int64_t i = 0; odd && i < n; i++)
		((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
	return 0;
}

static float widen(enum pk_dtype stored, const char *at)
{
	uint16_t half;
	double d;
	if (stored == PK_F64) {
		memcpy(&d, at, sizeof(d));
		return (float)d;
	}
	memcpy(&half, at, sizeof(half));
	return stored == PK_F16 ? pk_f16_to_f32(half) : pk_bf16_to_f32(half);
}

static int widen_raw(const struct pk_onnx_str *raw, enum pk_dtype stored, struct pk_arena *arena,
	struct pk_tensor *out, size_t *n_denormals)
{
	int64_t n = pk_shape_elements(&out->shape);
	size_t step = pk_dtype_bytes(stored);
	float *floats = pk_arena_array(arena, (size_t)n, sizeof(float));
	if (!floats)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++)
		floats[i] = widen(stored, raw->data + (size_t)i * step);
	out->data = floats;
	*n_denormals += flush_denormals(floats, n);
	return 0;
}

static int read_raw(const struct pk_onnx_tensor *tensor, const struct type_row *type,
	struct pk_arena *arena, struct pk_tensor *out, size_t *n_denormals, struct pk_err *err)
{
	int64_t n = pk_shape_elements(&out->shape);
	size_t want = (size_t)n * pk_dtype_bytes(type->stored);
	if (tensor->raw.n != want)
		return pk_fail(err, -EINVAL, "raw data has %zu bytes, the shape needs %zu",
			tensor->raw.n, want);
	if (type->stored == type->dtype)
		return keep_raw(&tensor->raw, arena, out, n, n_denormals);
	return widen_raw(&tensor->raw, type->stored, arena, out, n_denormals);
}

static void store_int(void *data, size_t i, enum pk_dtype stored, int64_t v)
{
	switch (stored) {
	case PK_I64:
		((int64_t *)data)[i] = v;
		break;
	case PK_I32:
		((int32_t *)data)[i] = (int32_t)v;
		break;
	case PK_F16:
		((float *)data)[i] = pk_f16_to_f32((uint16_t)v);
		break;
	case PK_BF16:
		((float *)data)[i] = pk_bf16_to_f32((uint16_t)v);
		break;
	default: // 8 bit and bool; checked to be in range
		((uint8_t *)data)[i] = (uint8_t)v;
		break;
	}
}

static int read_ints(const struct pk_onnx_tensor *tensor, const struct type_row *type,
	struct pk_tensor *out, struct pk_err *err)
{
	for (size_t i = 0; i < tensor->n_ints; i++) {
		int64_t v = tensor->ints[i];
		// Writers differ in whether negative 8 and 16 bit values are sign-extended.
		if (type->stored == PK_I8 && v > INT8_MAX && v <= UINT8_MAX)
			v = (int8_t)v;
		if (type->stored == PK_I32 && v > INT32_MAX && v <= UINT32_MAX)
			v = (int32_t)v;
		if (type->stored == PK_BOOL)
			v = v != 0;
		if (v < type->min || v > type->max)
			return pk_fail(err, -EINVAL, "element %zu is %lld: no %s", i, (long long)v,
				type->name);
		store_int(out->data, i, type->stored, v);
	}
	return 0;
}

static int read_typed(const struct pk_onnx_tensor *tensor, const struct type_row *type,
	struct pk_arena *arena, struct pk_tensor *out, size_t *n_denormals, struct pk_err *err)
{
	size_t n = (size_t)pk_shape_elements(&out->shape);
	size_t have = type->field == FIELD_FLOATS    ? tensor->n_floats
		      : type->field == FIELD_DOUBLES ? tensor->n_doubles
						     : tensor->n_ints;
	if (have != n)
		return pk_fail(
			err, -EINVAL, "%zu %s elements, the shape needs %zu", have, type->name, n);
	out->data = pk_arena_array(arena, n, pk_dtype_bytes(out->dtype));
	if (!out->data)
		return -ENOMEM;
	if (type->field == FIELD_INTS)
		return read_ints(tensor, type, out, err);
	for (size_t i = 0; i < n; i++)
		((float *)out->data)[i] =
			type->field == FIELD_FLOATS ? tensor->floats[i] : (float)tensor->doubles[i];
	*n_denormals += flush_denormals(out->data, (int64_t)n);
	return 0;
}

static int read_tensor(const struct pk_onnx_tensor *tensor, struct pk_arena *arena,
	struct pk_tensor *out, size_t *n_denormals, struct pk_err *err)
{
	const struct type_row *type = find_type(tensor->data_type);
	int64_t n = 0;
	if (tensor->external)
		return pk_fail(err, -ENOTSUP,
			"its data is in another file: save the model with all weights inside");
	if (type->dtype == PK_DTYPE_NONE)
		return pk_fail(err, -ENOTSUP, "elements of type %s are not supported", type->name);
	int rc = read_shape(tensor, &out->shape, &n, err);
	if (rc)
		return rc;
	out->dtype = type->dtype;
	if (tensor->has_raw && (tensor->n_floats || tensor->n_doubles || tensor->n_ints))
		return pk_fail(err, -EINVAL, "has both raw and typed data");
	return tensor->has_raw ? read_raw(tensor, type, arena, out, n_denormals, err)
			       : read_typed(tensor, type, arena, out, n_denormals, err);
}

int pk_tensor_data_read(const struct pk_onnx_tensor *tensor, struct pk_arena *arena,
	struct pk_tensor *out, size_t *n_denormals, struct pk_err *err)
{
	struct pk_err why = {0};
	int rc = read_tensor(tensor, arena, out, n_denormals, &why);
	if (rc == -ENOMEM)
		return pk_fail(err, rc, "tensor `%.*s`: no memory for its elements",
			PK_STR_ARG(tensor->name));
	if (rc)
		return pk_fail(err, rc, "tensor `%.*s`: %s", PK_STR_ARG(tensor->name), why.text);
	return 0;
}
