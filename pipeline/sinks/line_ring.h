// SPDX-License-Identifier: Apache-2.0
// Bounded bytes of whole lines between inference and a writer thread; fixed memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"

struct pk_line_ring;

struct pk_line_ring *pk_line_ring_create(size_t capacity) pk_must_check; // bytes; NULL: no memory
void pk_line_ring_destroy(struct pk_line_ring *ring);
PK_DEFINE_AUTO(pk_line_ring, pk_line_ring_destroy);

// Copies the line in. False: does not fit now; nothing changed. *was_empty tells whether the reader
// may be asleep.
bool pk_line_ring_put(struct pk_line_ring *ring, const char *line, size_t n, bool *was_empty)
	pk_must_check;
// Appends whole lines to out while it stays below max bytes (at least one line when there is any).
// Gives the bytes moved; out grows at most to max or one line.
size_t pk_line_ring_take(struct pk_line_ring *ring, struct pk_buf *out, size_t max);
