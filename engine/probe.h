// SPDX-License-Identifier: Apache-2.0
// Asking a runtime what this machine is to it. An accelerator's driver may hang, crash or keep
// memory: a process that must not touch it (picketd) lets a program ask in its place.
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "engine/runtime.h"

// From now on accelerators are probed by `PROGRAM --probe NAME`, within PK_PROBE_LIMIT_MS. Before
// threads are started; program must stay. NULL: in this process, as at the start.
void pk_probe_by(const char *program);
#define PK_PROBE_LIMIT_MS 15000

// As ops->probe. -ENODEV when the program does not answer.
int pk_probe(const struct pk_runtime_ops *ops, struct pk_target *target, struct pk_err *err)
	pk_must_check;

// What such a program does: probes in this process and prints the answer, one JSON object.
// 0, or -ENODEV when there is no such runtime.
int pk_probe_answer(const char *name) pk_must_check;
