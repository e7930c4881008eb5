// SPDX-License-Identifier: Apache-2.0
// Crash points: places where a test lets the process die. Builds without PICKET_FAULTS (release,
// plain, or without tests) have none.
#pragma once

#ifdef PICKET_FAULTS
// Ends the process with PK_FAULT_EXIT_CODE, without any clean-up, at the k-th point that it passes
// when the environment says PICKET_FAULT=k (1, 2, …), or at the k-th one of this name when it says
// PICKET_FAULT=NAME:k. Any thread.
void pk_fault_point(const char *name);
#define PK_FAULT(name) pk_fault_point(name)
#else
#define PK_FAULT(name) ((void)0)
#endif

#define PK_FAULT_EXIT_CODE 86
