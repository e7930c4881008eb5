// SPDX-License-Identifier: Apache-2.0
// Writes engine files: sections in type order, aligned, hashed, then one atomic rename.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/fs.h"
#include "engine/plan/layout.h"
#include "engine/plan/plan.h"

#define SECTION_ALIGN 64 // in the file, and in memory while it is collected

struct pk_plan_writer {
	struct {
		uint8_t *data;
		size_t size;
	} sections[PK_PLAN_MAX_SECTIONS + 1]; // by type
};

struct pk_plan_writer *pk_plan_writer_create(void)
{
	return calloc(1, sizeof(struct pk_plan_writer));
}

void pk_plan_writer_destroy(struct pk_plan_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; i < PK_ARRAY_LEN(writer->sections); i++)
		free(writer->sections[i].data);
	free(writer);
}

int pk_plan_writer_add(
	struct pk_plan_writer *writer, enum pk_section type, const void *bytes, size_t n)
{
	size_t room = pk_align_up(n ? n : 1, SECTION_ALIGN);
	uint8_t *copy = room == SIZE_MAX ? NULL : aligned_alloc(SECTION_ALIGN, room);
	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, bytes, n);
	free(writer->sections[type].data);
	writer->sections[type].data = copy;
	writer->sections[type].size = n;
	return 0;
}

struct pk_plan_section pk_plan_writer_section(
	const struct pk_plan_writer *writer, enum pk_section type)
{
	return (struct pk_plan_section){writer->sections[type].data, writer->sections[type].size};
}

static size_t section_align(uint32_t type)
{
	bool mapped = type == PK_SECTION_WEIGHTS || type == PK_SECTION_KERNELS;
	return mapped ? PK_PLAN_WEIGHT_ALIGN : SECTION_ALIGN;
}

// Fills table (in type order) and header; returns how many sections there are.
static uint32_t lay_out(const struct pk_plan_writer *writer, struct pk_plan_entry *table,
	struct pk_plan_header *header)
{
	uint32_t n = 0;
	for (uint32_t type = 1; type <= PK_PLAN_MAX_SECTIONS; type++) {
		if (!writer->sections[type].data)
			continue;
		struct pk_digest digest = {0};
		(void)pk_digest_bytes(
			writer->sections[type].data, writer->sections[type].size, &digest);
		table[n] =
			(struct pk_plan_entry){.type = type, .size = writer->sections[type].size};
		memcpy(table[n++].sha256, digest.bytes, sizeof(digest.bytes));
	}
	uint64_t offset = sizeof(*header) + n * sizeof(*table);
	for (uint32_t i = 0; i < n; i++) {
		offset = pk_align_up(offset, section_align(table[i].type));
		table[i].offset = offset;
		offset += table[i].size;
	}
	*header = (struct pk_plan_header){
		.version = PK_PLAN_VERSION, .n_sections = n, .file_bytes = offset};
	memcpy(header->magic, PK_PLAN_MAGIC, sizeof(header->magic));
	struct pk_digest digest = {0};
	(void)pk_digest_bytes(table, n * sizeof(*table), &digest);
	memcpy(header->table_sha256, digest.bytes, sizeof(digest.bytes));
	return n;
}

// Where the bytes go: a file or a buffer.
struct target {
	int fd;
	struct pk_buf *buf; // NULL: fd
};

static int put(const struct target *target, const void *bytes, size_t n)
{
	if (target->buf)
		return pk_buf_append(target->buf, bytes, n);
	return pk_fs_write_all(target->fd, bytes, n);
}

static int put_padding(const struct target *target, uint64_t n)
{
	static const uint8_t zeros[4096];
	while (n > 0) {
		size_t part = (size_t)PK_MIN(n, (uint64_t)sizeof(zeros));
		int r = put(target, zeros, part);
		if (r < 0)
			return r;
		n -= part;
	}
	return 0;
}

static int put_all(const struct pk_plan_writer *writer, const struct target *target)
{
	struct pk_plan_entry table[PK_PLAN_MAX_SECTIONS];
	struct pk_plan_header header;
	uint32_t n = lay_out(writer, table, &header);
	int r = put(target, &header, sizeof(header));
	if (r == 0)
		r = put(target, table, n * sizeof(*table));
	uint64_t at = sizeof(header) + n * sizeof(*table);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = put_padding(target, table[i].offset - at);
		if (r == 0)
			r = put(target, writer->sections[table[i].type].data,
				(size_t)table[i].size);
		at = table[i].offset + table[i].size;
	}
	return r;
}

int pk_plan_writer_to_buf(const struct pk_plan_writer *writer, struct pk_buf *out)
{
	struct target target = {.fd = -1, .buf = out};
	return put_all(writer, &target);
}

int pk_plan_writer_finish(
	struct pk_plan_writer *writer, const char *path, int64_t *size_bytes, struct pk_err *err)
{
	struct pk_fs_atomic file = {.fd = -1};
	int r = pk_fs_atomic_begin(&file, path, 0640, err);
	if (r < 0)
		return r;
	struct target target = {.fd = file.fd};
	r = put_all(writer, &target);
	if (r < 0) {
		pk_fs_atomic_abort(&file);
		return pk_fail(err, r, "%s: %s", path, strerror(-r));
	}
	r = pk_fs_atomic_commit(&file, err);
	if (r == 0 && size_bytes)
		*size_bytes = pk_fs_size(path);
	return r;
}
