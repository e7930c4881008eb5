// SPDX-License-Identifier: Apache-2.0
// Chance from the kernel.
#include "daemon/chance.h"

#include <stdint.h>
#include <sys/random.h>

#include "base/clock.h"

double pk_chance(void)
{
	uint64_t value;
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = (uint64_t)pk_now_ns() * UINT64_C(2685821657736338717);
	return (double)(value >> 11) / 0x1p53;
}
