// SPDX-License-Identifier: Apache-2.0
// Opens engine files: every offset is bounded and every section hashed before anything is used.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/fs.h"
#include "engine/plan/layout.h"
#include "engine/plan/plan.h"

#define PK_PLAN_MAX_BYTES (UINT64_C(8) << 30)

struct pk_plan {
	struct pk_fs_map map; // data NULL when the bytes are the caller's
	struct pk_plan_section sections[PK_PLAN_MAX_SECTIONS + 1]; // by type
};

const char *pk_mismatch_name(enum pk_mismatch mismatch)
{
	static const char *const names[] = {
		[PK_MATCH] = "match",
		[PK_MISMATCH_FORMAT] = "format",
		[PK_MISMATCH_TARGET] = "target",
		[PK_MISMATCH_LIBRARY] = "library",
		[PK_MISMATCH_DRIVER] = "driver",
		[PK_MISMATCH_MODEL] = "model",
		[PK_MISMATCH_CORRUPT] = "corrupt",
	};
	return (size_t)mismatch < PK_ARRAY_LEN(names) ? names[mismatch] : "unknown";
}

static int refuse(
	enum pk_mismatch *mismatch, enum pk_mismatch why, struct pk_err *err, const char *text)
{
	*mismatch = why;
	return pk_fail(err, why == PK_MISMATCH_CORRUPT ? -EBADMSG : -ESTALE, "%s", text);
}

static int check_header(const uint8_t *bytes, size_t n, struct pk_plan_header *header,
	enum pk_mismatch *mismatch, struct pk_err *err)
{
	if (n < sizeof(*header))
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err, "shorter than an engine header");
	memcpy(header, bytes, sizeof(*header));
	if (memcmp(header->magic, PK_PLAN_MAGIC, sizeof(header->magic)) != 0)
		return refuse(mismatch, PK_MISMATCH_FORMAT, err, "not an engine file");
	if (header->version != PK_PLAN_VERSION)
		return refuse(mismatch, PK_MISMATCH_FORMAT, err, "engine file of another version");
	if (header->reserved != 0)
		return refuse(mismatch, PK_MISMATCH_FORMAT, err, "engine file of a later version");
	if (header->file_bytes != n)
		return refuse(
			mismatch, PK_MISMATCH_CORRUPT, err, "file size differs from its header");
	if (header->n_sections > PK_PLAN_MAX_SECTIONS)
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err, "too many sections");
	if (n - sizeof(*header) < header->n_sections * sizeof(struct pk_plan_entry))
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err, "section table is cut off");
	return 0;
}

static bool digest_holds(const uint8_t *data, size_t n, const uint8_t *sha256)
{
	struct pk_digest digest;
	return pk_digest_bytes(data, n, &digest) == 0 &&
	       memcmp(digest.bytes, sha256, PK_SHA256_BYTES) == 0;
}

static int take_section(struct pk_plan *plan, const uint8_t *bytes, size_t n,
	const struct pk_plan_entry *entry, enum pk_mismatch *mismatch, struct pk_err *err)
{
	uint64_t end;
	if (pk_add_overflow(entry->offset, entry->size, &end) || end > n)
		return refuse(
			mismatch, PK_MISMATCH_CORRUPT, err, "a section lies outside the file");
	if (!digest_holds(bytes + entry->offset, (size_t)entry->size, entry->sha256)) {
		*mismatch = PK_MISMATCH_CORRUPT;
		return pk_fail(err, -EBADMSG, "section %u does not match its digest", entry->type);
	}
	if (entry->type == 0 || entry->type > PK_PLAN_MAX_SECTIONS)
		return 0; // of a later writer: optional by definition
	if (entry->type == PK_SECTION_WEIGHTS && entry->offset % PK_PLAN_WEIGHT_ALIGN != 0)
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err, "weights are not aligned");
	if (plan->sections[entry->type].data)
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err, "a section stands twice");
	plan->sections[entry->type].data = bytes + entry->offset;
	plan->sections[entry->type].size = (size_t)entry->size;
	return 0;
}

static int read_sections(struct pk_plan *plan, const uint8_t *bytes, size_t n,
	enum pk_mismatch *mismatch, struct pk_err *err)
{
	struct pk_plan_header header;
	int r = check_header(bytes, n, &header, mismatch, err);
	if (r < 0)
		return r;
	const uint8_t *table = bytes + sizeof(header);
	if (!digest_holds(
		    table, header.n_sections * sizeof(struct pk_plan_entry), header.table_sha256))
		return refuse(mismatch, PK_MISMATCH_CORRUPT, err,
			"the section table does not match its digest");
	for (uint32_t i = 0; i < header.n_sections; i++) {
		struct pk_plan_entry entry;
		memcpy(&entry, table + i * sizeof(entry), sizeof(entry));
		r = take_section(plan, bytes, n, &entry, mismatch, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int pk_plan_from_bytes(const void *bytes, size_t n, struct pk_plan **out,
	enum pk_mismatch *mismatch, struct pk_err *err)
{
	*mismatch = PK_MATCH;
	pk_auto(pk_plan) plan = calloc(1, sizeof(*plan));
	if (!plan)
		return pk_fail(err, -ENOMEM, "out of memory");
	int r = read_sections(plan, bytes, n, mismatch, err);
	if (r < 0)
		return r;
	*out = pk_steal(plan);
	return 0;
}

int pk_plan_open(
	const char *path, struct pk_plan **out, enum pk_mismatch *mismatch, struct pk_err *err)
{
	*mismatch = PK_MATCH;
	struct pk_fs_map map = {0};
	int r = pk_fs_map(&map, path, PK_PLAN_MAX_BYTES, err);
	if (r == -EINVAL || r == -EFBIG || r == -ENODATA)
		*mismatch = PK_MISMATCH_CORRUPT;
	if (r < 0)
		return *mismatch == PK_MISMATCH_CORRUPT ? -EBADMSG : r;
	r = pk_plan_from_bytes(map.data, map.size, out, mismatch, err);
	if (r < 0) {
		pk_fs_unmap(&map);
		pk_err_prefix(err, "%s", path);
		return r;
	}
	(*out)->map = map;
	return 0;
}

void pk_plan_close(struct pk_plan *plan)
{
	if (!plan)
		return;
	pk_fs_unmap(&plan->map);
	free(plan);
}

struct pk_plan_section pk_plan_section(const struct pk_plan *plan, enum pk_section type)
{
	return plan->sections[type];
}
