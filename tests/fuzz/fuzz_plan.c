// SPDX-License-Identifier: Apache-2.0
// Fuzzes loading of engine files: the container, then the runtimes over its sections (cuda as far
// as it comes without a driver: graph, rows, memory plan; and its device code). Digests are made
// right first, so that the fuzzer reaches what stands behind them.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cuda/section.h"
#include "engine/plan/layout.h"
#include "engine/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load_cuda(const struct pk_plan *plan)
{
	void *loaded = NULL;
	struct pk_plan_section code = pk_plan_section(plan, PK_SECTION_KERNELS);
	struct pk_cuda_bytes bytes = {code.data, code.size}, piece;
	(void)!pk_cuda_section_find(&bytes, "pool.cu", &piece, NULL);
	if (pk_cuda_runtime.load(plan, &loaded, NULL) == 0)
		pk_cuda_runtime.unload(loaded);
}

// Sections from the input: type byte, length u16, bytes.
static void load_sections(const uint8_t *data, size_t size)
{
	pk_auto(pk_plan_writer) writer = pk_plan_writer_create();
	struct pk_buf image;
	pk_buf_init(&image, 4u << 20);
	while (size >= 3) {
		size_t n = (size_t)data[1] | (size_t)data[2] << 8;
		n = n < size - 3 ? n : size - 3;
		if (pk_plan_writer_add(writer, 1 + data[0] % PK_SECTION_KERNELS, data + 3, n) < 0)
			break;
		data += 3 + n;
		size -= 3 + n;
	}
	struct pk_plan *plan = NULL;
	enum pk_mismatch mismatch;
	void *loaded = NULL, *context = NULL;
	if (pk_plan_writer_to_buf(writer, &image) == 0 &&
		pk_plan_from_bytes(image.data, image.len, &plan, &mismatch, NULL) == 0 &&
		pk_cpu_runtime.load(plan, &loaded, NULL) == 0) {
		struct pk_loaded_info info;
		(void)pk_cpu_runtime.describe(loaded, &info);
		if (info.activation_bytes < (1u << 20) &&
			pk_cpu_runtime.context_create(loaded, 1, &context, NULL) == 0 &&
			pk_cpu_runtime.submit(context, 0, NULL) == 0)
			(void)pk_cpu_runtime.wait(context, 0, NULL);
	}
	pk_cpu_runtime.context_destroy(context);
	pk_cpu_runtime.unload(loaded);
	if (plan)
		load_cuda(plan);
	pk_plan_close(plan);
	pk_buf_finish(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_plan *plan = NULL;
	enum pk_mismatch mismatch;
	if (pk_plan_from_bytes(data, size, &plan, &mismatch, NULL) == 0)
		pk_plan_close(plan);
	load_sections(data, size);
	return 0;
}
