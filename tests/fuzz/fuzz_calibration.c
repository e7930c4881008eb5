// SPDX-License-Identifier: Apache-2.0
// Calibration records from hostile bytes: refused, or written out again as they were understood.
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/calibrate/calibration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pk_calibration c;
	struct pk_err err = {0};
	if (pk_calibration_parse(data, size, &c, &err) < 0)
		return 0;
	for (size_t i = 0; i < c.n_ranges; i++)
		assert(c.ranges[i].max > 0 && isfinite(c.ranges[i].max) &&
			pk_calibration_find(&c, c.ranges[i].name) == c.ranges[i].max);
	struct pk_buf out;
	pk_buf_init(&out, PK_CALIBRATION_MAX_BYTES);
	int r = pk_calibration_write(&c, &out, &err);
	(void)r; // a record at the bound may grow beyond it
	pk_buf_finish(&out);
	pk_calibration_finish(&c);
	return 0;
}
