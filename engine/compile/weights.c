// SPDX-License-Identifier: Apache-2.0
// Writes the GRAPH and WEIGHTS sections.
#include "engine/compile/weights.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/checked.h"
#include "engine/ir/text.h"

#define MAX_TEXT_BYTES   (64u << 20)
#define MAX_WEIGHT_BYTES (size_t)(UINT64_C(4) << 30)

struct weights {
	struct pk_buf bytes;
	size_t align;
	struct {
		const void *data;
		int64_t offset;
	} * seen;
	size_t n_seen, cap_seen;
	int error;
};

static int64_t weights_offset(void *ctx, const void *data, size_t n)
{
	struct weights *weights = ctx;
	for (size_t i = 0; i < weights->n_seen; i++) {
		if (weights->seen[i].data == data)
			return weights->seen[i].offset;
	}
	size_t at = pk_align_up(weights->bytes.len, weights->align);
	void *seen = weights->seen;
	if (pk_array_grow_impl(
		    &seen, &weights->cap_seen, weights->n_seen + 1, sizeof(*weights->seen)) < 0 ||
		!pk_buf_reserve(&weights->bytes, at - weights->bytes.len) ||
		pk_buf_append(&weights->bytes, data, n) < 0) {
		weights->error = -ENOMEM;
		return 0;
	}
	weights->seen = seen;
	weights->seen[weights->n_seen].data = data;
	weights->seen[weights->n_seen++].offset = (int64_t)at;
	return (int64_t)at;
}

static int write_sections(const struct pk_graph *graph, struct weights *weights,
	struct pk_plan_writer *writer, struct pk_buf *text)
{
	struct pk_text_options options = {.offset_of = weights_offset, .ctx = weights};
	int r = pk_text_print(graph, &options, text);
	if (r == 0)
		r = weights->error;
	if (r == 0)
		r = pk_plan_writer_add(writer, PK_SECTION_GRAPH, text->data, text->len);
	if (r == 0)
		r = pk_plan_writer_add(
			writer, PK_SECTION_WEIGHTS, weights->bytes.data, weights->bytes.len);
	return r;
}

int pk_weights_write(const struct pk_graph *graph, size_t align, struct pk_plan_writer *writer,
	struct pk_err *err)
{
	struct weights weights = {.align = align};
	struct pk_buf text;
	pk_buf_init(&weights.bytes, MAX_WEIGHT_BYTES);
	pk_buf_init(&text, MAX_TEXT_BYTES);
	int r = write_sections(graph, &weights, writer, &text);
	pk_buf_finish(&weights.bytes); // the writer has them
	pk_buf_finish(&text);
	free(weights.seen);
	return r < 0 ? pk_fail(err, r, "engine sections: %s", strerror(-r)) : 0;
}

int pk_weights_reload(
	const struct pk_plan_writer *writer, struct pk_graph **out, struct pk_err *err)
{
	struct pk_plan_section text = pk_plan_writer_section(writer, PK_SECTION_GRAPH);
	struct pk_plan_section weights = pk_plan_writer_section(writer, PK_SECTION_WEIGHTS);
	return pk_text_parse(
		(const char *)text.data, text.size, weights.data, weights.size, out, err);
}
