// SPDX-License-Identifier: Apache-2.0
// Pieces in the KERNELS section: a header {name, size, sha256}, the bytes, padding to 16.
#include "engine/cuda/section.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "base/digest.h"

#define PIECE_ALIGN 16

struct piece {
	char name[PK_CUDA_PIECE_NAME];
	uint64_t size;
	uint64_t reserved; // 0
	uint8_t sha256[PK_SHA256_BYTES];
};
_Static_assert(sizeof(struct piece) == 96, "piece layout");

int pk_cuda_section_add(struct pk_buf *section, const char *name, const void *bytes, size_t n)
{
	struct piece piece = {.size = n};
	struct pk_digest digest;
	strncpy(piece.name, name, sizeof(piece.name) - 1);
	int r = pk_digest_bytes(bytes, n, &digest);
	if (r < 0)
		return r;
	memcpy(piece.sha256, digest.bytes, sizeof(piece.sha256));
	pk_buf_append(section, &piece, sizeof(piece));
	pk_buf_append(section, bytes, n);
	static const char padding[PIECE_ALIGN];
	pk_buf_append(section, padding, pk_align_up(section->len, PIECE_ALIGN) - section->len);
	return pk_buf_error(section);
}

// The piece at `at`; false at the end and at what does not fit.
static bool read_piece(const struct pk_cuda_bytes *section, size_t at, struct piece *piece)
{
	if (at > section->n || section->n - at < sizeof(*piece))
		return false;
	memcpy(piece, (const char *)section->data + at, sizeof(*piece));
	return memchr(piece->name, '\0', sizeof(piece->name)) &&
	       piece->size <= section->n - at - sizeof(*piece);
}

static int check_digest(
	const struct pk_cuda_bytes *bytes, const struct piece *piece, struct pk_err *err)
{
	struct pk_digest digest;
	int r = pk_digest_bytes(bytes->data, bytes->n, &digest);
	if (r < 0)
		return pk_fail(err, r, "out of memory");
	if (memcmp(digest.bytes, piece->sha256, sizeof(piece->sha256)) != 0)
		return pk_fail(err, -EBADMSG, "device code `%s` is damaged", piece->name);
	return 0;
}

int pk_cuda_section_find(const struct pk_cuda_bytes *section, const char *name,
	struct pk_cuda_bytes *out, struct pk_err *err)
{
	struct piece piece;
	size_t at = 0;
	while (section->data && read_piece(section, at, &piece)) {
		at += sizeof(piece);
		if (strcmp(piece.name, name) == 0) {
			*out = (struct pk_cuda_bytes){
				(const char *)section->data + at, (size_t)piece.size};
			return check_digest(out, &piece, err);
		}
		at = pk_align_up(at + (size_t)piece.size, PIECE_ALIGN);
	}
	return pk_fail(err, -EBADMSG, "device code `%s` is not in the engine", name);
}
