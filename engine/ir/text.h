// SPDX-License-Identifier: Apache-2.0
// The text form of the IR, for tests, engine files and people. Parsing what was printed and
// printing it again gives the same bytes.
//
//   graph {
//     input %images: f32[1,3,8,8]
//     const %w: f32[2,3,1,1] = {1, 0.5, 0, 0, 0, 2}
//     const %b: f32[2] = @4096
//     %y: f32[1,2,8,8] = conv(%images, %w, %b) {act=relu} "/0/conv" kernel=conv_ref pack=@8192+128
//     output %y
//   }
//
// A type may end with its layout: f32[1,16,8,8]/c8 is blocked by 8 channels (engine/ir/layout.h).
// An operand left out is "_". Names are [A-Za-z0-9_./:-]+ after '%' (a ':' only before another such
// character), else quoted: %"a b" with \", \\ and \xNN. '#' starts a comment. '@N' is an offset
// into the weights, '{…}' inline data, 'elided' a constant without its bytes (pk_value.elided: data
// then points at something that must not be read).
//
// Attributes at their neutral value (strides 1, pads 0, act none, …: engine/ir/attr_rule.c) are not
// printed and need not be given. Constants that nothing uses are not printed.
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/ir/graph.h"

struct pk_text_options {
	// NULL: constants and packed weights are printed inline. Else gives the offset of a
	// constant's (or packed) bytes in the weights section; negative: print inline.
	int64_t (*offset_of)(void *ctx, const void *data, size_t bytes);
	void *ctx;
};
int pk_text_print(
	const struct pk_graph *graph, const struct pk_text_options *options, struct pk_buf *out);

#define PK_TEXT_MAX_INLINE (64 * 1024) // elements of one '{…}'

// weights: what '@N' points into, bounds and alignment (of the element; 64 for pack=) checked;
// NULL/0: '@' is an error. The graph refers to weights in place (they must outlive it). Types are
// checked against inference. -EINVAL: "line:col: what"; -EFBIG, -ENOMEM.
int pk_text_parse(const char *text, size_t n, const void *weights, size_t n_weights,
	struct pk_graph **out, struct pk_err *err) pk_must_check;
