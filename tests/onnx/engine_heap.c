// SPDX-License-Identifier: Apache-2.0
// Loads an engine file and prints by how much the heap grew, as JSON.
#include <malloc.h>
#include <stdio.h>

#include "engine/engine.h"

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: engine-heap FILE.engine\n", stderr);
		return 2;
	}
	struct pk_err err = {0};
	struct pk_engine *engine = NULL;
	enum pk_mismatch mismatch;
	size_t before = heap_bytes();
	int r = pk_engine_load(argv[1], NULL, &engine, &mismatch, &err);
	if (r < 0) {
		fprintf(stderr, "%s\n", pk_err_text(&err, r));
		return 1;
	}
	printf("{\"heap_bytes\":%zu,\"weight_bytes\":%zu}\n", heap_bytes() - before,
		pk_engine_info(engine)->weight_bytes);
	pk_engine_unload(engine);
	return 0;
}
