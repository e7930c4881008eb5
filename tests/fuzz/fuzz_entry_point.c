// SPDX-License-Identifier: Apache-2.0
// Encoded pictures from cameras: any bytes.
#include "pipeline/entry_point.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)pk_entry_point(PK_CODEC_H264, data, size);
	(void)pk_entry_point(PK_CODEC_H265, data, size);
	return 0;
}
