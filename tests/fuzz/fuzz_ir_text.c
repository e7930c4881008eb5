// SPDX-License-Identifier: Apache-2.0
// The IR's text form, as it comes out of a damaged engine file: what parses must verify, print and
// parse again to the same text, and survive every pass.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ir/text.h"
#include "engine/ir/verify.h"
#include "engine/passes/pass.h"

static _Alignas(64) char weights[256];

static void check(int ok)
{
	if (!ok)
		abort();
}

static int64_t offset_of(void *ctx, const void *data, size_t bytes)
{
	const char *p = data;
	return p >= weights && p <= weights + sizeof(weights) ? p - weights : -1;
}

// Printed and parsed again, the text is the same. Constants may be too many to be read inline.
static void check_round_trip(const struct pk_graph *graph)
{
	struct pk_text_options options = {offset_of, NULL};
	struct pk_graph *again = NULL;
	struct pk_err err = {0};
	struct pk_buf first, second;
	pk_buf_init(&first, 1 << 24);
	pk_buf_init(&second, 1 << 24);
	if (pk_text_print(graph, &options, &first) == 0) {
		check(pk_text_parse(
			      first.data, first.len, weights, sizeof(weights), &again, &err) == 0);
		check(pk_text_print(again, &options, &second) == 0);
		check(strcmp(first.data, second.data) == 0);
	}
	pk_graph_destroy(again);
	pk_buf_finish(&first);
	pk_buf_finish(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_graph *graph = NULL;
	struct pk_err err = {0};
	if (pk_text_parse((const char *)data, size, weights, sizeof(weights), &graph, &err) < 0) {
		check(err.text[0] && !graph);
		return 0;
	}
	check(pk_verify_graph(graph, &err) == 0);
	check_round_trip(graph);
	struct pk_pass_options options = {.verify = true};
	int r = pk_passes_run(graph, &options, NULL, &err);
	check(r == 0 || r == -ENOMEM || (r == -EINVAL && strstr(err.text, "has no bytes")));
	pk_graph_destroy(graph);
	return 0;
}
