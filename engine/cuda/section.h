// SPDX-License-Identifier: Apache-2.0
// The KERNELS section of cuda engines: cubins and cuDNN plans by name, each with a SHA-256 of its
// own, since cuDNN takes a damaged cubin without a word.
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/cuda/row.h"

#define PK_CUDA_PIECE_NAME 48 // bytes of a name, NUL included

// A cubin's name is its text's ("pool.cu"); a plan's is its step's position ("#12").
int pk_cuda_section_add(struct pk_buf *section, const char *name, const void *bytes, size_t n)
	pk_must_check;
// Points into the section. -EBADMSG: damaged, or there is no such piece.
int pk_cuda_section_find(const struct pk_cuda_bytes *section, const char *name,
	struct pk_cuda_bytes *out, struct pk_err *err) pk_must_check;
