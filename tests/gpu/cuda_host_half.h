// SPDX-License-Identifier: Apache-2.0
// Half floats for host builds of the .cu texts: included after device.cuh, which declares the type.
#pragma once

#ifdef __cplusplus
extern "C" float pk_f16_to_f32(unsigned short bits);
extern "C" unsigned short pk_f32_to_f16(float v);

static inline float pk_half_to_float(pk_half h)
{
	return pk_f16_to_f32(h.bits);
}
static inline pk_half pk_half_of(float v)
{
	return pk_half{pk_f32_to_f16(v)};
}
#endif
