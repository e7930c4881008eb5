// SPDX-License-Identifier: Apache-2.0
// Image indexes and lists of referrers.
#include <stdint.h>
#include <stdlib.h>

#include "registry/descriptor.h"
#include "registry/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_descriptor chosen;
	struct pk_err err = {0};
	struct pk_buf out pk_auto_buf;
	pk_buf_init(&out, 1u << 20);
	int rc = pk_index_select(data, size, &chosen, &err);
	if (rc > 0)
		pk_descriptor_finish(&chosen);
	if (rc < 0 && !err.text[0])
		abort();
	if (pk_index_filter(data, size, "application/x", &out, &err) == 0 && out.len == 0)
		abort();
	return 0;
}
