// SPDX-License-Identifier: Apache-2.0
// The engine key: everything an engine depends on, as canonical JSON.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/runtime.h"

// Appends the key's JSON to text; model is the ONNX file's digest, target the runtime's probe.
int pk_key_write(const struct pk_build_options *options, const struct pk_digest *model,
	const struct pk_target *target, struct pk_buf *text, struct pk_err *err) pk_must_check;

// Which part of two keys differs first, in order format, library, driver, target, model; err names
// it
// ("target.isa: x, engine has y"). PK_MATCH when they are equal.
enum pk_mismatch pk_key_compare(const char *expect, const char *have, struct pk_err *err);

// Whether an engine with this key is meant for this machine and Picket, whatever the model.
enum pk_mismatch pk_key_check_target(
	const char *have, const struct pk_target *target, struct pk_err *err);

// The runtime's name in a key; NULL when the key is not one. malloc'ed.
char *pk_key_runtime(const char *key) pk_must_check;
