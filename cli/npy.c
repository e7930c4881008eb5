// SPDX-License-Identifier: Apache-2.0
// .npy reading and writing.
#include "cli/npy.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"

#define MAX_NPY_BYTES (size_t)(UINT64_C(4) << 30)
#define PREFIX_BYTES  8 // magic and version

static const struct {
	const char *descr;
	enum pk_dtype dtype;
} descrs[] = {
	{"<f4", PK_F32},
	{"<f8", PK_F64},
	{"<f2", PK_F16},
	{"<i8", PK_I64},
	{"<i4", PK_I32},
	{"<i2", PK_I16},
	{"|i1", PK_I8},
	{"<u8", PK_U64},
	{"<u4", PK_U32},
	{"<u2", PK_U16},
	{"|u1", PK_U8},
	{"|b1", PK_BOOL},
};

static enum pk_dtype dtype_of(const char *descr, size_t n)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(descrs); i++) {
		if (strlen(descrs[i].descr) == n && memcmp(descrs[i].descr, descr, n) == 0)
			return descrs[i].dtype;
	}
	return PK_DTYPE_NONE;
}

static bool parse_shape(const char *text, struct pk_shape *shape)
{
	const char *at = strstr(text, "'shape':");
	at = at ? strchr(at, '(') : NULL;
	if (!at)
		return false;
	shape->rank = 0;
	for (at++; *at && *at != ')';) {
		char *end;
		long long dim = strtoll(at, &end, 10);
		if (end == at || dim < 0 || shape->rank == PK_MAX_RANK)
			return false;
		shape->dims[shape->rank++] = dim;
		at = end + strspn(end, ", ");
	}
	return *at == ')' && pk_shape_elements(shape) >= 0;
}

// header: the Python dict literal, NUL-terminated.
static int parse_header(const char *header, struct pk_tensor *tensor, struct pk_err *err)
{
	const char *descr = strstr(header, "'descr':");
	descr = descr ? strchr(descr + 8, '\'') : NULL;
	const char *end = descr ? strchr(descr + 1, '\'') : NULL;
	tensor->dtype = end ? dtype_of(descr + 1, (size_t)(end - descr - 1)) : PK_DTYPE_NONE;
	if (tensor->dtype == PK_DTYPE_NONE)
		return pk_fail(err, -EINVAL, "element type is not one of ours");
	if (strstr(header, "'fortran_order': True"))
		return pk_fail(err, -EINVAL, "Fortran order; save it with numpy.ascontiguousarray");
	if (!parse_shape(header, &tensor->shape))
		return pk_fail(err, -EINVAL, "shape is malformed");
	return 0;
}

static int split(const struct pk_buf *file, char **header, size_t *data_at, struct pk_err *err)
{
	const uint8_t *bytes = (const uint8_t *)file->data;
	if (file->len < PREFIX_BYTES + 4 || memcmp(bytes, "\x93NUMPY", 6) != 0)
		return pk_fail(err, -EINVAL, "not a .npy file");
	bool wide = bytes[6] >= 2;
	size_t n = wide ? (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 |
				   (size_t)bytes[11] << 24
			: (size_t)bytes[8] | (size_t)bytes[9] << 8;
	size_t at = PREFIX_BYTES + (wide ? 4 : 2);
	if (n > file->len - at)
		return pk_fail(err, -EINVAL, "header is cut off");
	*header = strndup(file->data + at, n);
	*data_at = at + n;
	return *header ? 0 : pk_fail(err, -ENOMEM, "out of memory");
}

int pk_npy_read(const char *path, struct pk_tensor *tensor, struct pk_err *err)
{
	pk_auto_buf struct pk_buf file;
	pk_buf_init(&file, MAX_NPY_BYTES);
	pk_auto_free char *header = NULL;
	size_t data_at = 0;
	int r = pk_fs_read(path, MAX_NPY_BYTES, &file, err);
	if (r < 0)
		return r;
	r = split(&file, &header, &data_at, err);
	if (r == 0)
		r = parse_header(header, tensor, err);
	size_t want = r == 0 ? pk_tensor_bytes(tensor->dtype, &tensor->shape) : 0;
	if (r == 0 && file.len - data_at != want)
		r = pk_fail(err, -EINVAL, "%zu bytes of data, its shape needs %zu",
			file.len - data_at, want);
	if (r == 0) {
		tensor->data = malloc(want ? want : 1);
		if (tensor->data)
			memcpy(tensor->data, file.data + data_at, want);
		else
			r = pk_fail(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		pk_err_prefix(err, "%s", path);
	return r;
}

static const char *descr_of(enum pk_dtype dtype)
{
	for (size_t i = 0; i < PK_ARRAY_LEN(descrs); i++) {
		if (descrs[i].dtype == dtype)
			return descrs[i].descr;
	}
	return NULL;
}

int pk_npy_write(const char *path, enum pk_dtype dtype, const struct pk_shape *shape,
	const void *data, struct pk_err *err)
{
	const char *descr = descr_of(dtype);
	if (!descr)
		return pk_fail(err, -ENOTSUP, "%s: .npy has no element type for %s", path,
			pk_dtype_name(dtype));
	pk_auto_buf struct pk_buf header, file;
	pk_buf_init(&header, 4096);
	pk_buf_init(&file, MAX_NPY_BYTES);
	pk_buf_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (int i = 0; i < shape->rank; i++)
		pk_buf_printf(&header, "%lld, ", (long long)shape->dims[i]);
	pk_buf_str(&header, ")}");
	while ((PREFIX_BYTES + 2 + header.len + 1) % 64 != 0)
		pk_buf_str(&header, " ");
	pk_buf_str(&header, "\n");
	uint8_t prefix[PREFIX_BYTES + 2] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0,
		(uint8_t)(header.len & 0xff), (uint8_t)(header.len >> 8)};
	pk_buf_append(&file, prefix, sizeof(prefix));
	pk_buf_append(&file, header.data, header.len);
	pk_buf_append(&file, data, pk_tensor_bytes(dtype, shape));
	if (pk_buf_error(&file) < 0)
		return pk_fail(err, pk_buf_error(&file), "%s: too large", path);
	return pk_fs_write_atomic(path, file.data, file.len, 0644, err);
}
