// SPDX-License-Identifier: Apache-2.0
// Tar files from strangers' USB sticks.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/tar.h"

struct bytes {
	const uint8_t *data;
	size_t size;
};

static int read_bytes(void *ctx, int64_t offset, void *out, size_t n)
{
	const struct bytes *bytes = ctx;
	if (offset < 0 || (uint64_t)offset > bytes->size || n > bytes->size - (size_t)offset)
		abort(); // must have been checked before
	memcpy(out, bytes->data + offset, n);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A checksum would stop nearly every change: it is made right for the first header.
static void mend_checksum(uint8_t *header)
{
	unsigned sum = 8 * ' ';
	for (size_t i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? 0 : header[i];
	for (size_t i = 0; i < 6; i++)
		header[153 - i] = (uint8_t)('0' + ((sum >> (3 * i)) & 7));
	header[154] = '\0';
	header[155] = ' ';
}

static void check_members(const struct pk_tar *tar, size_t size)
{
	for (size_t i = 0; i < tar->n; i++) {
		const struct pk_tar_member *m = &tar->members[i];
		if (m->offset < 0 || m->size < 0 || m->size > (int64_t)size - m->offset)
			abort();
		if (m->name[0] == '/' || strstr(m->name, ".."))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, size};
	struct pk_tar tar;
	struct pk_err err = {0};
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (size >= 512)
		mend_checksum(copy);
	bytes.data = copy;
	if (pk_tar_list(read_bytes, &bytes, (int64_t)size, &tar, &err) == 0) {
		check_members(&tar, size);
		pk_tar_finish(&tar);
	} else if (!err.text[0]) {
		abort(); // a refusal without a reason
	}
	free(copy);
	return 0;
}
