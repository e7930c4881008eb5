// SPDX-License-Identifier: Apache-2.0
// Headers of 512 bytes, each believed only as far as its checksum and the file's length go.
#include "registry/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define BLOCK_BYTES   512
#define PAX_MAX_BYTES (64 * 1024)

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char kind;
	char link[100], magic[6], version[2], owner[32], group[32], major[8], minor[8];
	char prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK_BYTES, "the form of a tar header");

struct scan {
	pk_tar_read *read;
	void *ctx;
	int64_t size, at; // at: of the header
	struct pk_tar *out;
	char long_name[PK_TAR_MAX_NAME]; // of the next member; "": none
	int64_t long_size;               // of the next member; -1: none
	struct pk_err *err;
};

void pk_tar_finish(struct pk_tar *tar)
{
	for (size_t i = 0; i < tar->n; i++)
		free(tar->members[i].name);
	free(tar->members);
	*tar = (struct pk_tar){0};
}

const struct pk_tar_member *pk_tar_find(const struct pk_tar *tar, const char *name)
{
	for (size_t i = 0; i < tar->n; i++)
		if (strcmp(tar->members[i].name, name) == 0)
			return &tar->members[i];
	return NULL;
}

// Octal digits, or GNU's big-endian binary when the first bit is set; -1: neither, or too big.
static int64_t parse_field(const char *field, size_t n)
{
	int64_t v = 0;
	if ((unsigned char)field[0] == 0x80) {
		for (size_t i = 1; i < n; i++)
			if (pk_mul_overflow(v, 256, &v) ||
				pk_add_overflow(v, (unsigned char)field[i], &v))
				return -1;
		return v;
	}
	size_t i = 0;
	while (i < n && field[i] == ' ')
		i++;
	for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		if (pk_mul_overflow(v, 8, &v) || pk_add_overflow(v, field[i] - '0', &v))
			return -1;
	return i == n || field[i] == ' ' || field[i] == '\0' ? v : -1;
}

static bool checksum_fits(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	size_t from = offsetof(struct header, checksum);
	int64_t sum = 0;
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		sum += i >= from && i < from + sizeof(header->checksum) ? ' ' : bytes[i];
	return parse_field(header->checksum, sizeof(header->checksum)) == sum;
}

static int refuse(const struct scan *s, int code, const char *why)
{
	return pk_fail(s->err, code, "tar: at byte %" PRId64 ": %s", s->at, why);
}

static int read_at(const struct scan *s, int64_t offset, void *out, size_t n)
{
	int rc = s->read(s->ctx, offset, out, n);
	return rc < 0 ? pk_fail(s->err, rc, "tar: reading: %s", strerror(-rc)) : 0;
}

// "12 path=some/name\n" in a row.
static int take_record(struct scan *s, const char *text, size_t n)
{
	static const char path[] = "path=", size[] = "size=";
	size_t n_path = strlen(path), n_size = strlen(size);
	if (n >= n_path && memcmp(text, path, n_path) == 0) {
		size_t n_name = n - n_path;
		if (n_name >= sizeof(s->long_name) || memchr(text, '\0', n))
			return refuse(s, -EINVAL, "a name that is too long or has a zero in it");
		memcpy(s->long_name, text + n_path, n_name);
		s->long_name[n_name] = '\0';
	} else if (n >= n_size && memcmp(text, size, n_size) == 0) {
		s->long_size = 0;
		for (size_t i = n_size; i < n; i++)
			if (text[i] < '0' || text[i] > '9' ||
				pk_mul_overflow(s->long_size, 10, &s->long_size) ||
				pk_add_overflow(s->long_size, text[i] - '0', &s->long_size))
				return refuse(s, -EINVAL, "a size that is no number");
	} else if (n >= 4 && memcmp(text, "GNU.", 4) == 0) {
		return refuse(s, -ENOTSUP, "a file with holes");
	}
	return 0;
}

static int take_pax(struct scan *s, const char *text, size_t n)
{
	while (n > 0) {
		size_t n_digits = 0, length = 0;
		while (n_digits < n && n_digits < 6 && text[n_digits] >= '0' &&
			text[n_digits] <= '9')
			length = length * 10 + (size_t)(text[n_digits++] - '0');
		if (n_digits == 0 || length > n || length < n_digits + 2 || text[n_digits] != ' ' ||
			text[length - 1] != '\n')
			return refuse(s, -EINVAL, "a pax header that cannot be read");
		int rc = take_record(s, text + n_digits + 1, length - n_digits - 2);
		if (rc < 0)
			return rc;
		text += length;
		n -= length;
	}
	return 0;
}

// 'x' and 'L': what they say holds for the member after them.
static int take_extension(struct scan *s, char kind, int64_t offset, int64_t size)
{
	if (size > PAX_MAX_BYTES)
		return refuse(s, -EFBIG, "an extension header beyond 64 KiB");
	pk_auto_free char *text = calloc(1, (size_t)size + 1);
	if (!text)
		return pk_fail(s->err, -ENOMEM, "tar: out of memory");
	int rc = read_at(s, offset, text, (size_t)size);
	if (rc < 0 || kind == 'K' || kind == 'g')
		return rc;
	if (kind == 'x')
		return take_pax(s, text, (size_t)size);
	if (strlen(text) >= sizeof(s->long_name))
		return refuse(s, -EINVAL, "a name that is too long");
	memcpy(s->long_name, text, strlen(text) + 1);
	return 0;
}

static void name_of(const struct scan *s, const struct header *header, char out[PK_TAR_MAX_NAME])
{
	size_t n = 0;
	bool is_ustar = memcmp(header->magic, "ustar", 5) == 0 && header->magic[5] == '\0';
	if (s->long_name[0]) {
		memcpy(out, s->long_name, strlen(s->long_name) + 1);
		return;
	}
	if (is_ustar && header->prefix[0]) {
		n = strnlen(header->prefix, sizeof(header->prefix));
		memcpy(out, header->prefix, n);
		out[n++] = '/';
	}
	size_t n_name = strnlen(header->name, sizeof(header->name));
	memcpy(out + n, header->name, n_name);
	out[n + n_name] = '\0';
}

static int add_member(struct scan *s, const char *name, int64_t offset, int64_t size)
{
	while (strncmp(name, "./", 2) == 0)
		name += 2;
	if (!*name || *name == '/' || strstr(name, ".."))
		return refuse(s, -EINVAL, "a name that leads outside");
	if (pk_tar_find(s->out, name))
		return refuse(s, -EINVAL, "the same name twice");
	if (s->out->n == PK_TAR_MAX_MEMBERS)
		return refuse(s, -EFBIG, "more than 4096 members");
	if (s->out->n == s->out->cap) {
		size_t cap = s->out->cap ? 2 * s->out->cap : 16;
		struct pk_tar_member *grown =
			reallocarray(s->out->members, cap, sizeof(*s->out->members));
		if (!grown)
			return pk_fail(s->err, -ENOMEM, "tar: out of memory");
		s->out->members = grown;
		s->out->cap = cap;
	}
	char *copy = strdup(name);
	if (!copy)
		return pk_fail(s->err, -ENOMEM, "tar: out of memory");
	s->out->members[s->out->n++] =
		(struct pk_tar_member){.name = copy, .offset = offset, .size = size};
	return 0;
}

static int take_member(struct scan *s, const struct header *header, int64_t offset, int64_t size)
{
	char name[PK_TAR_MAX_NAME];
	name_of(s, header, name);
	s->long_name[0] = '\0';
	s->long_size = -1;
	switch (header->kind) {
	case '5':
		return 0;
	case '0':
	case '7':
	case '\0':
		return add_member(s, name, offset, size);
	default:
		return refuse(s, -ENOTSUP, "a member that is no regular file (link, device, hole)");
	}
}

static int take_header(struct scan *s, const struct header *header)
{
	int64_t size = parse_field(header->size, sizeof(header->size));
	int64_t offset = s->at + BLOCK_BYTES, padded;
	bool is_extension = header->kind && strchr("xgLK", header->kind);
	if (!checksum_fits(header))
		return refuse(
			s, -EINVAL, "a header with a wrong checksum: no tar file, or damaged");
	if (!is_extension && s->long_size >= 0)
		size = s->long_size;
	if (header->kind == '5')
		size = 0;
	if (size < 0 || size > s->size - offset)
		return refuse(s, -EINVAL, "a size beyond the end of the file");
	int rc = is_extension ? take_extension(s, header->kind, offset, size)
			      : take_member(s, header, offset, size);
	if (rc < 0)
		return rc;
	padded = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
	s->at = offset + padded;
	return 0;
}

static bool is_compressed(const unsigned char *bytes)
{
	static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd},
				   xz[] = {0xfd, '7', 'z', 'X', 'Z'};
	return memcmp(bytes, gzip, sizeof(gzip)) == 0 || memcmp(bytes, zstd, sizeof(zstd)) == 0 ||
	       memcmp(bytes, xz, sizeof(xz)) == 0;
}

static int scan_all(struct scan *s)
{
	static const struct header zeroes;
	struct header header;
	while (s->size - s->at >= BLOCK_BYTES) {
		int rc = read_at(s, s->at, &header, sizeof(header));
		if (rc < 0)
			return rc;
		if (s->at == 0 && is_compressed((const unsigned char *)&header))
			return refuse(s, -ENOTSUP, "compressed: unpack it first");
		if (memcmp(&header, &zeroes, sizeof(header)) == 0)
			return 0;
		rc = take_header(s, &header);
		if (rc < 0)
			return rc;
	}
	return s->at > 0 ? 0 : refuse(s, -EINVAL, "no tar file");
}

int pk_tar_list(pk_tar_read *read, void *ctx, int64_t size, struct pk_tar *out, struct pk_err *err)
{
	*out = (struct pk_tar){0};
	struct scan s = {
		.read = read, .ctx = ctx, .size = size, .out = out, .long_size = -1, .err = err};
	int rc = scan_all(&s);
	if (rc < 0)
		pk_tar_finish(out);
	return rc;
}
